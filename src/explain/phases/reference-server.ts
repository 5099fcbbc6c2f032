import { MillraceError } from '../../errors/millrace-error.js';
import { runLoad } from '../../load/engine/run.js';
import type { LoadOptions } from '../../load/options.js';
import { startCommand } from '../../process/command/start-command.js';
import { exceedsReference } from '../conclusion/prediction/remedy-prediction.js';
import type { Findings } from '../findings.js';
import type { BlockLength } from '../target/block-length.js';
import { withSingleUrl } from '../target/load-variants.js';
import type { ServerUnderTest } from '../target/server-under-test.js';
import type { InvestigationOptions } from './options.js';

/** A server that answers each request with a fixed number of bytes, and does nothing else. */
const SERVER = `
  const body = Buffer.alloc(Number(process.argv[1]), 'x');
  const { createServer } = require(process.argv[2]);
  createServer((_, response) => response.end(body)).listen(0, '127.0.0.1');`;
const START_MS = 5000;
/** Maximum body size: with larger bodies most of the cost is sending, which no server avoids. */
const MAX_BODY_BYTES = 1_000_000;
/** The code of the server is compiled in the first two seconds. */
const REFERENCE_LENGTH: BlockLength = { settleMs: 2000, measureMs: 1000 };
/** Duration of the measurement, including half a second for start and end. */
export const REFERENCE_RUN_MS = REFERENCE_LENGTH.settleMs + REFERENCE_LENGTH.measureMs + 500;

/**
 * Adds the throughput of a server that does nothing, if the remedy promises a large improvement. The server under test
 * is ended first: it may work in the background, and even when it is idle its probe wakes it 200 times a second, which
 * on two cores takes a fifth of the other server's throughput.
 */
export async function compareWithReference(
  findings: Findings,
  subject: ServerUnderTest,
  { untilMs, signal, onStep }: Pick<InvestigationOptions, 'untilMs' | 'signal' | 'onStep'>,
): Promise<Findings> {
  const { finding, metrics, interrupted } = findings;
  const { chosen } = finding;
  if (interrupted || chosen === null || !subject.canRestart || !exceedsReference(chosen, findings))
    return findings;
  if (performance.now() + REFERENCE_RUN_MS > untilMs) return findings;
  onStep('measuring a reference server that does nothing');
  const { options } = subject;
  await subject.close();
  try {
    const throughput = await measureReferenceThroughput(
      withCleartext(options, metrics.base.load.connections.http2 > 0),
      metrics.sample?.bodyBytes ?? 0,
      REFERENCE_LENGTH,
      signal,
    );
    return { ...findings, referenceThroughput: throughput };
  } catch (error) {
    if (error === signal.reason) return { ...findings, interrupted: true };
    if (!(error instanceof MillraceError)) throw error;
    return {
      ...findings,
      skippedExperiments: [...findings.skippedExperiments, `reference server: ${error.message}`],
    };
  }
}

/** Returns the load with the version of HTTP that it speaks, for a server without TLS. */
function withCleartext(options: LoadOptions, speaksHttp2: boolean): LoadOptions {
  const { http2, preferHttp2, h2c, window, ...others } = options;
  if (!speaksHttp2) return others;
  return { ...others, h2c: true, ...(window !== undefined && { window }) };
}

/**
 * Measures the responses per second of a `node:http` server that does nothing, on this machine, or of one of `node:http2` for a
 * load of `h2c`. The load is the configured one, but with keep-alive and without TLS. It is an upper bound for every server in
 * Node.js.
 */
export async function measureReferenceThroughput(
  options: LoadOptions,
  bodyBytes: number,
  { settleMs, measureMs }: BlockLength,
  signal: AbortSignal,
): Promise<number> {
  const size = String(Math.min(MAX_BODY_BYTES, bodyBytes));
  const module = options.h2c ? 'node:http2' : 'node:http';
  const server = await startCommand([process.execPath, '-e', SERVER, size, module], {
    timeoutMs: START_MS,
    signal,
  });
  try {
    const { connection, handshake, ...others } = withSingleUrl(
      `http://${server.host}:${server.port}/`,
      options,
    );
    const { completed, fromMs, toMs } = await runLoad(
      {
        ...others,
        warmup: settleMs,
        duration: measureMs,
        pid: false,
        signal,
      },
      { earlyAckProbe: false },
    );
    signal.throwIfAborted();
    return (completed * 1000) / Math.max(1, toMs - fromMs);
  } finally {
    await server.stop();
  }
}
