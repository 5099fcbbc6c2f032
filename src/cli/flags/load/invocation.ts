import type { HostsOptions, LoadOptions } from '../../../index.js';
import type { Condition } from '../../../load/plan/condition.js';
import { newOutputOptions, type OutputOptions } from '../output-flags.js';
import type { TypedFlag } from '../parse.js';
import type { SocketAddress } from '../socket-address.js';

/** The values of `--tls`. */
export const TLS_MODES = ['keep-alive', 'resume', 'full'] as const;

/** A parsed command line of `millrace load`. Those of `explain` and `capacity` extend it. */
export interface Invocation extends OutputOptions {
  options: LoadOptions;
  strict: boolean;
  failOn: Condition[];
  abortOnFail: boolean;
  /** The use of TLS connections: a value of `connection`, and of `handshake`. */
  tls?: (typeof TLS_MODES)[number];
  /** Address at which the running figures are served. */
  prometheus?: SocketAddress;
  /** Where the running figures are pushed by OTLP. */
  otlp?: string;
  /** File of an earlier result, or a pattern, that the result is compared with. */
  baseline?: string;
  /** The hosts that run the load, and how they are reached. */
  hosts?: string[];
  connecting: Pick<HostsOptions, 'ssh' | 'remoteCommand' | 'copy' | 'clockSkew'>;
  /** Whether one iteration of each scenario is sent and printed. */
  dryRun: boolean;
  /** Whether the result is printed into the log, below the report. */
  logResult: boolean;
  /** Whether the target is the server of the demo. */
  demo: boolean;
  /** The arguments of the command. */
  args: string[];
  /** The flags among the arguments. */
  typed: TypedFlag[];
  /** One line for each value that has another meaning in another tool: how it was understood. */
  notes: string[];
}

/** Returns the invocation of a command line without arguments. */
export function newInvocation(): Invocation {
  return {
    ...newOutputOptions(),
    options: {},
    strict: false,
    failOn: [],
    abortOnFail: false,
    connecting: {},
    dryRun: false,
    logResult: false,
    demo: false,
    args: [],
    typed: [],
    notes: [],
  };
}
