import type { LimitId } from '../limit-ids.js';
import type {
  ExplainEvidence,
  ExplainStage,
  ExplainStatus,
  HeavyPath,
  HotFunction,
} from '../result.js';

/** Why a report is given. */
export type WatchReason =
  /** The first one. */
  | 'start'
  /** The interval has passed. */
  | 'interval'
  /** Another limit, or none any more: in two windows, one after the other, or since the last report. */
  | 'limit-changed'
  /** The condition to wait for holds. */
  | 'condition'
  /** The last process of the service has ended. */
  | 'ended';

/** What clients sent in a window, and how it was answered. Times in milliseconds. */
export interface WatchedTraffic {
  /** Requests that ended, per second. */
  rate: number;
  /** Responses with status 5xx or 429, and requests that clients aborted, as a share of all that ended. */
  errorShare: number;
  abortedShare: number;
  /**
   * From the start of a request in its process to the finish of its response, to 9 %. The time that a request waits before
   * that, unread in a socket, is not part of it.
   */
  responseMs: Record<'mean' | 'p50' | 'p90' | 'p99' | 'max', number | null>;
  /** Mean number of requests in flight, and of those among them that waited unread. */
  inFlight: number;
  unread: number;
}

/** A route, by the time that its handlers kept the event loop. */
export interface WatchedRoute {
  route: string;
  rate: number;
  meanMs: number;
  p99Ms: number;
  /** Share of the time for which it kept the event loop. */
  loopShare: number;
}

/** A process of the service, seen from outside. */
export interface WatchedProcess {
  pid: number;
  /** Whether it is seen from inside too. */
  isObserved: boolean;
  /** Share of the time that its main thread was on a core, and ready without one. */
  run: number;
  queued: number;
  /** CPU of all its threads, in cores. */
  cores: number;
  rssMb: number;
  openFiles: number | null;
}

/** A report of `watch()` on one window; a line of JSON of schemaVersion 1. */
export interface WatchReport {
  schemaVersion: 1;
  reason: WatchReason;
  /** When the window began, ISO 8601, and its length. */
  startedAt: string;
  durationMs: number;
  pid: number;
  /** `null` without a process that is seen from inside. */
  traffic: WatchedTraffic | null;
  verdict: {
    /** `null` if nothing limits, or if the limit is unknown. */
    limit: LimitId | null;
    /** Never `confirmed`: only an experiment confirms. */
    status: Exclude<ExplainStatus, 'confirmed'>;
    sentence: string;
    arithmetic: string[];
    alsoLimiting: LimitId[];
  };
  /** What would remove the limit, and what would confirm it; `null` without a limit. */
  remedy: string | null;
  confirmation: string | null;
  /** The requests in flight by stage. */
  population: ExplainStage[];
  evidence: ExplainEvidence[];
  /** The most expensive functions, by a profile of the second after the window; empty unless the event loop was busy. */
  hot: HotFunction[];
  /**
   * What the requests in flight wait for, and where in the service's code that began, by what was observed in the two
   * seconds after the window; empty if that was not. It is where most requests wait in handlers.
   */
  waits: HeavyPath[];
  /** The ten routes that kept the event loop longest. */
  routes: WatchedRoute[];
  processes: WatchedProcess[];
  /** The condition that became true, and the value. */
  condition?: { condition: string; value: number };
  /** Limits that only a load of our own shows, or `millrace/observe` inside the service. */
  notObserved: LimitId[];
  /** What could not be observed, and how to make it visible: a sentence each. */
  cannotSee: string[];
}
