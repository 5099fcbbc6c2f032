// Records runs of two servers of which the second takes 5 % longer per request, in the order A B B A, each with a process
// of its own. Runs have no warm-up of their own: comparisons of several designs are cut out of their windows.
import { fileURLToPath } from 'node:url';
import { load } from '../../dist/load/load.js';
import { readMachineBusySeconds } from '../proc.js';
import { computeMedian } from '../statistics.js';

const SERVER = fileURLToPath(new URL('server.js', import.meta.url));
/** Work of A per request: a few times what HTTP takes, as in a service that does something. */
const UNITS = 100_000;
/** Work of the servers that calibrate, relative to that. */
const CALIBRATION = [1, 2];
/** Runs of each of them, and their length. */
const CALIBRATION_RUNS = 6;
const CALIBRATION_SECONDS = 2;
export const CONNECTIONS = 50;

/**
 * Measures what a unit of work takes, and returns the units of B with which a request takes `slowdown` longer in total
 * than one of A: `{ a, b }`.
 */
export async function calibrate(slowdown, progress) {
  const times = CALIBRATION.map(() => []);
  for (let run = 0; run < CALIBRATION_RUNS; run++) {
    for (const [i, factor] of CALIBRATION.entries()) {
      progress(`calibration ${run + 1}/${CALIBRATION_RUNS}`);
      const { throughput } = await runOnce(UNITS * factor, CALIBRATION_SECONDS);
      times[i].push(1 / throughput);
    }
  }
  const [single, double] = times.map(computeMedian);
  const unit = (double - single) / UNITS;
  return { a: UNITS, b: Math.round(UNITS + (slowdown * single) / unit) };
}

/** Records `count` runs of `seconds` each, A B B A; `onRun` gets them one by one. */
export async function record({ units, count, seconds, onRun, progress }) {
  const runs = [];
  for (let number = 0; number < count; number++) {
    progress(`run ${number + 1}/${count}`);
    const side = [0, 3].includes(number % 4) ? 'a' : 'b';
    runs.push({ number, side, ...(await runOnce(units[side], seconds)) });
    onRun(runs);
  }
  return runs;
}

/** Runs a server once. `completed` are the responses per window of 100 ms, `spentMs` is the time with start and stop. */
async function runOnce(units, seconds) {
  const [busy, started] = [readMachineBusySeconds(), performance.now()];
  const { series, throughput, generator, server, durationMs } = await load({
    command: [process.execPath, SERVER, String(units)],
    connections: CONNECTIONS,
    duration: `${seconds}s`,
  });
  const spentMs = performance.now() - started;
  return {
    throughput: throughput.mean,
    completed: series.map(({ completed }) => completed),
    p99Ms: series.map(({ p99Ms }) => p99Ms),
    cpu: server?.cpuMean ?? null,
    clientBound: generator.clientBound,
    starved: generator.starved,
    durationMs,
    spentMs,
    busyCores: ((readMachineBusySeconds() - busy) * 1000) / spentMs,
  };
}
