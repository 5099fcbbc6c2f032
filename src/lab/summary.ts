import { STUDY_NAMES, type StudySummary } from './result.js';

/** Lists the studies that `lab()` can repeat, in order. */
export async function labStudies(): Promise<StudySummary[]> {
  const { STUDY_DESCRIPTIONS } = await import('./descriptions.js');
  return STUDY_NAMES.map((name) => STUDY_DESCRIPTIONS[name]);
}
