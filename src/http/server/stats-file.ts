import { appendFileSync, writeSync } from 'node:fs';
import { constants } from 'node:os';
import { lasting } from '../node/persistent-listeners.js';
import { beforeKill } from '../node/process-end.js';
import type { NativeServer } from './native-server.js';
import type { StackStats } from './stats.js';

/** At the end of the process, appends a line with the counters of its servers to the file that this variable names. */
const file = process.env.MILLRACE_STATS_FILE;

interface Totals {
  connections: {
    native: number;
    fallback: number;
    lost: number;
    moved: number;
    relayed: number;
  };
  requests: { native: number; cached: number; fallback: number; unowned: number };
  http2: StackStats['http2'];
  fallbackReasons: Record<string, number>;
  unusualRequests: Record<string, number>;
}

/** Servers that listen or have connections. */
const live = new Set<NativeServer>();
/** Counters of servers that have ended before the process. */
const earlier = zero();
/** The part of a server's counters that is in `earlier`. */
const countedEarlier = new WeakMap<NativeServer, Totals>();

/** Adds a server that listens. */
export function addToStats(server: NativeServer): void {
  if (!file) return;
  live.add(server);
  writeStatsAtExit();
}

/** Removes a server that neither listens nor has connections; it may listen again. */
export function removeFromStats(server: NativeServer): void {
  if (!live.delete(server)) return;
  const counted = server.counters.count();
  add(earlier, counted, 1);
  const before = countedEarlier.get(server);
  if (before) add(earlier, before, -1);
  countedEarlier.set(server, counted);
}

let isToBeWritten = false;

export function writeStatsAtExit(): void {
  if (!file || isToBeWritten) return;
  isToBeWritten = true;
  const append = () => appendStats(file);
  let isWritten = false;
  lasting(() => {
    if (!isWritten && !process.listeners('exit').includes(append)) process.on('exit', append);
  });
  onDeadlyTerminate(() => {
    isWritten = true;
    process.off('exit', append);
    append();
  });
}

/**
 * Calls back when SIGTERM is about to end the process, before 'exit'. Our listener is there only while there is no
 * other: some listeners count them, and end the process themselves if they are alone.
 */
function onDeadlyTerminate(callback: () => void): void {
  const listeners = () => process.listenerCount('SIGTERM');
  const isDeadly = () => listeners() === 1 && process.listeners('SIGTERM').includes(onTerminate);
  const stepDown = () => {
    process.off('removeListener', comeBack);
    process.off('SIGTERM', onTerminate);
    callback();
  };
  const onTerminate = () => {
    if (!isDeadly()) return;
    stepDown();
    process.kill(process.pid, 'SIGTERM');
  };
  // A signal that the process sends to itself, as the last step of a shutdown: nothing may keep it alive until a listener is called.
  beforeKill((pid, signal) => {
    if ((pid === process.pid || pid === 0) && isTerminate(signal) && isDeadly()) stepDown();
  });
  const comeBack = (event: string | symbol) => {
    if (event === 'SIGTERM' && listeners() === 0) process.on('SIGTERM', onTerminate);
  };
  const stepAside = () => {
    if (listeners() > 1) process.off('SIGTERM', onTerminate);
  };
  const watch = (event: string | symbol) => {
    // The other one is added after this.
    if (event === 'SIGTERM') process.nextTick(stepAside);
  };
  lasting(() => {
    comeBack('SIGTERM');
    if (!process.listeners('removeListener' as never).includes(comeBack as never)) {
      process.on('removeListener', comeBack);
      process.on('newListener', watch);
    }
  });
}

/** Without a signal `kill` sends SIGTERM. */
function isTerminate(signal: unknown): boolean {
  return signal === undefined || signal === 'SIGTERM' || signal === constants.signals.SIGTERM;
}

function zero(): Totals {
  return {
    connections: { native: 0, fallback: 0, lost: 0, moved: 0, relayed: 0 },
    requests: { native: 0, cached: 0, fallback: 0, unowned: 0 },
    fallbackReasons: {},
    unusualRequests: {},
    http2: { connections: 0, streams: 0, resets: 0, refused: 0, errors: 0, misdirected: 0 },
  };
}

function add(to: Totals, what: Totals, times: 1 | -1): void {
  for (const group of ['connections', 'requests', 'http2'] as const) {
    const counts: Record<string, number> = to[group];
    const more: Record<string, number> = what[group];
    for (const name of Object.keys(counts)) {
      counts[name] = (counts[name] as number) + times * (more[name] as number);
    }
  }
  for (const group of ['fallbackReasons', 'unusualRequests'] as const) {
    const counts = to[group];
    for (const [reason, count] of Object.entries(what[group])) {
      counts[reason] = (counts[reason] ?? 0) + times * count;
    }
  }
}

function appendStats(path: string): void {
  for (const server of live) removeFromStats(server);
  try {
    appendFileSync(path, `${JSON.stringify(earlier)}\n`);
  } catch (error) {
    // The application's end and its exit code are its own.
    writeSync(2, `millrace: MILLRACE_STATS_FILE: ${(error as Error).message}\n`);
  }
}
