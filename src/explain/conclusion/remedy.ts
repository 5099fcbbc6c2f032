import { rate, share } from '../../format/units.js';
import type { Finding, Findings } from '../findings.js';
import type { Hypothesis } from '../hypotheses/hypothesis.js';
import { findTopOutsideNode } from '../profile/analyze.js';
import type { Explanation, HotFunction, RemedyAlternative } from '../result.js';
import { formatFunction, nameObjects } from './objects.js';
import { predictAlternatives } from './prediction/alternatives.js';
import {
  computeWithoutFunction,
  findHotFunction,
  isHotFunctionRemedy,
} from './prediction/hot-function.js';
import { predictOtherThreads } from './prediction/other-threads.js';
import {
  isLimitedByLoad,
  predictMoreProcesses,
  predictRemediedThroughput,
} from './prediction/remedy-prediction.js';
import { formatWaitPlace } from './waits.js';

/** Builds the remedy of the chosen limit, with what it is predicted to yield. */
export function buildRemedy(
  chosen: Hypothesis,
  { also, excluded }: Finding,
  found: Findings,
): Explanation['remedy'] {
  const { remedy } = chosen;
  const predictedThroughput = predictRemediedThroughput(chosen, found);
  const next = isLimitedByLoad(chosen, found)
    ? 'too-few-connections'
    : (remedy.nextLimit ?? also[0]?.limit ?? null);
  const alternatives = listAlternatives(chosen, found);
  const hot = findHotFunction(chosen, found);
  // What has a prediction of its own is told there.
  const isLessWork = isHotFunctionRemedy(chosen, found);
  const change = isLessWork ? SAVING : nameObjects(remedy.change, chosen.limit, found.allocations);
  const second = isLessWork ? '' : describeSecondProcess(chosen, found);
  return {
    change: `${addFunction(change, found, hot)}${second}${formatWaitPlace(chosen.limit, found.waits)}`,
    predictedThroughput,
    ...(alternatives.length > 0 && { alternatives }),
    // A limit that an experiment has excluded is not the next one.
    nextLimit: excluded.some(({ limit }) => limit === next) ? null : next,
    ...(remedy.predictedP99Ms && { predictedP99Ms: remedy.predictedP99Ms }),
    ...(remedy.settings && { settings: remedy.settings }),
  };
}

/** How the time of a function or of a call is saved. */
const SAVING =
  'do that less often, or reuse its result (the prediction is for a service without it)';

/** How the same work is done beside the loop. */
const IN_OTHER_THREADS =
  'do it on the idle cores: in worker threads, or by the asynchronous form of the call, if it has one (UV_THREADPOOL_SIZE threads, 4 by default)';

/** Lists further changes for the same limit, each with its prediction. */
function listAlternatives(chosen: Hypothesis, found: Findings): RemedyAlternative[] {
  const threads = predictOtherThreads(chosen, found);
  const processes = predictMoreProcesses(chosen, found);
  const tried = describeSecondProcess(chosen, found).replace('; ', ': ');
  const change = `more processes${tried || ' on the idle cores'}`;
  return [
    ...predictAlternatives(chosen, found),
    ...(threads ? [{ change: IN_OTHER_THREADS, predictedThroughput: threads }] : []),
    ...(processes ? [{ change, predictedThroughput: processes }] : []),
  ];
}

/** Adds the function that the remedy applies to. */
function addFunction(change: string, found: Findings, hot: HotFunction | null): string {
  const { rootCauseFunction, finding, metrics } = found;
  const { chosen } = finding;
  if (rootCauseFunction) return `the cause is ${formatFunction(rootCauseFunction)}: ${change}`;
  if (chosen?.limit !== 'event-loop-cpu') return change;
  const larger = describeLargestActivity(found.hotFunctions, hot);
  if (!hot) return larger ? `${larger}; ${change}` : change;
  // Where that is the remedy, its predicted range follows.
  const without =
    isHotFunctionRemedy(chosen, found) || isLimitedByLoad(chosen, found)
      ? ''
      : ` (without it: ${rate(computeWithoutFunction(hot, metrics.throughput))} req/s)`;
  const all = hot === found.dominantCall ? describeCallees(found) : '';
  const part = `${share(hot.share)}${larger ? '' : " of the loop's time"}${all}`;
  const own = `${formatFunction(hot)} takes ${part}${without}; ${change}`;
  return larger ? `${larger}; ${own}` : own;
}

/** Minimum share of a call's time in one function at which that function is named too. */
const MIN_CALLEE_SHARE = 0.3;

/** Describes what takes the time of the dominant call. */
function describeCallees({ hotFunctions, dominantCall }: Findings): string {
  const top = findTopOutsideNode(hotFunctions);
  const isPart = top && dominantCall && top.share < dominantCall.share;
  if (!isPart || top.share < MIN_CALLEE_SHARE * dominantCall.share)
    return ', with all that it calls';
  return `, with all that it calls (${share(top.share)} is ${top.name})`;
}

/** What may take less time, by the name that a profile gives to time outside functions. */
const ACTIVITY_ADVICE: Record<string, string> = {
  '(writing responses)':
    'smaller responses with fewer header fields, each in one write, or compressed and kept in front',
  '(garbage collector)': 'fewer and smaller objects per request',
};

/** Describes the activity outside functions that takes more of the loop's time than any function of the application. */
function describeLargestActivity(
  hotFunctions: HotFunction[],
  hot: HotFunction | null,
): string | null {
  const [largest] = hotFunctions
    .filter(({ name }) => name in ACTIVITY_ADVICE)
    .sort((a, b) => b.share - a.share);
  if (!largest || largest.share < MIN_ACTIVITY_SHARE || largest.share <= (hot?.share ?? 0))
    return null;
  const name = largest.name.slice(1, -1);
  return `${name} takes ${share(largest.share)} of the loop's time: ${ACTIVITY_ADVICE[largest.name]}`;
}

/** Minimum share of the loop's time at which an activity is mentioned. */
const MIN_ACTIVITY_SHARE = 0.2;

/** Describes the result of a second process, where it affects the remedy. */
function describeSecondProcess({ limit, causeOf }: Hypothesis, { experiments }: Findings): string {
  const tried = experiments.find(({ name }) => name === 'second-process');
  if (!tried) return '';
  const { ratio, low, high } = tried.measured;
  const result = `a second process yielded x ${ratio.toFixed(2)}`;
  if (limit === 'serialized') {
    if (low > 1.4) return `; ${result}: the limit is inside the process`;
    return high < 1.4
      ? `; ${result}: the limit is outside the process, in something that both use`
      : '';
  }
  return limit === 'event-loop-cpu' || causeOf === 'event-loop-cpu' ? `; ${result}` : '';
}
