import type { LoadWarning, PlanSummary } from '../load/result.js';

/** One of the two that are compared: `a` is what the other is measured against. */
export type ComparisonSideName = 'a' | 'b';

/** What a side is. */
export interface ComparisonSide {
  /** How reports call it: the command, the URL, the variables or the folder that differ, the files. */
  label: string;
  /** Its command, if it has one. */
  command: string[] | null;
  /** Environment variables that only this side has. */
  env: Record<string, string>;
  /** The folder that its command runs in; `null`: the current one. */
  cwd: string | null;
  /** Whether its command runs on Millrace's HTTP stack; `null` where nothing is said about the stack. */
  stack: boolean | null;
  /** Files of stored results that it is read from, instead of runs. */
  files: string[];
}

/** What is compared of a run, or of one request name of it; `null` where it is not known. */
export interface ComparedFigures {
  /** Responses per second. */
  throughput: number | null;
  p50Ms: number | null;
  p99Ms: number | null;
  /** CPU time of the server's processes per response, in microseconds; `null` by name. */
  cpuPerRequestUs: number | null;
  /** Maximum resident memory of the server's processes, in MB; `null` by name. */
  memoryMb: number | null;
}

/** A figure of a run. */
export type ComparisonMetric = keyof ComparedFigures;

/** How the requests of a run ended. */
export interface AnsweredRequests {
  /** Requests that ended, those that could not be sent included. */
  ended: number;
  /** Of these: responses with any status. */
  responses: number;
  /** Of these: error statuses, transport errors, timeouts, and requests without a connection or beyond `maxPending`. */
  failed: number;
}

/** One run of one side. */
export interface ComparedRun {
  side: ComparisonSideName;
  /** Pair that it belongs to, from 0: one run of each side, one right after the other; `null` in stored results. */
  pair: number | null;
  /** ISO 8601. */
  startedAt: string;
  durationMs: number;
  /** Its figures are those of iterations, without pauses and hooks; by name of requests. Absent without scenarios. */
  counted?: 'iterations';
  figures: ComparedFigures;
  requests: AnsweredRequests;
  byName: { name: string; figures: ComparedFigures; requests: AnsweredRequests }[];
  /** The load generator was the limit. */
  clientBound: boolean;
  /** As in the result of a load. */
  histograms: { unit: 'ns'; latency: string; latencyCensored: string };
}

/**
 * What an interval says about B. `better` and `worse`: all of it lies beyond the margin; `no-difference`: all of it lies
 * within the margin, which reaches from 1 / (1 + margin) to 1 + margin. `cannot-tell` also where there is no interval, or
 * where the row has a `doubt`.
 */
export type ComparisonVerdict = 'better' | 'worse' | 'no-difference' | 'cannot-tell';

/** A ratio of B to A. */
export interface ComparisonRatio {
  estimate: number;
  /** Ends of the interval; `null` where a side has only one run or a run whose figure is 0, or it has no bounds. */
  low: number | null;
  high: number | null;
}

/** One metric, of all requests or of those with one name. */
export interface ComparisonRow {
  metric: ComparisonMetric;
  /** The request name; `null`: all requests. */
  name: string | null;
  /** It is of iterations, without pauses and hooks. Absent where it is of requests. */
  counted?: 'iterations';
  /** Medians of the runs. */
  a: number | null;
  b: number | null;
  /** `null` where a side has no figure. */
  ratio: ComparisonRatio | null;
  /**
   * Confidence of the interval. That of the verdict's row is the comparison's; the others' are corrected for their
   * number (Holm), so that at most one comparison in twenty has any wrong word among them.
   */
  confidence: number;
  /**
   * Why the row tells nothing, however narrow its interval is, in words: the requests of the sides failed differently, the
   * load generator was the limit, or too few runs or responses have the figure. Else `null`.
   */
  doubt: string | null;
  /** Whether runs have fewer responses than the figure takes: 100 for p99, 20 for p50. */
  imprecise: boolean;
  verdict: ComparisonVerdict;
}

/** Share of the requests that the native stack served. */
export interface ComparisonStackShare {
  /** Requests served natively and by Node's own code. */
  native: number;
  fallback: number;
  /** Connections that Node's own code took over, by reason. */
  fallbackReasons: Record<string, number>;
}

/** A condition on a ratio, such as `p99 ratio<=1.1`. */
export interface RatioConditionResult {
  /** As given. */
  condition: string;
  /** The ratio's estimate; `null` where there is none. */
  value: number | null;
  /** `false` where the whole interval is beyond the bound; `null` where it is undecided. */
  holds: boolean | null;
  /** Why it is undecided, in words: the row's `doubt`, or that there is no interval. Else `null`. */
  reason: string | null;
}

/** The state of a comparison in progress. */
export interface CompareProgress {
  /** What is being done, in words. */
  step: string;
  /** The pair that is measured, from 0; `null` before the first. */
  pair: number | null;
  /** The side that is measured. */
  side: ComparisonSideName | null;
  /** Relative width of the verdict's interval so far; `null` with fewer than two pairs. */
  width: number | null;
  elapsedMs: number;
  budgetMs: number;
}

/** Two versions compared; JSON of schemaVersion 2. Ratios are those of B to A. */
export interface ComparisonResult {
  schemaVersion: 2;
  kind: 'comparison';
  tool: { name: 'millrace'; version: string };
  /** ISO 8601. */
  startedAt: string;
  /** Of everything: starts, warm-ups, measurements. */
  durationMs: number;
  /** The load that both had, as A's first run shows it. */
  plan: PlanSummary;
  sides: Record<ComparisonSideName, ComparisonSide>;
  /** Relative difference up to which two versions count as equal: 0.02 is 2 %. */
  margin: number;
  /** Width of the verdict's interval at which no more runs were wanted, relative; `null` for stored results. */
  width: number | null;
  /** Confidence of the verdict's interval. */
  confidence: number;
  /** Why there are no more runs. */
  ended: 'width' | 'budget' | 'interrupted' | 'files';
  /** In the order in which they ran. */
  runs: ComparedRun[];
  /** The first row is the verdict's: requests/s, or p99 where a rate was given. */
  rows: ComparisonRow[];
  verdict: {
    metric: ComparisonMetric;
    word: ComparisonVerdict;
    /** Why it cannot be told, in words; else `null`. */
    reason: string | null;
  };
  /** How the answers of the two sides differ, in words; compared all the same on request. */
  differences: string[];
  /** Of the runs of B, where the stack is compared; `null` where its statistics are not known. */
  stack?: ComparisonStackShare | null;
  /** The conditions of `--fail-on`, in the order given. Absent without them. */
  conditions?: RatioConditionResult[];
  warnings: LoadWarning[];
}
