import type { LoadResult } from '../load/result.js';
import type { Interval, MeasuredRatio } from '../statistics/types.js';
import type { ExperimentMetric, ExperimentName } from './experiment-names.js';
import type { LimitId } from './limit-ids.js';

/** Confidence of a verdict; `conclusion/verdict.ts` defines what each word requires. */
export type ExplainStatus = 'confirmed' | 'likely' | 'cannot-tell' | 'no-limit';

/** The stages of a request's way through the server, and `unexplained`, the requests that no measurement locates. */
export type ExplainStageName =
  | 'stream-wait'
  | 'think-time'
  | 'connecting'
  | 'on-core'
  | 'garbage-collection'
  | 'core-wait'
  | 'steal'
  | 'synchronous-call'
  | 'connection-wait'
  | 'dependency'
  | 'file-access'
  | 'dns-lookup'
  | 'handler'
  | 'response-gap'
  | 'generator-unread'
  | 'server-unread'
  | 'event-loop'
  | 'unexplained';

/**
 * One stage of a request's way through the server. The number of requests there follows from Little's law: throughput
 * times the time spent in the stage.
 */
export interface ExplainStage {
  stage: ExplainStageName;
  /** The stage in words. */
  label: string;
  /** Mean number of requests in the stage. */
  requests: number;
}

/** What the requests with one name take, see `LoadResult.byName`. */
export interface RequestShare {
  name: string;
  /** Share of the requests. */
  requestShare: number;
  /** Share of the sum of all response times; `null` without a request. */
  timeShare: number | null;
  /** Share of the handlers' synchronous time, in which they keep the event loop; `null` without the probe. */
  loopShare: number | null;
  p50Ms: number | null;
  p99Ms: number | null;
}

/** One change, everything else equal, measured in blocks that alternate with unchanged ones. */
export interface ExperimentResult {
  name: ExperimentName;
  /** The name in words. */
  label: string;
  /** The compared quantity: usually `'throughput'`. */
  metric: ExperimentMetric;
  /** The change, in words. */
  change: string;
  /** For each limit that was still in question, the predicted ratio after / before. */
  predicted: Partial<Record<LimitId, Interval>>;
  measured: MeasuredRatio;
  /** The expected ratio if nothing depends on the change: 1, or 0 where growth is compared. */
  otherwise: number;
  /** The limits whose prediction lies outside the measured interval. */
  excludes: LimitId[];
}

/** A number on which the verdict is based. */
export interface ExplainEvidence {
  what: string;
  value: number;
  unit: string;
  /** Source of the number: `load`, `probe`, `proc`, `profile`, `sockets` or `http`. */
  source: string;
}

/** A change, and its predicted effect. */
export interface Remedy {
  change: string;
  /** Completed requests per second after the change; `null` if it cannot be predicted. */
  predictedThroughput: Interval | null;
  /** p99 of the response times after the change in ms, if the change is one for the slowest responses. */
  predictedP99Ms?: Interval;
  nextLimit: LimitId | null;
  /** Other changes for the same limit; absent without any. */
  alternatives?: RemedyAlternative[];
  /** The change as settings, if it is a setting of the load or of the process. */
  settings?: {
    connections?: number;
    environment?: Record<string, string>;
    timeoutMs?: number;
  };
}

/** Another change for the same limit, with the completed requests per second after it. */
export interface RemedyAlternative {
  change: string;
  predictedThroughput: Interval;
}

/** A function from a CPU profile, with its cost. */
export interface HotFunction {
  name: string;
  /** `file:line`, resolved by the source map if there is one. */
  place: string;
  /** Share of the time in which the loop was busy. */
  share: number;
}

/** Throughput and latency at one number of connections. */
export interface CapacityPoint {
  connections: number;
  throughput: Interval & { mean: number };
  latencyMs: {
    p50: number | null;
    p99: number | null;
    mean: number | null;
    /** The values that are lower bounds only: requests older than every completed one did not finish. */
    atLeast?: { p50?: true; p99?: true; mean?: true };
  };
}

/**
 * The result of `explain()`; JSON of schemaVersion 2. Times are in milliseconds, throughput in responses per second.
 */
export interface Explanation {
  schemaVersion: 2;
  tool: { name: 'millrace'; version: string };
  startedAt: string;
  /** Duration of the investigation. */
  durationMs: number;
  /** How the command's server ended, if it ended early; otherwise `null`. */
  serverEnded: string | null;
  /** Whether the caller ended it early. */
  interrupted: boolean;
  /** The run with the configured load. */
  load: LoadResult;
  verdict: {
    /** `null` if nothing limits at this load, or if the limit is unknown. */
    limit: LimitId | null;
    status: ExplainStatus;
    /** The limit in one sentence. */
    sentence: string;
    /** The calculation behind the verdict, one line each. */
    arithmetic: string[];
    alsoLimiting: LimitId[];
  };
  /** The requests in flight by stage. The stages sum to their number; the remainder is `unexplained`. */
  population: ExplainStage[];
  /** By request name, the one that takes most first; empty where the load has one name. */
  requests: RequestShare[];
  experiments: ExperimentResult[];
  evidence: ExplainEvidence[];
  ruledOut: { limit: LimitId; why: string }[];
  remedy: Remedy | null;
  /** The most expensive functions, if a profile was taken. */
  hot: HotFunction[];
  /** Throughput at the measured numbers of connections. */
  capacity: {
    points: CapacityPoint[];
    /** Maximum responses per second of one event loop: 1 / CPU time per request. */
    loopLimit: number | null;
    /** Mean response time with a single request in flight. */
    singleMs: number | null;
    /** Number of connections at which the two bounds meet; more connections only add latency. */
    knee: number | null;
  };
  /** The smallest change that this run could distinguish from noise: 0.03 is 3%. */
  noise: number;
  /** Cost of the probe inside the server: throughput with / without it; `null` without a probe. */
  probeCost: MeasuredRatio | null;
  /** What could not be observed, and how to make it visible. */
  cannotSee: string[];
}

/** Progress of an explanation. */
export interface ExplainProgress {
  /** The current step, as in `experiment: connections x2`. */
  step: string;
  elapsedMs: number;
  budgetMs: number;
}
