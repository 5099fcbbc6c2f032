import type { PlanSummary } from '../load/result.js';
import type { Interval } from '../statistics/types.js';

/** A figure of a point. */
export interface HistoryFigure {
  /** Of several runs: their geometric mean. */
  value: number;
  /** Its 95 % interval; `null` where it is not known. */
  interval: Interval | null;
}

/** A stored result. */
export interface HistoryRun {
  /** The path of its file within the folder. */
  file: string;
  startedAt: string;
  /** Responses per second, or with scenarios completed iterations. */
  throughput: number;
  /** `null` where only a bound of it is known. */
  p99Ms: number | null;
  /** Whether the generator was the limit. */
  clientBound: boolean;
}

/** The results of one commit; a result without a commit is a point of its own. */
export interface HistoryPoint {
  commit: string | null;
  /** When the first run started. */
  startedAt: string;
  throughput: HistoryFigure;
  /** `null` where no run has it. */
  p99Ms: HistoryFigure | null;
  /** Whether the generator was the limit of all runs. Where it was the limit of some, the figures are those of the others. */
  clientBound: boolean;
  runs: HistoryRun[];
}

/** The results of one load of one server, which can be compared. */
export interface HistoryPlan {
  /** The settings of the newest run. */
  plan: PlanSummary;
  /** What `throughput` and `p99Ms` are of; absent: requests. */
  counted?: 'iterations';
  /** In the order of time. */
  points: HistoryPoint[];
}

/** Stored results over time; JSON of schemaVersion 2. Times are in milliseconds. */
export interface HistoryResult {
  schemaVersion: 2;
  tool: { name: 'millrace'; version: string };
  folder: string;
  /** The plan of the newest run first. */
  plans: HistoryPlan[];
  /** Files that are not in `plans`, and why. */
  skipped: { file: string; reason: string }[];
}
