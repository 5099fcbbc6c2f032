import type { StudyName } from './result.js';

/** What `lab()` is asked for. */
export interface LabOptions {
  /** The study to repeat; several in the order given; `all` of them. */
  study: StudyName | StudyName[] | 'all';
  /** Less than a minute for each study: shorter runs, fewer of them. Default `false`. */
  quick?: boolean;
  /** Ends it early: what is complete by then is the result. */
  signal?: AbortSignal;
}
