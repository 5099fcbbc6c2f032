import type { LoadOptions } from '../load/options.js';
import type { LoadResult } from '../load/result.js';
import type { LabCause, StudyName, StudyResult } from './result.js';
import type { Service, ServiceSetting } from './service.js';

/** What a study gives, beside what is known of it beforehand. */
export type StudyFindings = Omit<
  StudyResult,
  'name' | 'title' | 'original' | 'question' | 'startedAt' | 'durationMs'
>;

/** A study that can be repeated. */
export interface Study {
  name: StudyName;
  title: string;
  /** When it was made, with what, on what. */
  original: string;
  question: string;
  /** About how long it takes. */
  seconds: { quick: number; full: number };
  /** Repeats it. Rejects with the reason of the bench's signal if that ends it. */
  repeat(bench: Bench): Promise<StudyFindings>;
}

/** A load to be explained: how long it lasts is the affair of `explain`. */
export type ExplainedLoad = Omit<LoadOptions, 'pid' | 'duration' | 'requests' | 'warmup'>;

/** A load, and what was seen of the server meanwhile. */
export interface MeasuredLoad extends LoadResult {
  /** Completed requests per second, by the requests that ended in the measurement. */
  rate: number;
  /** System calls of the server's first thread that write; `null` where the system does not tell. */
  writes: { perResponse: number; bytesEach: number } | null;
}

/** What a study works with. */
export interface Bench {
  quick: boolean;
  signal: AbortSignal;
  /** Tells what is being done. */
  step(what: string): void;
  /** Starts a service of `examples/studies/`, and ends it when `use` is done. */
  withService<T>(setting: ServiceSetting, use: (service: Service) => Promise<T>): Promise<T>;
  /** Loads a service; the command line that does the same is kept for the set-up. */
  load(service: Service, options: LoadOptions): Promise<MeasuredLoad>;
  /** Lets `explain` say what limits a service under a load. */
  explain(setting: ServiceSetting, load: ExplainedLoad): Promise<LabCause>;
  /** The set-up so far, in the order in which it was used, each line once. */
  setup: string[];
  /** Loads that say more of the load generator than of the server. */
  warnings: string[];
}
