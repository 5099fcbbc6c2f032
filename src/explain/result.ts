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

/** Whose code a frame is: of the service, a package, Node.js, V8 or another native library, or Millrace's own. */
export type FrameOrigin =
  | 'application'
  | 'dependency'
  | 'node'
  | 'native'
  | 'garbage-collection'
  | 'millrace'
  /** No code: what a request waits for, or a part that is not attributed. */
  | 'none';

/** A frame of a flame graph: a function, or what a request waits for. */
export interface FlameFrame {
  name: string;
  /** `file:line`, resolved by the source map if there is one; empty without. */
  place: string;
  origin: FrameOrigin;
}

/** A tree of calls with weights. A node of the tree is an index of `parents`, `frameOf` and `self`. */
export interface FlameGraph {
  /** Unit of the weights: CPU time in ms, mean number of requests, or allocated bytes per request. */
  unit: 'ms' | 'requests' | 'bytes';
  frames: FlameFrame[];
  /** The parent of each node, which comes before it; -1 for outermost frames. */
  parents: number[];
  /** The frame of each node, an index of `frames`. */
  frameOf: number[];
  /** The weight of each node without its callees. */
  self: number[];
}

/** A path through the service's own code. */
export interface HeavyPath {
  /** The frames of the application, outermost first. */
  frames: FlameFrame[];
  /** What requests wait for there, if the graph is one of waits. */
  waitsFor?: string;
  /** Weight of the path, in the unit of its graph, and its share of the graph's total. */
  weight: number;
  share: number;
}

/** The CPU time of the busiest process under the unchanged load, by a profile. */
export interface CpuTimes {
  pid: number;
  /** Share of the time in which its event loop was busy. */
  busy: number;
  graph: FlameGraph;
  /**
   * The heaviest paths, with the requests per second that each costs: what throughput would gain without it. `null` if
   * the loop is not the limit. `hotLine` is the line of the innermost function at which most of the path's time passes,
   * `server.js:13`; `null` if that is no single one, or if the time is in calls.
   */
  heaviest: (HeavyPath & { throughputCost: number | null; hotLine: string | null })[];
}

/** What the requests in flight wait for, and where in the application that began. */
export interface Waits {
  /** Outermost is what is waited for, then the code that waits. Sums to the population. */
  graph: FlameGraph;
  heaviest: HeavyPath[];
  /** Share of the requests waiting in handlers whose wait is attributed to code. */
  attributed: number;
  /** Throughput with / without the instrumentation; `null` if not measured. */
  cost: MeasuredRatio | null;
}

/** What requests allocate, and what stays. */
export interface Allocations {
  /** Allocated bytes per request by place. */
  graph: FlameGraph;
  heaviest: HeavyPath[];
  /** The classes that grew most, if the heap grows; `null` if it was not looked for. */
  growth: GrowingClass[] | null;
  /** How long the process stood still for the heap snapshots that show the growth; `null` without. */
  pausedMs: number | null;
}

/** A class of objects that grew under load. */
export interface GrowingClass {
  /** Name of the constructor, or V8's name of the kind of object. */
  name: string;
  /** Objects and bytes that were added per request. */
  objectsPerRequest: number;
  bytesPerRequest: number;
  /** What retains them, from the object to the root: `Map.table <- sessions in store.js`. */
  retainedBy: string[];
  /** The function that allocated most of them; `null` if unknown. */
  allocatedAt: FlameFrame | null;
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
  /** Absent without a profile. */
  cpu?: CpuTimes;
  /** Absent if they were not observed. */
  waits?: Waits;
  /** Absent if neither garbage collection nor growth of memory is a limit, or if they were not observed. */
  allocations?: Allocations;
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
