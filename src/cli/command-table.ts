// The table of commands. Dispatch, help, advice about flags and the reference page derive from it. A command's modules
// are imported when the command is run or described, so that they do not slow the start of other commands.
import { type CommandFlags, type FlagTable, parseInvocation } from './flags/command-flags.js';

/** A form of the command line, and its meaning in a few words. */
export type Usage = readonly [words: string, meaning: string];

/** A command of millrace. */
export interface Command {
  name: string;
  usage: readonly Usage[];
  /** Imports the command's flags. */
  flags(): Promise<FlagTable<never>>;
  /** Runs the command and resolves with the exit code. */
  run(args: string[]): Promise<number>;
}

/** The default command. */
export const LOAD: Command = define({
  name: 'load',
  usage: [
    ['millrace [load] [flags] URL...', 'load a server and measure it'],
    ['millrace [load] [flags] -- COMMAND...', 'start a server, load it, stop it'],
  ],
  flags: async () => (await import('./flags/load/load-flags.js')).LOAD,
  action: async () => (await import('./commands/load.js')).loadCommand,
});

export const COMMANDS: readonly Command[] = [
  LOAD,
  define({
    name: 'run',
    usage: [['millrace run FILE [URL | -- COMMAND]', 'users that do what FILE says']],
    flags: async () => (await import('./flags/load/run-flags.js')).RUN,
    action: async () => (await import('./commands/load.js')).loadCommand,
  }),
  define({
    name: 'explain',
    usage: [
      ['millrace explain URL | -- COMMAND', 'what limits the throughput?'],
      ['millrace explain --watch --pid N', 'the same in production'],
    ],
    flags: async () => (await import('./flags/explain-flags.js')).EXPLAIN,
    action: async () => (await import('./commands/explain.js')).explainCommand,
  }),
  define({
    name: 'capacity',
    usage: [['millrace capacity URL | -- COMMAND', 'how much can it take?']],
    flags: async () => (await import('./flags/capacity-flags.js')).CAPACITY,
    action: async () => (await import('./commands/capacity.js')).capacityCommand,
  }),
  define({
    name: 'compare',
    usage: [['millrace compare URL URL | -- CMD -- CMD', 'which is faster, and how sure?']],
    flags: async () => (await import('./flags/compare-flags.js')).COMPARE,
    action: async () => (await import('./commands/compare.js')).compareCommand,
  }),
  define({
    name: 'report',
    usage: [['millrace report FILE...', 'a stored result, read or rendered']],
    flags: async () => (await import('./flags/stored/report-flags.js')).REPORT,
    action: async () => (await import('./commands/report.js')).reportCommand,
  }),
  define({
    name: 'merge',
    usage: [['millrace merge FILE...', 'one result of several machines']],
    flags: async () => (await import('./flags/stored/merge-flags.js')).MERGE,
    action: async () => (await import('./commands/merge.js')).mergeCommand,
  }),
  define({
    name: 'history',
    usage: [['millrace history DIR', 'stored results over time']],
    flags: async () => (await import('./flags/stored/history-flags.js')).HISTORY,
    action: async () => (await import('./commands/history.js')).historyCommand,
  }),
  define({
    name: 'kubernetes',
    usage: [['millrace kubernetes [flags] URL...', 'a Job whose pods share a load']],
    flags: async () => (await import('./flags/kubernetes/kubernetes-flags.js')).KUBERNETES,
    action: async () => (await import('./commands/kubernetes.js')).kubernetesCommand,
  }),
  define({
    name: 'testserver',
    usage: [['millrace testserver [flags]', 'a server to load, until Ctrl-C']],
    flags: async () => (await import('./flags/testserver-flags.js')).TESTSERVER,
    action: async () => (await import('./commands/testserver.js')).testServerCommand,
  }),
  define({
    name: 'lab',
    usage: [['millrace lab [STUDY...] [flags]', 'known studies, repeated here']],
    flags: async () => (await import('./flags/lab-flags.js')).LAB,
    action: async () => (await import('./commands/lab.js')).labCommand,
  }),
  define({
    name: 'cache',
    usage: [['millrace cache [PID] [flags]', 'output caches of running processes']],
    flags: async () => (await import('./flags/cache-flags.js')).CACHE,
    action: async () => (await import('./commands/cache.js')).cacheCommand,
  }),
];

/** All forms of the command line. */
export const USAGE: readonly Usage[] = [
  ...COMMANDS.flatMap(({ usage }) => usage),
  ['millrace', 'load a sample server'],
  ['millrace help FLAG', 'all about one flag'],
];

/** Finds a command by its name. */
export function findCommand(name: string): Command | undefined {
  return COMMANDS.find((command) => command.name === name);
}

/** A command in the table: `flags` parse its arguments into an invocation, and `action` runs the invocation. */
interface Definition<Into> extends Pick<Command, 'name' | 'usage'> {
  flags(): Promise<CommandFlags<Into>>;
  action(): Promise<(invocation: Into) => Promise<number>>;
}

function define<Into>({ name, usage, flags, action }: Definition<Into>): Command {
  const run = async (args: string[]): Promise<number> => {
    const [table, start] = await Promise.all([flags(), action()]);
    return start(parseInvocation(name, table, args));
  };
  return { name, usage, flags, run };
}
