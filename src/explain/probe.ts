import { EventEmitter, once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Answers, CommandName, Commands, Hello } from '../probe/protocol.cjs';
import { insideView } from './inside.js';
import type { InsideView } from './observation.js';
import { ProbedProcess } from './probed-process.js';

/** What runs inside the server, by `--require`. */
export const PRELOAD = fileURLToPath(new URL('../probe/preload.cjs', import.meta.url));

interface ProbeEvents {
  /** A process has said who it is; again when some of it has changed. */
  hello: [Hello];
  /** A process has gone, or has closed its channel. */
  left: [Hello];
  /** A sample has arrived. */
  sample: [Hello];
}

/** A process that has ended with its heap full. */
export interface Exhausted {
  pid: number;
  heapUsedMb: number;
  heapLimitMb: number;
  /** Requests that it had answered. */
  requests: number;
}

/** Part of its limit from which on a heap is full, as it is looked at twice a second. */
const FULL_HEAP = 0.75;
/** V8 counts the young generation into the limit: three of its halves, of so many MB unless it was told otherwise. */
const SEMI_SPACE_MB = 16;

function exhaustedOf({ hello, samples }: ProbedProcess): Exhausted[] {
  const levels = samples.findLast((sample) => sample.levels !== null)?.levels;
  if (!hello || !levels) return [];
  const heapLimitMb = levels.heapLimit / 1e6 - 3 * (hello.maxSemiSpaceMb ?? SEMI_SPACE_MB);
  // Garbage that is still to be collected fills no heap.
  const heapUsedMb = (levels.heapAfterOld ?? 0) / 1e6;
  if (heapUsedMb < FULL_HEAP * heapLimitMb) return [];
  return [
    {
      pid: hello.pid,
      heapUsedMb,
      heapLimitMb,
      requests: samples.at(-1)?.counters.ended ?? 0,
    },
  ];
}

/** Where the probes of a server's processes meet. */
export interface ProbeHub {
  /** Path of the socket that probes connect to. */
  readonly path: string;
  readonly events: EventEmitter<ProbeEvents>;
  /** The environment with which a process, and all that it starts, has the probe. */
  environment(base: NodeJS.ProcessEnv): NodeJS.ProcessEnv;
  /** The processes now connected. */
  readonly processes: Hello[];
  /**
   * From now on only requests to these ports count, in all processes: a dependency that the command starts as well is
   * none of the server. `null`: all do.
   */
  study(ports: number[] | null): void;
  /** Waits until a process has got a request that counts; at most so long. Returns whether one has. */
  served(patienceMs: number): Promise<boolean>;
  /**
   * The processes that served requests, between two times of `performance.now()`; as far as there are samples. `null`:
   * there is none, or too little of it.
   */
  between(fromMs: number, toMs: number): InsideView | null;
  /**
   * Asks for samples, and waits until every process that serves has one of after the time, which has passed; at most so long. Before and
   * after a block of load it makes the block's ends exact.
   */
  sampledAfter(atMs: number, patienceMs: number): Promise<void>;
  /**
   * Tells the processes that serve (all, if none does and none was chosen by `study`) to do something, and waits for what they answer.
   *
   * @throws {Error} if one cannot.
   */
  command<Name extends CommandName>(name: Name, given: Commands[Name]): Promise<Answers[Name][]>;
  /** The processes that are connected are to end, but for those with these numbers. */
  dismiss(others?: number[]): void;
  /** Those that have served and have ended all the same, as far as their heap was full when it was last looked at. */
  readonly exhausted: Exhausted[];
  /** Lets the probes go, which undoes all that they do, and removes the socket. */
  close(): Promise<void>;
}

/** Opens the place where probes connect: a socket that only this user can reach. */
export async function openProbeHub(): Promise<ProbeHub> {
  const folder = process.platform === 'win32' ? null : await mkdtemp(join(tmpdir(), 'millrace-'));
  const path = folder ? join(folder, 'probe') : `\\\\.\\pipe\\millrace-probe-${process.pid}`;
  const events = new EventEmitter<ProbeEvents>();
  // Those that left stay: they are part of the time in which they served.
  const all = new Set<ProbedProcess>();
  const open = new Set<Socket>();
  let ports: number[] | null = null;
  const tellPorts = (probed: ProbedProcess) => {
    // One that goes meanwhile serves nothing any more.
    probed.command('study', { ports }).catch(() => {});
  };
  const server = createServer((socket) => {
    open.add(socket);
    const probed = new ProbedProcess(socket, {
      onHello(hello) {
        if (!all.has(probed) && ports !== null) tellPorts(probed);
        all.add(probed);
        events.emit('hello', hello);
      },
      onSample: (hello) => events.emit('sample', hello),
    });
    socket.on('close', () => {
      open.delete(socket);
      if (!probed.hello) return;
      events.emit('left', probed.hello);
    });
  });
  server.listen(path);
  await once(server, 'listening');
  const connected = () => [...all].filter(({ isConnected }) => isConnected);
  const serving = (some: ProbedProcess[]) => some.filter(({ hello }) => hello?.serving);
  const hasServed = () => serving(connected()).length > 0;

  return {
    path,
    events,
    environment: (base) => ({
      ...base,
      MILLRACE_PROBE: path,
      MILLRACE_PROBE_OF: String(process.pid),
      NODE_OPTIONS: [base.NODE_OPTIONS, `--require ${quoted(PRELOAD)}`].filter(Boolean).join(' '),
    }),
    get processes() {
      return connected().flatMap(({ hello }) => hello ?? []);
    },
    study(wanted) {
      ports = wanted;
      for (const probed of connected()) tellPorts(probed);
    },
    async served(patienceMs) {
      const signal = AbortSignal.timeout(patienceMs);
      while (!hasServed() && !signal.aborted) {
        await once(events, 'hello', { signal }).catch(() => {});
      }
      return hasServed();
    },
    between(fromMs, toMs) {
      const known = connected().flatMap(({ hello }) => hello ?? []);
      return insideView(serving([...all]), fromMs, toMs, workersAt(ports, known));
    },
    async sampledAfter(atMs, patienceMs) {
      const late = serving(connected()).filter(({ lastSampleMs }) => lastSampleMs < atMs);
      // For one that goes meanwhile there is nothing to wait for.
      const asked = late.map((probed) => probed.command('sample', {}).catch(() => null));
      const patience = new AbortController();
      const { signal } = patience;
      await Promise.race([
        Promise.all(asked),
        sleep(patienceMs, undefined, { signal }).catch(() => {}),
      ]);
      patience.abort();
    },
    async command(name, given) {
      const here = connected();
      const those = serving(here);
      // What serves only others is not changed.
      const told = those.length > 0 || ports !== null ? those : here;
      return Promise.all(told.map((probed) => probed.command(name, given)));
    },
    dismiss(others = []) {
      for (const probed of connected()) {
        probed.isDismissed ||= !others.includes(probed.hello?.pid ?? 0);
      }
    },
    get exhausted() {
      const lost = serving([...all]).filter((it) => !it.isConnected && !it.isDismissed);
      return lost.flatMap(exhaustedOf);
    },
    async close() {
      for (const socket of open) socket.destroy();
      server.close();
      await once(server, 'close');
      if (folder) await rm(folder, { recursive: true, force: true });
    },
  };
}

/**
 * The workers of clusters that are to get requests for these ports: those of which their first process knows that they
 * listen. Where it knows of none, all: it may hand them its connections, or have no probe.
 */
function workersAt(ports: number[] | null, known: Hello[]): number[] {
  const isWanted = (port: number) => ports === null || port === 0 || ports.includes(port);
  const isMeant = ({ pid, ppid }: Hello) => {
    const first = known.find((one) => one.pid === ppid);
    const those = first?.listeningWorkers.filter(({ port }) => isWanted(port)) ?? [];
    return those.length === 0 || those.some((one) => one.pid === pid);
  };
  const workers = known.filter(({ clusterRole }) => clusterRole === 'worker');
  return workers.filter(isMeant).map(({ pid }) => pid);
}

/**
 * Does something while the probe rests, and costs the server nothing.
 *
 * @param onFailure hears why the probe does not watch any more afterwards
 */
export async function whileResting<Result>(
  hub: Pick<ProbeHub, 'command'> | null,
  work: () => Promise<Result>,
  onFailure: (why: string) => void,
): Promise<Result> {
  // One that cannot be told may have gone; others have been told.
  await hub?.command('subscribe', { on: false }).catch(() => {});
  try {
    return await work();
  } finally {
    const watches = hub?.command('subscribe', { on: true });
    await watches?.catch(({ message }) => onFailure(`the probe, after it rested: ${message}`));
  }
}

/** As an argument in NODE_OPTIONS. */
function quoted(argument: string): string {
  return /[\s"\\]/.test(argument) ? `"${argument.replace(/["\\]/g, '\\$&')}"` : argument;
}
