import type { Observer } from './observer.cjs';
import type { Output } from './output.cjs';
import type { Answers, CommandMessage, CommandName, Commands } from './protocol.cjs';

/** What commands work on. */
export interface CommandContext {
  observe(on: boolean): void;
  observer: Observer;
  output: Output;
}

type Performers = {
  [Name in CommandName]: (
    context: CommandContext,
    given: Commands[Name],
  ) => Answers[Name] | Promise<Answers[Name]>;
};

const PERFORMERS: Partial<Performers> = {
  subscribe({ observe }, { on }) {
    observe(on);
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
};

/** Does what millrace asks for. */
export async function perform(
  context: CommandContext,
  message: CommandMessage,
): Promise<Answers[CommandName]> {
  const performer = PERFORMERS[message.command] as Performers[CommandName] | undefined;
  if (!performer) throw new Error(`unknown command: ${message.command}`);
  return performer(context, message.arguments as never);
}
