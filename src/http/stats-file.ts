import { appendFileSync, writeSync } from 'node:fs';
import type { NativeServer } from './server.js';

/** At the process's end, appends a line with what its servers counted to the file that this variable names. */
const file = process.env.MILLRACE_STATS_FILE;

const kept = new Set<NativeServer>();

/** A server that has gone by the process's end counts as well. */
export function keepForStats(server: NativeServer): void {
  if (file) kept.add(server);
}

export function writeStatsAtExit(): void {
  if (!file) return;
  const append = () => appendStats(file);
  process.on('exit', append);
  onDeadlyTerminate(() => {
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
  const onTerminate = () => {
    if (listeners() > 1) return;
    process.off('removeListener', comeBack);
    process.off('SIGTERM', onTerminate);
    callback();
    process.kill(process.pid, 'SIGTERM');
  };
  const comeBack = (event: string | symbol) => {
    if (event === 'SIGTERM' && listeners() === 0) process.on('SIGTERM', onTerminate);
  };
  const stepAside = () => {
    if (listeners() > 1) process.off('SIGTERM', onTerminate);
  };
  process.on('SIGTERM', onTerminate);
  process.on('removeListener', comeBack);
  process.on('newListener', (event) => {
    // The other one is added after this.
    if (event === 'SIGTERM') process.nextTick(stepAside);
  });
}

function appendStats(path: string): void {
  const connections = { native: 0, handedOver: 0, lost: 0, moved: 0, relayed: 0 };
  const requests = { native: 0, cached: 0, handedOver: 0, unowned: 0 };
  const reasons: Record<string, number> = {};
  for (const server of kept) {
    const stats = server.count();
    connections.native += stats.connections.native;
    connections.handedOver += stats.connections.handedOver;
    connections.lost += stats.connections.lost;
    connections.moved += stats.connections.moved;
    connections.relayed += stats.connections.relayed;
    requests.native += stats.requests.native;
    requests.cached += stats.requests.cached;
    requests.handedOver += stats.requests.handedOver;
    requests.unowned += stats.requests.unowned;
    for (const [reason, count] of Object.entries(stats.reasons)) {
      reasons[reason] = (reasons[reason] ?? 0) + count;
    }
  }
  try {
    appendFileSync(path, `${JSON.stringify({ connections, requests, reasons })}\n`);
  } catch (error) {
    // The application's end and its exit code are its own.
    writeSync(2, `millrace: MILLRACE_STATS_FILE: ${(error as Error).message}\n`);
  }
}
