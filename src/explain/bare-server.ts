import type { LoadOptions } from '../load/options.js';
import { runLoad } from '../load/run.js';
import { startCommand } from '../process/command.js';
import { type BlockLength, onlyFor } from './subject.js';

/** Answers each request with as many bytes as it is told, and does nothing else. */
const SERVER = `
  const body = Buffer.alloc(Number(process.argv[1]), 'x');
  require('node:http').createServer((_, response) => response.end(body)).listen(0, '127.0.0.1');`;
const START_MS = 5000;
/** Of larger bodies the sending costs most: that is no server's share any more. */
const MOST_BYTES = 1_000_000;

/**
 * Responses per second of a server of `node:http` that does nothing, on this machine: the load is as asked for, but on
 * connections that are kept and without TLS. No server in Node.js that does something gives more.
 */
export async function bareThroughput(
  options: LoadOptions,
  bodyBytes: number,
  { settleMs, measureMs }: BlockLength,
  signal: AbortSignal,
): Promise<number> {
  const size = String(Math.min(MOST_BYTES, bodyBytes));
  const server = await startCommand([process.execPath, '-e', SERVER, size], {
    timeoutMs: START_MS,
    signal,
  });
  try {
    const { connection, tls, ...others } = onlyFor(
      `http://${server.host}:${server.port}/`,
      options,
    );
    const { completed, fromMs, toMs } = await runLoad(
      { ...others, warmup: settleMs, duration: measureMs, pid: false, signal },
      { nudge: false },
    );
    signal.throwIfAborted();
    return (completed * 1000) / Math.max(1, toMs - fromMs);
  } finally {
    await server.stop();
  }
}
