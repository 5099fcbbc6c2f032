import type { LoadOptions } from '../../load/options.js';
import type { CommandName, Commands } from '../../probe/protocol.cjs';

/** The change of one block. */
export interface Change {
  load?: LoadOptions;
  /** URL of all requests, which have no content then; header fields stay. */
  url?: string;
  /** One request at a time on one connection, without a rate. */
  oneAtATime?: boolean;
  /** Commands of the probe that make the change and undo it. */
  probe?: { on: ProbeCommand; off: ProbeCommand };
  /** Whether the client sends an empty line when a response begins. */
  earlyAckProbe?: boolean;
  /** Environment variables of a restarted server. */
  environment?: Record<string, string>;
  /** Whether a second process of the command shares the load. */
  withSecondProcess?: boolean;
}

/** A command of the probe with its options. */
export type ProbeCommand = {
  [Name in CommandName]: { name: Name; options: Commands[Name] };
}[CommandName];
