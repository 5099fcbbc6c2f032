import type { LoadOptions } from '../../load/options.js';
import type { CommandName, Commands } from '../../probe/protocol.cjs';

/** The experiments, by the name that the result gives them. */
export type ExperimentName =
  | 'connections x2'
  | 'connections /2'
  | 'cpu injection'
  | 'early acknowledgement'
  | 'identity encoding'
  | 'keep-alive'
  | 'tls kept'
  | 'depth 1'
  | 'two generators'
  | 'output muted'
  | 'writes corked'
  | 'sockets x2'
  | 'calls delayed'
  | 'questions at once'
  | 'unknown path'
  | 'second process'
  | 'shorter pause'
  | 'thread pool x4'
  | 'young generation x4'
  | 'heap x2'
  | 'client deadline'
  | 'fresh start'
  | 'memory after rest'
  | 'dependency, connections x2'
  | 'pool wait, connections x2';

/** What is possible with this server and this load. */
export interface ExperimentSetting {
  /** The probe is inside the server. */
  hasProbe: boolean;
  /** The server runs on millrace's own HTTP stack. */
  isNativeStack: boolean;
  /** The server was started by this tool, and can be again. */
  canRestart: boolean;
  /** The server may be given more load than was asked for. */
  canAddLoad: boolean;
  /** A path on which the server listens: a second one would take it away. */
  socketPath: string | null;
}

/** One thing that is different in a block. */
export interface Change {
  load?: LoadOptions;
  /** All requests ask for this, without content; header fields stay. */
  url?: string;
  /** One request at a time on one connection, without a schedule. */
  oneAtATime?: boolean;
  /** A command to the probe, and the one that undoes it. */
  probe?: { on: ProbeCommand; off: ProbeCommand };
  /** Sends an empty line when a response has begun, see the plan's `nudge`. */
  earlyAckProbe?: boolean;
  /** Environment of a new server. */
  environment?: Record<string, string>;
  /** The command is started once more, and both servers have the load. */
  withSecondProcess?: boolean;
}

/** One of the probe's commands with what it takes. */
export type ProbeCommand = {
  [Name in CommandName]: { name: Name; options: Commands[Name] };
}[CommandName];
