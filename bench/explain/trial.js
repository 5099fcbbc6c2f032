// A trial of a case: explain examines the service, its remedy is measured, and doctor's rules are applied. The unchanged
// service is measured in between, which shows how much faster or slower the machine has become.
import { measureSteal } from '../harness/proc.js';
import { fits, watch } from './doctor/watch.js';
import { evaluateTrial, findPrediction, removedLimits } from './judge.js';
import { runMillrace } from './millrace.js';
import { evaluatePlaces } from './places.js';

/** Long enough for the slowest responses (3 s) to occur with their true frequency. */
const MEASURE_S = 8;
const LEVEL_S = 5;
const WARMUP_S = 2;
/** Maximum number of connections of a remedy. */
const MAX_CONNECTIONS = 5000;

/**
 * Runs a trial; resolves with `{ judged, places, explanation, failure, seconds, levels, stolen, doctor }`. `context` is
 * `{ cli, budgetSeconds, directory, doctor }`. The explanation is stored without its load result. `levels` is the throughput of
 * the unchanged service in requests per second: before and after the explanation and after the remedy, each `null` if it is not
 * compared with a prediction. `stolen` is the share of the wanted CPU time that the machine's host took, during the explanation
 * and until the rules of doctor were applied. `doctor` is `null` if the context does not ask for these rules.
 */
export async function runTrial(bench, context) {
  const inAll = measureSteal();
  const comparable = removedLimits(bench).length > 0;
  const before = comparable ? await measureLevel(bench, context) : null;
  const begin = performance.now();
  const inExplanation = measureSteal();
  const { explanation, failure } = await runExplain(bench, context);
  const seconds = (performance.now() - begin) / 1000;
  const explaining = inExplanation();
  const { measured, between, after } = await measureAfterwards(bench, explanation, context);
  const levels = { before, between, after };
  const stolen = { explaining, inAll: inAll() };
  const doctor = context.doctor ? await applyDoctor(bench, context) : null;
  return {
    judged: evaluateTrial(bench, explanation, {
      measured,
      drift: computeDrift(levels),
      stolen: explaining,
    }),
    places: evaluatePlaces(bench, explanation),
    explanation,
    failure,
    seconds,
    levels,
    stolen,
    doctor,
  };
}

/** Measures the remedy, and the unchanged service before and after it; each `null` if the explanation predicts nothing of it. */
async function measureAfterwards(bench, explanation, context) {
  const predicts =
    findPrediction(bench, explanation) && removedLimits(bench).includes(explanation.verdict.limit);
  if (!predicts) return { measured: null, between: null, after: null };
  const between = await measureLevel(bench, context);
  const measured = await measureRemedy(bench, explanation, context);
  return { measured, between, after: await measureLevel(bench, context) };
}

/** Determines the category that doctor's rules give the service under this load, and whether it fits an expected limit. */
async function applyDoctor(bench, context) {
  const load = (preload) => measure(bench, context, { preload });
  const category = await watch(load, context.directory);
  return { category, fits: fits(category, bench.expected) };
}

async function runExplain(bench, { cli, budgetSeconds, directory }) {
  const words = ['explain', '--budget', `${budgetSeconds}s`];
  try {
    const seconds = budgetSeconds;
    const { load, ...explanation } = await runMillrace(bench, words, { cli, seconds, directory });
    explanation.throughput = load.throughput;
    return { explanation, failure: null };
  } catch ({ message }) {
    return { explanation: null, failure: message };
  }
}

function measure(bench, { cli, directory }, { preload, measureS = MEASURE_S } = {}) {
  const words = ['-d', `${measureS}s`, '--warmup', `${WARMUP_S}s`];
  return runMillrace(bench, words, { cli, seconds: measureS + WARMUP_S, directory, preload });
}

/** Measures the completed requests per second of the unchanged service. */
async function measureLevel(bench, context) {
  const { throughput } = await measure(bench, context, { measureS: LEVEL_S });
  return throughput.mean;
}

/** Computes the ratio of the unchanged throughput at the remedy to that at the explanation. */
function computeDrift({ before, between, after }) {
  return before > 0 && between > 0 && after > 0 ? (between + after) / (before + between) : 1;
}

/** Measures the completed requests per second with the case's remedy. */
async function measureRemedy({ remedy, ...bench }, explanation, context) {
  const changed = { ...bench, ...remedy, env: { ...bench.env, ...remedy.env } };
  const knee = remedy.connections === 'knee' && explanation?.capacity.knee;
  if (knee) changed.flags = replaceConnections(changed.flags, knee);
  const { throughput } = await measure(changed, context);
  return throughput.mean;
}

function replaceConnections(flags, connections) {
  const at = flags.indexOf('-c') + 1;
  return flags.with(at, `${Math.min(Math.ceil(connections), MAX_CONNECTIONS)}`);
}
