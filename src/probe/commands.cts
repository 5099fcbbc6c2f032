import type { Observer } from './observer.cjs';
import type { Answers, CommandMessage, CommandName, Commands } from './protocol.cjs';
import type { SynchronousWrites } from './runtime/synchronous-writes.cjs';
import { collectGarbage, takeProfile } from './runtime/v8.cjs';

/** What commands work on. */
export interface CommandContext {
  observe(on: boolean): void;
  /** Studies the servers on these ports alone; `null`: all. */
  study(ports: number[] | null): void;
  sample(): void;
  observer: Observer;
  output: SynchronousWrites;
}

type Performer<Name extends CommandName> = (
  context: CommandContext,
  given: Commands[Name],
) => Answers[Name] | Promise<Answers[Name]>;

type Performers = { [Name in CommandName]: Performer<Name> };

const PERFORMERS: Performers = {
  subscribe({ observe }, { on }) {
    observe(on);
    return null;
  },
  study({ study }, { ports }) {
    study(ports);
    return null;
  },
  sample({ sample }) {
    sample();
    return null;
  },
  spin({ observer }, { microseconds }) {
    observer.requests.spin(microseconds);
    return null;
  },
  mute({ output }, { on }) {
    output.muted = on;
    return null;
  },
  cork({ observer }, { on }) {
    observer.cork.turn(on);
    return null;
  },
  maxSockets: ({ observer }, { factor }) => [
    ...observer.clientRequests.bounds.scale(factor),
    ...observer.undiciPools.scale(factor),
  ],
  noDelay: ({ observer }, { on }) => observer.exchanges.noDelay(on),
  outboundDelay: ({ observer }, { ms }) =>
    observer.clientRequests.delay(ms) + observer.fetches.delay(ms),
  profile: (_, { ms }) => takeProfile(ms),
  collect: () => collectGarbage(),
};

/** Does what millrace asks for. */
export async function perform(
  context: CommandContext,
  message: CommandMessage,
): Promise<Answers[CommandName]> {
  const performer = PERFORMERS[message.command] as Performer<CommandName> | undefined;
  if (!performer) throw new Error(`unknown command: ${message.command}`);
  return performer(context, message.arguments as never);
}
