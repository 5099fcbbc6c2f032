import type { LoadResult } from '../load/result.js';
import type { MeasuredRatio, Range } from '../statistics/types.js';
import type { LimitId } from './limits/ids.js';

/** How sure a verdict is; what each word takes is in `verdict.ts`. */
export type Status = 'confirmed' | 'likely' | 'cannot-tell' | 'no-limit';

/** One stage in which requests are, by Little's law: its throughput times the time spent there. */
export interface Stage {
  stage: string;
  /** Mean number of requests there. */
  requests: number;
}

/** One thing changed, all else equal, in blocks that alternate with unchanged ones. */
export interface ExperimentResult {
  name: string;
  /** What is compared: `'throughput'` unless said otherwise. */
  metric: string;
  /** What was changed, in words. */
  change: string;
  /** Per limit still in question: the ratio after / before that it would give. */
  predicted: Partial<Record<LimitId, Range>>;
  measured: MeasuredRatio;
  /** The ratio if nothing depends on what was changed: 1, or 0 where growth is compared. */
  otherwise: number;
  /** The limits whose prediction lies outside the measured interval. */
  excludes: LimitId[];
}

/** A number that the verdict rests on. */
export interface Evidence {
  what: string;
  value: number;
  unit: string;
  /** Who measured it: `load`, `probe`, `proc`, `profile`, `sockets`, `http`. */
  source: string;
}

/** What to change, and what that gives. */
export interface Remedy {
  change: string;
  /** Completed requests per second after the change; `null` where nothing can be said. */
  predictedThroughput: Range | null;
  nextLimit: LimitId | null;
  /** The change as settings, where it is one of the load's or the process's. */
  settings?: {
    connections?: number;
    environment?: Record<string, string>;
    timeoutMs?: number;
  };
}

/** One function that costs time, from a CPU profile. */
export interface HotFunction {
  name: string;
  /** `file:line`, by the source map where there is one. */
  place: string;
  /** Share of the time that the loop was busy. */
  share: number;
}

/** A point of throughput over connections. */
export interface CapacityPoint {
  connections: number;
  throughput: Range & { mean: number };
  latencyMs: {
    p50: number | null;
    p99: number | null;
    mean: number | null;
    /** Those of which a bound is known only: requests did not finish that were older than all that did. */
    atLeast?: { p50?: true; p99?: true; mean?: true };
  };
}

/** What `explain()` gives; JSON of schemaVersion 1. Times are in milliseconds, throughput in responses per second. */
export interface Explanation {
  schemaVersion: 1;
  tool: { name: 'millrace'; version: string };
  startedAt: string;
  /** How long it took. */
  durationMs: number;
  /** How the command's server ended, if it did not last; `null` else. */
  serverEnded: string | null;
  /** Ended early by the caller. */
  interrupted: boolean;
  /** The run at the user's own setting. */
  load: LoadResult;
  verdict: {
    /** `null` if nothing limits at this load, or if it cannot be told. */
    limit: LimitId | null;
    status: Status;
    /** The limit in one sentence. */
    sentence: string;
    /** The arithmetic, a line each, for readers to redo. */
    arithmetic: string[];
    alsoLimiting: LimitId[];
  };
  /** Where the requests in flight are; sums to their number, what is not seen is `unexplained`. */
  population: Stage[];
  experiments: ExperimentResult[];
  evidence: Evidence[];
  ruledOut: { limit: LimitId; why: string }[];
  remedy: Remedy | null;
  /** Functions that cost most, if a profile was taken. */
  hot: HotFunction[];
  /** Throughput at several numbers of connections, as far as measured. */
  capacity: {
    points: CapacityPoint[];
    /** Responses per second that one loop can give: 1 / CPU time per request. */
    loopLimit: number | null;
    /** Mean response time with a single request in flight. */
    singleMs: number | null;
    /** Where both bounds meet: connections beyond it only wait. */
    knee: number | null;
  };
  /** The smallest ratio that this run could tell from noise: 0.03 is 3 %. */
  noise: number;
  /** What the probe inside the server costs, as a ratio of throughput with / without; `null` without a probe. */
  probeCost: MeasuredRatio | null;
  /** What could not be seen, and how it could be. */
  cannotSee: string[];
}

/** How far an explanation has come. */
export interface ExplainProgress {
  /** What is being done, as in `trying: connections x2`. */
  step: string;
  elapsedMs: number;
  budgetMs: number;
}
