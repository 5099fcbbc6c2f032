import { MillraceError } from '../../errors.js';
import type { LoadOptions } from '../../load/options.js';
import { runLoad } from '../../load/engine/run.js';
import { startCommand } from '../../process/command/start-command.js';
import type { BlockLength } from './block-length.js';
import type { InvestigationOptions } from '../investigation-types.js';
import type { Findings } from '../investigation-types.js';
import { withSingleUrl } from './load-variants.js';
import { exceedsReference } from '../conclusion/remedy-prediction.js';
import type { ServerUnderTest } from './server-under-test.js';

/** Answers each request with as many bytes as it is told, and does nothing else. */
const SERVER = `
  const body = Buffer.alloc(Number(process.argv[1]), 'x');
  require('node:http').createServer((_, response) => response.end(body)).listen(0, '127.0.0.1');`;
const START_MS = 5000;
/** Of larger bodies the sending costs most: that is no server's share any more. */
const MAX_BODY_BYTES = 1_000_000;
/** Its code is compiled first. Half a second to start and end. */
const REFERENCE_LENGTH: BlockLength = { settleMs: 2000, measureMs: 1000 };
/** What it takes to measure it. */
export const REFERENCE_RUN_MS = REFERENCE_LENGTH.settleMs + REFERENCE_LENGTH.measureMs + 500;

/**
 * Adds what a server that does nothing gives, where the remedy is said to give much more than there is. The server under study is ended
 * before: it may work unasked, and idle its probe wakes it 200 times a second, which on two cores takes a fifth of what another one gives.
 */
export async function compareWithReference(
  findings: Findings,
  subject: ServerUnderTest,
  { untilMs, signal, onStep }: Pick<InvestigationOptions, 'untilMs' | 'signal' | 'onStep'>,
): Promise<Findings> {
  const { finding, metrics, interrupted } = findings;
  const { chosen } = finding;
  if (interrupted || chosen === null || !subject.canRestart || !exceedsReference(chosen, findings)) return findings;
  if (performance.now() + REFERENCE_RUN_MS > untilMs) return findings;
  onStep('measuring a server that does nothing');
  const { options } = subject;
  await subject.close();
  try {
    const throughput = await measureReferenceThroughput(options, metrics.sample?.bodyBytes ?? 0, REFERENCE_LENGTH, signal);
    return { ...findings, referenceThroughput: throughput };
  } catch (error) {
    if (error === signal.reason) return { ...findings, interrupted: true };
    if (!(error instanceof MillraceError)) throw error;
    return { ...findings, skippedExperiments: [...findings.skippedExperiments, `a server that does nothing: ${error.message}`] };
  }
}

/**
 * Responses per second of a server of `node:http` that does nothing, on this machine: the load is as asked for, but on
 * connections that are kept and without TLS. No server in Node.js that does something gives more.
 */
export async function measureReferenceThroughput(
  options: LoadOptions,
  bodyBytes: number,
  { settleMs, measureMs }: BlockLength,
  signal: AbortSignal,
): Promise<number> {
  const size = String(Math.min(MAX_BODY_BYTES, bodyBytes));
  const server = await startCommand([process.execPath, '-e', SERVER, size], {
    timeoutMs: START_MS,
    signal,
  });
  try {
    const { connection, tls, ...others } = withSingleUrl(
      `http://${server.host}:${server.port}/`,
      options,
    );
    const { completed, fromMs, toMs } = await runLoad(
      { ...others, warmup: settleMs, duration: measureMs, pid: false, signal },
      { earlyAckProbe: false },
    );
    signal.throwIfAborted();
    return (completed * 1000) / Math.max(1, toMs - fromMs);
  } finally {
    await server.stop();
  }
}
