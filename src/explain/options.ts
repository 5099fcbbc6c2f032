import type { LoadOptions } from '../load/options.js';
import type { Duration } from '../validation/units.js';
import type { CpuProfile } from './profile/call-tree.js';

/** Options of `explain()`: those of `load()` that describe the load, and how to investigate. */
export interface ExplainOptions
  extends Omit<
    LoadOptions,
    | 'pid'
    | 'duration'
    | 'requests'
    | 'warmup'
    | 'failOn'
    | 'abortOnFail'
    | 'follow'
    | 'connectionStages'
    | 'segment'
    | 'startAt'
  > {
  /** The server's process. Default: the command's process, or the local owner of the target's port. */
  pid?: number;
  /** Time for everything, including the start of the server; at least 15 s. Default 60 s. */
  budget?: Duration;
  /** Minimum warm-up before the load is measured. Default: as long as the server seems to need, 1.5 s to 5 s. */
  warmup?: Duration;
  /**
   * Loads the probe into a running server through its debugger: SIGUSR1 opens the debugger on 127.0.0.1, and Millrace
   * closes it again. Default `false`. A server that is started by `command` always has the probe.
   */
  attach?: boolean;
  /**
   * Receives the CPU profile of the busiest process under the unchanged load, in V8's own format (`.cpuprofile`), which
   * the result does not contain. It is not called without a profile. Before Node.js 26 it may be called twice: the second
   * profile, with inlining off, names the functions that V8 had inlined.
   */
  onCpuProfile?: (profile: CpuProfile) => void;
  /** Number of frames of the stacks that tell where waits began; more cost more. Default 16. */
  waitStacks?: number;
  /** Permits more load than configured on a server that is not on this machine. Default `false`. */
  allowMoreLoad?: boolean;
  /**
   * Permits experiments with the services that a server calls which Millrace started. For blocks of about a second each:
   * database pools are given twice the connections, as far as the database has room; GET and HEAD requests are answered
   * from memory with responses to the same requests; exchanges with a database are delayed. Nothing is written, and all is
   * undone. Default `false`.
   */
  allowDependencyExperiments?: boolean;
}
