// What clinic doctor would say of a server under load.
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { diagnose } from './rules.js';

const sampler = fileURLToPath(new URL('sampler.js', import.meta.url));

/** The limits that fit a category of doctor's. `performance` is right where the server is not at fault. */
const FITTING = {
  performance: [
    ...['no-limit', 'too-few-connections', 'generator-saturated', 'shared-cores', 'errors'],
    ...['noisy-machine', 'cpu-quota', 'bandwidth', 'keep-alive-race'],
  ],
  gc: ['gc-young', 'gc-old', 'memory-growth'],
  'event-loop': [
    ...['event-loop-cpu', 'event-loop-blocked', 'event-loop-sync-wait', 'single-core'],
    ...['worker-imbalance', 'compression', 'logging', 'degrades-over-time', 'idle-work'],
    ...['many-writes', 'connection-churn', 'accept-rate', 'listen-backlog', 'tls-handshake'],
  ],
  io: [
    ...['threadpool', 'outbound-pool', 'slow-dependency', 'saturated-dependency', 'serialized'],
    ...['head-of-line', 'nagle-delayed-ack', 'disk', 'ephemeral-ports', 'fd-limit'],
  ],
  unknown: [],
};

/** Whether a category fits one of the limits. */
export const fits = (category, limits) => limits.some((limit) => FITTING[category].includes(limit));

/**
 * Calls `load(preload)` with what the server's environment needs to be watched, and gives doctor's category for the time
 * of the measurement of the result (of `millrace load`) that it resolves to.
 */
export async function watch(load, directory) {
  const file = join(directory, 'samples');
  rmSync(file, { force: true });
  const { startedAt, durationMs } = await load({
    NODE_OPTIONS: `--import ${sampler}`,
    MILLRACE_BENCH_SAMPLES: file,
  });
  if (!existsSync(file)) return 'unknown';
  const batches = readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  if (batches.some(({ cluster }) => cluster)) return 'unknown';
  const begin = Date.parse(startedAt);
  const within = ({ tMs }) => tMs >= begin && tMs <= begin + durationMs;
  const all = (key) => batches.flatMap((batch) => batch[key]).filter(within);
  return diagnose(all('samples'), all('collections'));
}
