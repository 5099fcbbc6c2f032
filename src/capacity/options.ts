import type { LoadOptions } from '../load/options.js';
import type { Duration } from '../units.js';

/** Options of a load that capacity chooses by itself. */
type Chosen =
  | 'rate'
  | 'stages'
  | 'duration'
  | 'requests'
  | 'warmup'
  | 'pipelining'
  | 'thinkTime'
  | 'abortOnFail';

/** What `capacity()` takes: the load as `load()` takes it, less what it tries out itself. */
export interface CapacityOptions extends Omit<LoadOptions, Chosen> {
  /** What must hold at a rate, as `'p99<50ms'`; several must all hold. Without it throughput over connections is measured. */
  slo?: string | string[];
  /** Time for everything, the start of the server included. Default 60 s. */
  budget?: Duration;
  /** The most connections. Default 1000 with `slo`, else 1024. */
  connections?: number | string;
  /** How arrivals are spaced, with `slo`. Default `'poisson'`: as of clients that do not know of each other. */
  arrivals?: 'constant' | 'poisson';
}
