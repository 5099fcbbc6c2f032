// Records runs of two servers of which B takes longer per request, in the order A B B A, each with a process of its own.
// The runs have no warm-up: comparisons of several designs are cut out of their windows, see designs.js.
import { fileURLToPath } from 'node:url';
import { load } from '../../dist/load/load.js';
import { readMachineBusySeconds } from '../harness/proc.js';
import { computeMedian } from '../harness/statistics.js';

const SERVER = fileURLToPath(new URL('server.js', import.meta.url));
/** The load of every run. */
export const CONNECTIONS = 10;
/** Work of A per request: a few times what HTTP takes, as in a service that does something. */
const UNITS = 100_000;
/** Runs of each server that calibrates, and their length. */
const CALIBRATION_RUNS = 6;
const CALIBRATION_SECONDS = 2;

/**
 * Finds the units of work with which a request takes `slowdown` longer in total, from the servers with single and double
 * work: `{ a, b }`. Time is CPU time per request, which is all the time that a server takes whose one thread is always
 * busy, and which other processes hardly change.
 */
export async function calibrate(slowdown, progress) {
  const [single, double] = [[], []];
  for (let run = 0; run < CALIBRATION_RUNS; run++) {
    progress(`calibration ${run + 1}/${CALIBRATION_RUNS}`);
    single.push((await runOnce(UNITS, CALIBRATION_SECONDS)).cpuUs);
    double.push((await runOnce(2 * UNITS, CALIBRATION_SECONDS)).cpuUs);
  }
  const total = computeMedian(single);
  const perUnit = (computeMedian(double) - total) / UNITS;
  return { a: UNITS, b: Math.round(UNITS + (slowdown * total) / perUnit) };
}

/** Builds the command of a server that does these units of work per request. */
export function buildCommand(units) {
  return [process.execPath, SERVER, String(units)];
}

/** Records `count` runs of `seconds` each in the order A B B A. */
export async function record({ units, count, seconds, progress }) {
  const runs = [];
  for (let number = 0; number < count; number++) {
    progress(`run ${number + 1}/${count}`);
    const side = number % 4 === 0 || number % 4 === 3 ? 'a' : 'b';
    runs.push({ side, ...(await runOnce(units[side], seconds)) });
  }
  return runs;
}

/**
 * Runs a server once. `completed` are the responses per window of 100 ms; `spentMs` includes start and stop; `others` is
 * what other processes used, in cores.
 */
async function runOnce(units, seconds) {
  const [busy, started] = [readMachineBusySeconds(), performance.now()];
  const own = process.cpuUsage();
  const { series, throughput, generator, server, durationMs } = await load({
    command: buildCommand(units),
    connections: CONNECTIONS,
    duration: `${seconds}s`,
  });
  const spentMs = performance.now() - started;
  const { user, system } = process.cpuUsage(own);
  const ownSeconds = (user + system) / 1e6 + (server.cpuMean * durationMs) / 1000;
  const others = (readMachineBusySeconds() - busy - ownSeconds) / (spentMs / 1000);
  return {
    throughput: throughput.mean,
    cpuUs: (server.cpuMean * 1e6) / throughput.mean,
    completed: series.map(({ completed }) => completed),
    clientBound: generator.clientBound,
    durationMs,
    spentMs,
    others: Math.max(0, others),
  };
}
