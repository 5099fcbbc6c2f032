import type { LoadOptions } from '../load/options.js';
import type { Duration } from '../validation/units.js';

/** Options of a load that `capacity()` chooses itself. */
type Chosen =
  | 'rate'
  | 'stages'
  | 'connectionStages'
  | 'duration'
  | 'requests'
  | 'warmup'
  | 'pipelining'
  | 'thinkTime'
  | 'failOn'
  | 'abortOnFail'
  | 'segment'
  | 'startAt';

/** Options of `capacity()`: those of `load()` without the ones that it chooses itself. */
export interface CapacityOptions extends Omit<LoadOptions, Chosen> {
  /** The objective, such as `'p99<50ms'`; of several all must hold. Without it throughput over connections is measured. */
  slo?: string | readonly string[];
  /** Time for the whole run, including the start of the server; at least 5 s. Default 60 s. */
  budget?: Duration;
  /** Maximum number of connections. Default 1000 with `slo`, otherwise 1024. */
  connections?: number | string;
  /** Spacing of arrivals, with `slo`. Default `'poisson'`: independent clients. */
  arrivals?: 'constant' | 'poisson';
}
