import type { ProbeObserver } from './observer.cjs';
import type { Answers, CommandMessage, CommandName, Commands } from './protocol.cjs';
import { type LiveAllocations, sampleAllocations } from './runtime/allocations.cjs';
import { takeHeapSnapshot } from './runtime/heap-snapshot.cjs';
import { countPoolJobs } from './runtime/pool-jobs.cjs';
import type { SynchronousWrites } from './runtime/synchronous-writes.cjs';
import { collectGarbage, takeProfile } from './runtime/v8.cjs';
import { takeWaits } from './waits/take-waits.cjs';

/** The objects on which commands operate. */
export interface CommandContext {
  observe(on: boolean): void;
  /** Counts only the requests to these ports; `null` counts all. */
  setPorts(ports: number[] | null): void;
  sample(): void;
  observer: ProbeObserver;
  output: SynchronousWrites;
  liveAllocations: LiveAllocations;
}

type Handler<Name extends CommandName> = (
  context: CommandContext,
  args: Commands[Name],
) => Answers[Name] | Promise<Answers[Name]>;

type Handlers = { [Name in CommandName]: Handler<Name> };

const HANDLERS: Handlers = {
  subscribe({ observe }, { on }) {
    observe(on);
    return null;
  },
  setPorts({ setPorts }, { ports }) {
    setPorts(ports);
    return null;
  },
  observeHttp2({ observer }) {
    observer.http2Streams.install();
    return null;
  },
  sample({ sample }) {
    sample();
    return null;
  },
  spin({ observer }, { microseconds }) {
    observer.requests.setSpin(microseconds);
    return null;
  },
  mute({ output }, { on }) {
    output.isMuted = on;
    return null;
  },
  cork({ observer }, { on }) {
    observer.cork.setEnabled(on);
    return null;
  },
  maxSockets: ({ observer }, { factor }) => [
    ...observer.clientRequests.agentLimits.scale(factor),
    ...observer.undiciPools.scale(factor),
  ],
  noDelay: ({ observer }, { on }) => observer.exchanges.setNoDelay(on),
  outboundDelay: ({ observer }, { ms }) =>
    observer.clientRequests.setDelay(ms) + observer.fetches.setDelay(ms),
  profile: async (_, { ms }) => ({ pid: process.pid, profile: await takeProfile(ms) }),
  databasePools: ({ observer }, { factor, processes }) =>
    observer.databasePools.scale(factor, processes),
  answerFromMemory: ({ observer }, { origin }) => observer.memory.answer(origin),
  exchangeDelay: ({ observer }, { origin, ms }) => observer.exchanges.setDelay(origin, ms),
  poolJobs: (_, { ms }) => countPoolJobs(ms),
  waits: ({ observer }, { ms, depth }) => takeWaits(observer, ms, depth),
  writtenFiles: ({ output }) => [...output.files],
  collect: () => collectGarbage(),
  allocations: ({ observer }, { ms }) =>
    sampleAllocations(ms, () => observer.requests.counters.ended),
  async liveAllocations({ liveAllocations }, { pid, on }) {
    if (pid !== process.pid) return null;
    if (!on) return liveAllocations.read();
    await liveAllocations.start();
    return null;
  },
  heapSnapshot: ({ observer }, { pid, file }) =>
    pid === process.pid ? takeHeapSnapshot(file, observer.requests.counters.ended) : null,
};

/** Runs a command from Millrace. */
export async function runCommand(
  context: CommandContext,
  message: CommandMessage,
): Promise<Answers[CommandName]> {
  const handler = HANDLERS[message.command] as Handler<CommandName> | undefined;
  if (!handler) throw new Error(`unknown command: ${message.command}`);
  return handler(context, message.arguments as never);
}
