import type { Duration } from '../../validation/units.js';

/** Options of `watch()`. */
export interface WatchOptions {
  /** The service's process, or one whose descendants serve (a cluster, a supervisor). */
  pid: number;
  /** Time between two reports, from 1 s to 10 min. Default 60 s; with `until` the length of the windows, 5 s. */
  interval?: Duration;
  /**
   * The condition to wait for, such as `p99>500ms`: the window in which it became true is explained, and the watch ends.
   * Metrics: `mean`, `p50`, `p75`, `p90`, `p95`, `p99`, `p99.9` and `max` of the response times, `throughput`, `errors`.
   */
  until?: string;
  /** Counts only the requests to this port. Default: those to every port of the service. */
  port?: number;
  /**
   * Loads the probe into processes without `millrace/observe` through their debugger: SIGUSR1 opens the debugger on
   * 127.0.0.1, and Millrace closes it again. Default `false`.
   */
  attach?: boolean;
  /** Ends the watch. */
  signal?: AbortSignal;
}
