import type { LoadOptions } from '../load/options.js';
import type { Duration } from '../units.js';

/** The least time that tells something. */
export const MIN_BUDGET_MS = 15_000;

/** What `explain()` takes: the load as `load()` takes it, and how to look. */
export interface ExplainOptions
  extends Omit<LoadOptions, 'pid' | 'duration' | 'requests' | 'warmup' | 'abortOnFail' | 'follow'> {
  /** The server's process; by default the command's, or the local owner of the target's port. */
  pid?: number;
  /** Time for everything, the start of the server included. Default 60 s. */
  budget?: Duration;
  /** How long the load runs at least before it is measured. Default: as long as the server seems to need, 1.5 to 5 s. */
  warmup?: Duration;
  /**
   * Puts the probe into a server that already runs, through its debugger: SIGUSR1 opens it on 127.0.0.1, and it is
   * closed again. Default `false`. A server that is started by `command` always has the probe.
   */
  attach?: boolean;
  /** Permits more load than asked for on a server that is not on this machine. Default `false`. */
  allowMoreLoad?: boolean;
}
