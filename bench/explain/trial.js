// One trial of a case: explain looks at it, its remedy is measured, and doctor's rules look at it.
import { fits, watch } from './doctor/watch.js';
import { judge } from './judge.js';
import { millrace } from './millrace.js';

/** Long enough for the slowest answers (3 s) to come as often as they do. */
const MEASURE_S = 8;
const WARMUP_S = 2;
/** No more connections than this are tried, whatever explain says. */
const MOST_CONNECTIONS = 5000;

/**
 * Runs a trial: `{ judged, explanation, failure, seconds, doctor }`. `context` is `{ cli, budgetSeconds, directory }`.
 * Of the explanation everything is kept but the run that it rests on.
 */
export async function trial(bench, context) {
  const begin = performance.now();
  const { explanation, failure } = await explained(bench, context);
  const seconds = (performance.now() - begin) / 1000;
  const measured = await remedied(bench, explanation, context);
  const category = await watch((preload) => measure(bench, context, preload), context.directory);
  return {
    judged: judge(bench, explanation, measured),
    explanation,
    failure,
    seconds,
    doctor: { category, fits: fits(category, bench.expected) },
  };
}

async function explained(bench, { cli, budgetSeconds, directory }) {
  const words = ['explain', '--budget', `${budgetSeconds}s`];
  try {
    const seconds = budgetSeconds;
    const { load, ...explanation } = await millrace(bench, words, { cli, seconds, directory });
    explanation.throughput = load.throughput;
    return { explanation, failure: null };
  } catch ({ message }) {
    return { explanation: null, failure: message };
  }
}

function measure(bench, { cli, directory }, preload) {
  const words = ['-d', `${MEASURE_S}s`, '--warmup', `${WARMUP_S}s`];
  return millrace(bench, words, { cli, seconds: MEASURE_S + WARMUP_S, directory, preload });
}

/** Completed requests per second with the case's remedy, `null` where there is none. */
async function remedied({ remedy, ...bench }, explanation, context) {
  if (!remedy) return null;
  const changed = { ...bench, ...remedy };
  const knee = remedy.connections === 'knee' && explanation?.capacity.knee;
  if (knee) changed.flags = withConnections(changed.flags, knee);
  const { throughput } = await measure(changed, context);
  return throughput.mean;
}

function withConnections(flags, connections) {
  const at = flags.indexOf('-c') + 1;
  return flags.with(at, `${Math.min(Math.ceil(connections), MOST_CONNECTIONS)}`);
}
