import { usageError } from '../errors.js';
import type { ServerProcess } from '../process/command.js';
import { checkOptions } from '../shape.js';
import { DEFAULTS } from './defaults.js';
import { measure } from './measure.js';
import type { LoadOptions } from './options.js';
import { type Plan, planOf } from './plan.js';
import type { LoadResult, Snapshot } from './result.js';
import { LOAD_OPTIONS } from './shapes.js';
import { Snapshots } from './snapshots.js';

/**
 * A run: the promise of its result, and its snapshots while it goes on, ten a second. Iterating ends with the run and
 * throws what the promise rejects with.
 */
export interface LoadRun extends Promise<LoadResult>, AsyncIterable<Snapshot> {}

/**
 * Loads a server and measures it. Requests that fail are counts in the result; the promise rejects with a
 * `MillraceError` where there can be no result: unusable options, an unreachable target, a command that does not
 * start, a missing addon. It rejects with the signal's reason if that is aborted before a request was sent.
 *
 * @example
 * const result = await load({ url: 'http://127.0.0.1:8080/', connections: 50, duration: '5s' });
 * console.log(result.throughput.mean, result.latencyMs.p99);
 *
 * @example
 * const run = load({ command: ['node', 'server.js'], rate: 500 });
 * for await (const { throughput, p99Ms } of run) console.log(throughput, p99Ms);
 * const { requests } = await run;
 */
export function load(options: LoadOptions): LoadRun {
  const snapshots = new Snapshots();
  const result = run(options, snapshots).finally(() => snapshots.end());
  async function* iterate(): AsyncGenerator<Snapshot, void, void> {
    // The reader gets the error below, however late it comes.
    result.catch(() => {});
    yield* snapshots;
    await result;
  }
  return Object.assign(result, { [Symbol.asyncIterator]: iterate });
}

async function run(options: LoadOptions, snapshots: Snapshots): Promise<LoadResult> {
  checkOptions(options, LOAD_OPTIONS);
  const { command, signal } = options;
  signal?.throwIfAborted();
  if (!command) return measure({ options, plan: await planOf(options), command: null, snapshots });

  // What cannot be run is refused before anything is started, though the port may not be known yet.
  const draft = await planOf(options, 'http://localhost');
  const { startCommand } = await import('../process/command.js');
  const server = await startCommand(command, {
    timeoutMs: DEFAULTS.commandTimeoutMs,
    ...(!draft.toCommand && { port: portOf(draft) }),
    ...(signal && { signal }),
  });
  try {
    const plan = draft.toCommand ? await planOf(options, urlOf(server)) : draft;
    return await measure({ options, plan, command: server, snapshots });
  } finally {
    await server.stop();
  }
}

function portOf({ native }: Plan): number {
  const origin = native.origins[0];
  if (origin && origin.unixPath === undefined) return origin.port;
  throw usageError(
    'a command and a Unix socket given; accepted: a command that listens on a TCP port',
  );
}

function urlOf({ host, port }: ServerProcess): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}
