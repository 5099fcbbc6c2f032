import type { StudyName } from './result.js';

/** What is known of a study before it is repeated. */
export interface StudySummary {
  name: StudyName;
  title: string;
  question: string;
  /** When it was made, with what, on what. */
  original: string;
  /** About how long it takes. */
  seconds: { quick: number; full: number };
}

/** The studies that `lab()` can repeat, in their order. */
export async function labStudies(): Promise<StudySummary[]> {
  const { selectStudies } = await import('./studies.js');
  return selectStudies('all').map(({ name, title, question, original, seconds }) => ({
    name,
    title,
    question,
    original,
    seconds,
  }));
}
