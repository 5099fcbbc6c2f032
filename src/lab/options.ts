import type { StudyName } from './result.js';

/** Options of `lab()`. */
export interface LabOptions {
  /** The study to repeat; several studies run in this order; `all` runs all of them. */
  study: StudyName | StudyName[] | 'all';
  /** Whether each study takes less than a minute, with fewer and shorter runs. Default `false`. */
  quick?: boolean;
  /** Ends the run early: the promise resolves with the complete studies, or rejects if there is none. */
  signal?: AbortSignal;
}
