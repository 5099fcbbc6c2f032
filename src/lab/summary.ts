import { STUDY_NAMES, type StudyName } from './result.js';

/** A study as the list of studies shows it. */
export interface StudySummary {
  name: StudyName;
  title: string;
  question: string;
  /** Year, versions and machine of the original study. */
  original: string;
  /** Approximate duration in seconds. */
  seconds: { quick: number; full: number };
}

/** Lists the studies that `lab()` can repeat, in order. */
export async function labStudies(): Promise<StudySummary[]> {
  const { STUDY_DESCRIPTIONS } = await import('./descriptions.js');
  return STUDY_NAMES.map((name) => STUDY_DESCRIPTIONS[name]);
}
