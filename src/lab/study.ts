import type { LoadOptions } from '../load/options.js';
import type { LoadResult } from '../load/result.js';
import type { LabCause, StudyResult, StudySummary } from './result.js';
import type { Service, ServiceSetting } from './service.js';

/** The findings of a study: its result without the fields that are known beforehand. */
export type StudyFindings = Omit<
  StudyResult,
  'name' | 'title' | 'original' | 'question' | 'startedAt' | 'durationMs'
>;

/** A study. */
export interface Study extends StudySummary {
  /** Repeats the study. Rejects with the reason of the bench's signal if that aborts it. */
  repeat(bench: Bench): Promise<StudyFindings>;
}

/** A load to explain. `explain` determines its length. */
export type ExplainedLoad = Omit<LoadOptions, 'pid' | 'duration' | 'requests' | 'warmup'>;

/** The result of a load, with figures of the server. */
export interface MeasuredLoad extends LoadResult {
  /** Completed requests per second, counting the requests that ended within the measurement. */
  rate: number;
  /** Write calls of the server's main thread; `null` if the system does not report them. */
  writes: { perResponse: number; bytesEach: number } | null;
}

/** The tools of a study: services, loads and explanations. */
export interface Bench {
  quick: boolean;
  signal: AbortSignal;
  /** Reports the current step. */
  step(what: string): void;
  /** Starts a service of `examples/studies/`, and stops it when `use` has finished. */
  withService<T>(setting: ServiceSetting, use: (service: Service) => Promise<T>): Promise<T>;
  /** Loads a service, and records the equivalent command line in the set-up. */
  load(service: Service, options: LoadOptions): Promise<MeasuredLoad>;
  /** Runs `explain` on a service under a load. */
  explain(setting: ServiceSetting, load: ExplainedLoad): Promise<LabCause>;
  /** Command lines used so far, in order, each once. */
  setup: string[];
  /** Loads in which the generator was the limit. */
  warnings: string[];
}
