import { MillraceError, usageError } from '../errors.js';
import { findNearest } from '../validation/nearest.js';
import { EXIT, toExitCode } from './exit.js';
import { UnknownFlag } from './flags/parse.js';
import { collectOutputErrors, watchOutput } from './output.js';

/** Runs a command line; resolves with its exit code. */
export async function main(args: string[]): Promise<number> {
  watchOutput();
  const code = await dispatch(args).catch(async (error: unknown) => {
    console.error(isForeseen(error) ? `millrace: ${await buildMessage(error)}` : error);
    return toExitCode(error);
  });
  const lost = await collectOutputErrors();
  for (const line of lost) console.error(`millrace: ${line}`);
  return code === EXIT.ok && lost.length > 0 ? EXIT.failure : code;
}

/** What input or environment can cause: its message says all. Of anything else the stack is needed. */
function isForeseen(error: unknown): error is Error {
  return error instanceof MillraceError || (error instanceof Error && 'syscall' in error);
}

/** What one command does not know another may: that says more than what is spelt alike. */
async function buildMessage(error: Error): Promise<string> {
  if (!(error instanceof UnknownFlag)) return error.message;
  const { siblingAdvice } = await import('./flags/siblings.js');
  const advice = siblingAdvice(error.command, error.flag);
  return advice === null ? error.message : `${error.given} is not supported: ${advice}`;
}

async function dispatch(args: string[]): Promise<number> {
  const [first = '', ...rest] = args;
  if (first === 'help') return help(rest[0]);
  if (asksFor(['-h', '--help'], args)) {
    return help(TOPICS.includes(first) ? first : undefined);
  }
  if (asksFor(['-v', '--version'], args)) return version();
  if (first === 'testserver')
    return (await import('./commands/testserver.js')).testServerCommand(rest);
  if (first === 'explain') return (await import('./commands/explain.js')).explainCommand(rest);
  if (first === 'capacity') return (await import('./commands/capacity.js')).capacityCommand(rest);
  if (first === 'cache') return (await import('./commands/cache.js')).cacheCommand(rest);
  if (first === 'lab') return (await import('./commands/lab.js')).labCommand(rest);
  const near =
    /^[a-z]+$/.test(first) && first !== 'load' ? findNearest(first, COMMANDS) : undefined;
  if (near) {
    throw usageError(
      `'${first}' given; did you mean ${near}? A host of that name is http://${first}/`,
    );
  }
  if (first !== 'load') {
    (await import('./bare-command.js')).refuseForeignCommand(first, rest, COMMANDS);
  }
  const { loadCommand } = await import('./commands/load.js');
  return loadCommand(first === 'load' ? rest : args);
}

/** Whether a flag stands among millrace's own arguments. */
function asksFor(flags: string[], args: string[]): boolean {
  const end = args.indexOf('--');
  return (end < 0 ? args : args.slice(0, end)).some((arg) => flags.includes(arg));
}

const TOPICS = ['testserver', 'explain', 'capacity', 'lab', 'cache'];
const COMMANDS = ['load', 'help', ...TOPICS];

async function help(topic: string | undefined): Promise<number> {
  const help = await import('./help.js');
  if (topic === undefined || topic === 'load') console.log(help.helpText());
  else if (topic === 'testserver') console.log(help.testServerHelpText());
  else if (topic === 'explain') console.log(help.explainHelpText());
  else if (topic === 'capacity') console.log(help.capacityHelpText());
  else if (topic === 'lab') console.log(help.labHelpText());
  else if (topic === 'cache') console.log(help.cacheHelpText());
  else console.log(help.flagHelp(topic));
  return EXIT.ok;
}

async function version(): Promise<number> {
  const { packageVersion } = await import('../version.js');
  console.log(`millrace ${packageVersion()}`);
  return EXIT.ok;
}
