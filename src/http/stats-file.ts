import { appendFileSync } from 'node:fs';
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
  process.on('exit', () => appendStats(file));
  process.on('SIGTERM', function onTerminate() {
    // Without a listener of the application's, this signal ends the process before 'exit'.
    if (process.listenerCount('SIGTERM') > 1) return;
    process.off('SIGTERM', onTerminate);
    appendStats(file);
    process.kill(process.pid, 'SIGTERM');
  });
}

function appendStats(path: string): void {
  const connections = { native: 0, handedOver: 0 };
  const requests = { native: 0, handedOver: 0 };
  const reasons: Record<string, number> = {};
  for (const server of kept) {
    const stats = server.count();
    connections.native += stats.connections.native;
    connections.handedOver += stats.connections.handedOver;
    requests.native += stats.requests.native;
    requests.handedOver += stats.requests.handedOver;
    for (const [reason, count] of Object.entries(stats.reasons)) {
      reasons[reason] = (reasons[reason] ?? 0) + count;
    }
  }
  appendFileSync(path, `${JSON.stringify({ connections, requests, reasons })}\n`);
}
