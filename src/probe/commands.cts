import type { ProbeObserver } from './observer.cjs';
import {
  type Answers,
  type CommandMessage,
  type CommandName,
  type Commands,
  MIN_PAUSE_MS,
} from './protocol.cjs';
import { type LiveAllocations, sampleAllocations } from './runtime/allocations.cjs';
import { now } from './runtime/clock.cjs';
import { takeHeapSnapshot } from './runtime/heap-snapshot.cjs';
import { withInspector } from './runtime/inspector.cjs';
import { countPoolJobs } from './runtime/pool-jobs.cjs';
import { restoreCallFrames, restoreProfile, restoreStackFrames } from './runtime/source-places.cjs';
import type { SynchronousWrites } from './runtime/synchronous-writes.cjs';
import { collectGarbage, setInlining, takeProfile } from './runtime/v8.cjs';
import { takeWaits } from './waits/take-waits.cjs';

/** The objects on which commands operate. */
export interface CommandContext {
  observe(on: boolean): void;
  /** Counts only the requests to these ports; `null` counts all. */
  setPorts(ports: number[] | null): void;
  sample(): void;
  /** Whether only commands that observe are permitted. */
  isObserver: boolean;
  observer: ProbeObserver;
  output: SynchronousWrites;
  liveAllocations: LiveAllocations;
}

type Handler<Name extends CommandName> = (
  context: CommandContext,
  args: Commands[Name],
) => Answers[Name] | Promise<Answers[Name]>;

/** Whether the application has loaded a module of Node.js. */
function isLoaded(name: string): boolean {
  const { moduleLoadList } = process as unknown as { moduleLoadList?: string[] };
  return moduleLoadList?.includes(`NativeModule ${name}`) ?? false;
}

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
  observeHttp2({ observer, isObserver }) {
    // In production, do not load a module that the application does not use.
    if (!isObserver || isLoaded('http2')) observer.http2Streams.install();
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
  async profile(context, { ms }) {
    if (context.isObserver) refuseLong('profile', ms);
    const profile = await takeProfile(ms);
    await restoreProfile(profile.nodes, context.isObserver ? null : withInspector);
    return { pid: process.pid, profile };
  },
  async inlining(_, { on }) {
    await setInlining(on);
    return null;
  },
  databasePools: ({ observer }, { factor, processes }) =>
    observer.databasePools.scale(factor, processes),
  answerFromMemory: ({ observer }, { origin }) => observer.memory.answer(origin),
  exchangeDelay: ({ observer }, { origin, ms }) => observer.exchanges.setDelay(origin, ms),
  poolJobs: (_, { ms }) => countPoolJobs(ms),
  async waits({ observer, isObserver }, { ms, depth }) {
    if (isObserver) refuseLong('waits', ms);
    const waits = await takeWaits(observer, ms, isObserver ? Math.min(depth, MAX_DEPTH) : depth);
    await restoreStackFrames(waits.frames, isObserver ? null : withInspector);
    return waits;
  },
  writtenFiles: ({ output }) => [...output.files],
  collect: () => collectGarbage(),
  async allocations({ observer }, { ms }) {
    const sampled = await sampleAllocations(ms, () => observer.requests.counters.ended);
    await restoreCallFrames(sampled.tree.frames, withInspector);
    return sampled;
  },
  async liveAllocations({ liveAllocations }, { pid, on }) {
    if (pid !== process.pid) return null;
    if (!on) return liveAllocations.read();
    await liveAllocations.start();
    return null;
  },
  heapSnapshot: ({ observer }, { pid, file }) =>
    pid === process.pid ? takeHeapSnapshot(file, observer.requests.counters.ended) : null,
};

/** The commands that only observe: none of them changes what the application does. Any other one is refused in production. */
const OBSERVING: ReadonlySet<CommandName> = new Set<CommandName>([
  'subscribe',
  'setPorts',
  'observeHttp2',
  'sample',
  'writtenFiles',
  'profile',
  'waits',
]);

/** Maximum length in ms of an observation in production that costs a few percent. */
const MAX_MS = { profile: 1000, waits: 2000 };
/** Maximum number of frames of a stack in production. */
const MAX_DEPTH = 16;
const takenAt = { profile: Number.NEGATIVE_INFINITY, waits: Number.NEGATIVE_INFINITY };

function refuseLong(command: keyof typeof MAX_MS, ms: number): void {
  const isSoon = now() - takenAt[command] < MIN_PAUSE_MS;
  if (!(ms <= MAX_MS[command]) || isSoon) {
    throw new Error(
      `not permitted in production: ${command} for more than ${MAX_MS[command]} ms, or within ${MIN_PAUSE_MS} ms of the last one`,
    );
  }
  takenAt[command] = now();
}

/** Runs a command from Millrace. */
export async function runCommand(
  context: CommandContext,
  message: CommandMessage,
): Promise<Answers[CommandName]> {
  if (context.isObserver && !OBSERVING.has(message.command)) {
    throw new Error(`not permitted in production: ${message.command}`);
  }
  const handler = HANDLERS[message.command] as Handler<CommandName> | undefined;
  if (!handler) throw new Error(`unknown command: ${message.command}`);
  return handler(context, message.arguments as never);
}
