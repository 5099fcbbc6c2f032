import { factor } from '../../format/ratios.js';
import { bytes, plural, rate, share, time } from '../../format/units.js';
import { deriveRequestBreakdown } from '../conclusion/request-breakdown.js';
import { decideVerdict } from '../conclusion/verdict.js';
import { findWaitQueue, type WaitQueue } from '../conclusion/waits.js';
import { EXPERIMENT_LABELS, type ExperimentName } from '../experiment-names.js';
import { listOwnPredictions } from '../experiments/agreement.js';
import { DEPENDENCY_EXPERIMENTS } from '../experiments/dependency-experiments.js';
import { buildLoopEvidence } from '../hypotheses/event-loop/loop-capacity.js';
import { describeBusyLoop, MIN_QUEUEING_STRETCH } from '../hypotheses/event-loop/queue.js';
import type { History } from '../hypotheses/history.js';
import type { Hypothesis } from '../hypotheses/hypothesis.js';
import { evaluateHypotheses } from '../limits/evaluate.js';
import type { Limit } from '../limits/limit.js';
import { LIMITS } from '../limits/limits.js';
import { findMainDependency } from '../metrics/derive.js';
import type { Metrics } from '../metrics/types.js';
import type { ObservedWaits } from '../waits/waits-graph.js';
import type { WatchMemory } from './memory.js';
import type { WatchReport } from './result.js';
import type { Until } from './until.js';

/** What a window says about the limit. */
export type Judgement = Pick<
  WatchReport,
  'verdict' | 'remedy' | 'confirmation' | 'population' | 'evidence'
>;

/** Minimum number of responses for a verdict. */
const MIN_RESPONSES = 5;
/** Tolerance for experiments; a watch makes none. */
const NO_NOISE = 0;

/**
 * Judges a window by the detectors of explain. Without an experiment nothing is confirmed.
 *
 * @param waits what requests wait for; `null` if that was not observed
 * @param growing the heap after the first and the last full collection, if there are too few to tell whether it keeps growing
 */
export function judgeWindow(
  metrics: Metrics,
  history: History,
  waits: ObservedWaits | null = null,
  growing: WatchMemory['growing'] = null,
): Judgement {
  const all = evaluateHypotheses(metrics, history).hypotheses;
  // Nothing limits the throughput of a service that is without a request for most of the time.
  const isIdle = metrics.inFlight < 1;
  const hypotheses = isIdle ? all.filter(({ limit }) => matters(LIMITS[limit])) : all;
  const { chosen, also } = decideVerdict(metrics, hypotheses, [], NO_NOISE);
  const evidence = {
    population: deriveRequestBreakdown(metrics),
    evidence: chosen?.evidence ?? buildLoopEvidence(metrics),
  };
  if (chosen && hasEnoughResponses(metrics, chosen)) {
    return {
      verdict: {
        limit: chosen.limit,
        status: 'likely',
        sentence: chosen.sentence,
        arithmetic: chosen.arithmetic,
        alsoLimiting: also.map(({ limit }) => limit),
      },
      remedy: chosen.remedy.change,
      confirmation: describeConfirmation(chosen),
      ...evidence,
    };
  }
  const unlimited = describeNoLimit(metrics);
  const queue = unlimited.verdict.status === 'cannot-tell' && waits && findWaitQueue(waits);
  if (queue) return { ...describeQueue(queue), ...evidence };
  return { ...(growing ? addGrowth(unlimited, growing) : unlimited), ...evidence };
}

/** Whether a limit matters at a rate that the service sustains. */
function matters({ mattersAtSustainedRate }: Limit): boolean {
  return mattersAtSustainedRate === true;
}

/** Whether there are enough responses for means. A process that has ended is a finding without any. */
function hasEnoughResponses({ base }: Metrics, { limit, weight }: Hypothesis): boolean {
  const { ok, statusErrors } = base.load.requests;
  const isFatal = limit === 'memory-growth' && weight >= 1;
  if (isFatal || LIMITS[limit].isSevere === true) return true;
  // What is certain is so with one response too.
  return ok + statusErrors >= (weight >= 1 ? 1 : MIN_RESPONSES);
}

/** Describes the experiment that would confirm a limit, or the change that would. */
function describeConfirmation(chosen: Hypothesis): string {
  const { remedyExperiments = [], text }: Limit = LIMITS[chosen.limit];
  const own = listOwnPredictions(chosen);
  const remedies = remedyExperiments.map(({ experiment }) => experiment);
  const candidates = [...remedies.filter((name) => own.has(name)), ...own.keys()];
  // What needs no permission comes first.
  const name = candidates.find((one) => !needsFlag(one)) ?? candidates[0] ?? null;
  const predicted = name === null ? undefined : own.get(name);
  if (name === null || predicted === undefined) {
    return (
      text.confirm ??
      'no experiment tests this limit by itself: make the change in one instance and compare it with the others'
    );
  }
  const flag = needsFlag(name) ? ' --allow-dependency-experiments' : '';
  return `the experiment '${EXPERIMENT_LABELS[name]}' of millrace explain${flag} -- COMMAND, on a server that is not in production: predicted ${factor(predicted)}`;
}

/** Whether an experiment changes calls to other services, which the user has to permit. */
function needsFlag(name: ExperimentName): boolean {
  return DEPENDENCY_EXPERIMENTS.some((experiment) => experiment.name === name);
}

/**
 * Evaluates a window in which a condition became true. `no-limit` describes the mean, but a few requests can fulfil a condition
 * on response times or errors.
 */
export function judgeCondition(
  verdict: Judgement['verdict'],
  { text, isOfRate }: Until,
): Judgement['verdict'] {
  if (verdict.status !== 'no-limit' || isOfRate) return verdict;
  const sentence = `cannot tell why ${text}; on average, ${verdict.sentence}`;
  return { ...verdict, status: 'cannot-tell', sentence };
}

/** Describes a limit by the queue in which requests wait, where nothing else shows it. */
function describeQueue({ limit, of, share: part }: WaitQueue): Unlimited {
  const { text }: Limit = LIMITS[limit];
  const what =
    limit === 'outbound-pool'
      ? 'requests wait for a connection'
      : 'requests are admitted a few at a time';
  return {
    verdict: {
      limit,
      status: 'likely',
      sentence: `${what} (${of}): ${share(part)} of the waiting requests are in that queue.`,
      arithmetic: [],
      alsoLimiting: [],
    },
    remedy: text.remedy.replace(/\.$/, ''),
    confirmation: text.confirm ?? null,
  };
}

type Unlimited = Pick<Judgement, 'verdict' | 'remedy' | 'confirmation'>;

/** Describes a window in which no limit was seen: nothing limits, or it cannot be told. */
function describeNoLimit(metrics: Metrics): Unlimited {
  const { base, throughput, inFlight, responseMs, unloadedLatencyMs, loop } = metrics;
  const answered = base.load.requests.ok + base.load.requests.statusErrors;
  const seen = `${rate(throughput)} req/s in ${time(responseMs)} each`;
  const busy = loop ? `; the event loop is ${share(loop.busy)} busy` : '';
  if (answered < MIN_RESPONSES) {
    const waiting = inFlight >= 0.5;
    return unlimited(
      waiting ? 'cannot-tell' : 'no-limit',
      `${waiting ? 'cannot tell' : 'no limit is seen'}: ${plural(answered, 'response')} in ${time(base.load.durationMs)}${waiting ? `; ${inFlight.toFixed(1)} requests wait` : ''}.`,
    );
  }
  const isBusy = describeBusyLoop(metrics) !== null;
  const isShort = inFlight <= Math.max(1, base.inside?.processes ?? 1);
  const stretch = unloadedLatencyMs ? responseMs / unloadedLatencyMs : null;
  if (!isBusy && (isShort || (stretch !== null && stretch < MIN_QUEUEING_STRETCH))) {
    const quiet =
      stretch === null || stretch < MIN_REPORTED_STRETCH
        ? ''
        : `, and ${time(unloadedLatencyMs)} in the quietest window`;
    return unlimited(
      'no-limit',
      `nothing limits the service: it answers ${seen}${quiet}${busy}${describeWait(metrics)}.`,
    );
  }
  const why =
    stretch === null
      ? `${inFlight.toFixed(1)} requests are in flight, and it is not known whether they queue: no window with hardly overlapping requests has been observed yet`
      : `requests take ${stretch.toFixed(1)} times as long as in the quietest window (${time(unloadedLatencyMs)}), and no limit explains it`;
  return unlimited('cannot-tell', `cannot tell: ${seen}${busy}; ${why}${describeWait(metrics)}.`);
}

/** Minimum ratio to the response time of the quietest window at which that time is reported. */
const MIN_REPORTED_STRETCH = 1.1;

/** Describes what most requests wait for. */
function describeWait(metrics: Metrics): string {
  const call = findMainDependency(metrics);
  if (!call || call.answering < 0.5 * metrics.inFlight) return '';
  return `; most of the time they wait for ${call.origin} (${time(call.answerP50Ms)} median, ${time(call.answerP99Ms)} p99)`;
}

/** Adds that the heap has grown: then it cannot be told whether nothing limits the service. */
function addGrowth(
  { verdict, ...others }: Unlimited,
  { fromBytes, toBytes }: NonNullable<WatchMemory['growing']>,
): Unlimited {
  const grown = `the heap after full collections has grown from ${bytes(fromBytes)} to ${bytes(toBytes)}; a few more collections will show whether it keeps growing`;
  const sentence = `${verdict.sentence.replace(/^nothing limits the service/, 'nothing else limits the service').replace(/\.$/, '')}; ${grown}.`;
  return { ...others, verdict: { ...verdict, status: 'cannot-tell', sentence } };
}

function unlimited(status: 'cannot-tell' | 'no-limit', sentence: string): Unlimited {
  return {
    verdict: { limit: null, status, sentence, arithmetic: [], alsoLimiting: [] },
    remedy: null,
    confirmation: null,
  };
}
