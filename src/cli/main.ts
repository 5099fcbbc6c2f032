import { hasUserModule } from '../environment/user-module.js';
import { MillraceError, usageError } from '../errors/millrace-error.js';
import { findNearest } from '../validation/nearest.js';
import { COMMANDS, findCommand, LOAD } from './command-table.js';
import { EXIT, toExitCode } from './exit.js';
import { UnknownFlag } from './flags/parse.js';
import { collectOutputErrors, watchOutput } from './output.js';
import { printDefect, printMessage, printText } from './terminal/print.js';

/** Runs a command line; resolves with its exit code. */
export async function main(args: string[]): Promise<number> {
  watchOutput();
  const code = await dispatch(args).catch(async (error: unknown) => {
    // That of several hosts has a line for each.
    if (isForeseen(error)) for (const line of await buildLines(error)) printMessage(line);
    else printDefect(error);
    return toExitCode(error);
  });
  const outputErrors = await collectOutputErrors();
  for (const line of outputErrors) printMessage(line);
  const final = code === EXIT.ok && outputErrors.length > 0 ? EXIT.failure : code;
  // What the module of a user left open, such as a pool of connections or a timer, would keep the process.
  if (hasUserModule()) process.exit(final);
  return final;
}

/**
 * Reports whether input or environment caused an error. Its message is enough then; others are printed with their
 * stack.
 */
function isForeseen(error: unknown): error is Error {
  return error instanceof MillraceError || (error instanceof Error && 'syscall' in error);
}

async function buildLines(error: Error): Promise<string[]> {
  return (await buildMessage(error)).split('\n');
}

/** Returns the message of an error. For an unknown flag that another command has, it is the advice about that flag. */
async function buildMessage(error: Error): Promise<string> {
  if (!(error instanceof UnknownFlag)) return error.message;
  const { siblingAdvice } = await import('./sibling-advice.js');
  const advice = await siblingAdvice(error.command, error.flagName);
  return advice === null ? error.message : `${error.flag} is not supported: ${advice}`;
}

async function dispatch(args: string[]): Promise<number> {
  const [first = '', ...rest] = args;
  if (first === 'help') return help(rest[0]);
  const command = findCommand(first);
  if (hasOwnFlag(['-h', '--help'], args)) return help(command?.name);
  if (hasOwnFlag(['-v', '-V', '--version'], args)) return version();
  if (command) return command.run(rest);
  if (first === 'agent' && rest.length === 0) {
    // Nobody types it.
    return (await import('./commands/agent.js')).agentCommand();
  }
  refuseMisspelling(first);
  (await import('./bare-command.js')).refuseForeignCommand(first, rest, COMMAND_NAMES);
  return LOAD.run(args);
}

const COMMAND_NAMES = [...COMMANDS.map(({ name }) => name), 'help'];

function refuseMisspelling(word: string): void {
  const near = /^[a-z]+$/.test(word) ? findNearest(word, COMMAND_NAMES) : undefined;
  if (near === undefined) return;
  throw usageError(`'${word}' given; did you mean ${near}? A host of that name is http://${word}/`);
}

/** Reports whether a flag is among the arguments of millrace, which end before `--`. */
function hasOwnFlag(names: string[], args: string[]): boolean {
  const end = args.indexOf('--');
  return (end < 0 ? args : args.slice(0, end)).some((arg) => names.includes(arg));
}

async function help(topic: string | undefined): Promise<number> {
  const { overview, commandHelp, flagHelp } = await import('./help.js');
  const command = topic === undefined ? undefined : findCommand(topic);
  if (topic === undefined) printText(await overview());
  else if (command) printText(await commandHelp(command));
  else printText(await flagHelp(topic));
  return EXIT.ok;
}

async function version(): Promise<number> {
  const { packageVersion } = await import('../environment/version.js');
  printText(`millrace ${packageVersion()}`);
  return EXIT.ok;
}
