import { count, rate, share, time } from '../../format/units.js';
import { changePoints } from '../../statistics/change-points.js';
import { toleranceOf } from '../../statistics/noise.js';
import { loopEvidence, loopLimit, mostThroughput } from '../hypotheses/event-loop/loop-capacity.js';
import { busyThread } from '../hypotheses/event-loop/queue.js';
import type { Hypothesis } from '../hypotheses/hypothesis.js';
import { starvedGenerator } from '../hypotheses/machine/generator.js';
import { isTheft } from '../hypotheses/machine/machine.js';
import type { Findings, RepeatedRemedy } from '../investigation-types.js';
import { stolenPart } from '../metrics/derive.js';
import type { Evidence, ExperimentResult, Explanation, HotFunction } from '../result.js';
import { hotOf, isAskedForLess, remediedThroughput, withoutHot } from './remedy-prediction.js';
import { requestBreakdown } from './request-breakdown.js';
import { type Finding, isSameCause, overlaps } from './verdict.js';

type Concluded = Omit<
  Explanation,
  'schemaVersion' | 'tool' | 'startedAt' | 'durationMs' | 'interrupted' | 'serverEnded'
>;

/** The explanation that follows from what was found out. */
export function conclude(found: Findings, cannotSee: string[]): Concluded {
  const { facts, finding, hypotheses, ruledOut, noise } = found;
  const { chosen } = finding;
  const singleMs = facts.unloadedLatencyMs;
  const bearable = mostThroughput(facts);
  const named = new Set([chosen, ...finding.also].map((suspect) => suspect?.limit));
  return {
    load: facts.base.load,
    verdict: {
      limit: chosen?.limit ?? null,
      status: finding.status,
      sentence: sentenceOf(found),
      arithmetic: [...overloadLine(facts), ...(chosen?.arithmetic ?? capacityLine(found))],
      alsoLimiting: finding.also.map(({ limit }) => limit),
    },
    population: requestBreakdown(facts),
    experiments: found.experiments.map((experiment) =>
      withExclusions(experiment, toleranceOf(noise)),
    ),
    evidence: [
      ...(chosen ? chosen.evidence : loopEvidence(facts)),
      ...(found.referenceThroughput === null
        ? []
        : loaded('a server that does nothing, under this load', found.referenceThroughput)),
      ...(found.repeatedRemedy ? repeated(found.repeatedRemedy) : []),
    ],
    ruledOut: [...finding.excluded, ...ruledOut].filter(({ limit }) => !named.has(limit)),
    remedy: chosen ? remedyOf(chosen, finding, found) : null,
    hot: found.hotFunctions,
    capacity: {
      points: found.capacityCurve,
      loopLimit: facts.connectionRamp?.loopLimit ?? loopLimit(facts),
      singleMs,
      knee: bearable !== null && singleMs !== null ? (bearable * singleMs) / 1000 : null,
    },
    noise,
    probeCost: found.probeCost,
    cannotSee: [
      ...cannotSee,
      ...found.skippedExperiments,
      ...redirected(found),
      ...besideTheLoop(found),
      ...takenByHost(found),
      ...stepsOf(found),
      ...unsettled(finding, hypotheses),
    ],
  };
}

function sentenceOf({ facts, finding }: Findings): string {
  const { chosen, status, also } = finding;
  if (chosen) return chosen.sentence;
  if (status === 'no-limit') {
    const busy = facts.loop ? `; the event loop is ${share(facts.loop.busy)} busy` : '';
    return `nothing limits at this load: all of ${rate(facts.throughput)} req/s are answered, in ${time(facts.responseMs)}${busy}.`;
  }
  if (facts.throughput === 0) {
    return `cannot tell: no request was answered in ${time(facts.base.load.durationMs)}; ${count(facts.inFlight)} wait for their response.`;
  }
  const open = also.map(({ limit }) => limit);
  if (open.length > 0) {
    return `cannot tell: what was seen fits ${open.join(' and ')}, and none was shown.`;
  }
  const seen = `${rate(facts.throughput)} req/s in ${time(facts.responseMs)} each`;
  const thread = busyThread(facts);
  if (thread) return `cannot tell: ${seen}; ${thread}, and what it does is not seen.`;
  const starving = starvedGenerator(facts);
  if (starving) return `cannot tell what the server can do: ${seen}; ${starving}.`;
  return `cannot tell: ${seen}, and no signal that was seen explains it.`;
}

function loaded(what: string, throughput: number): Evidence[] {
  return [{ what, value: throughput, unit: '1/s', source: 'load' }];
}

function repeated({ experiment, throughput }: RepeatedRemedy): Evidence[] {
  return loaded(`${experiment}, tried for longer and without the probe`, throughput);
}

/** Where the load is not the one that was asked for. */
function overloadLine({ overload, base }: Findings['facts']): string[] {
  if (overload === null) return [];
  const { connections } = base.load.plan;
  return [
    `of ${rate(overload.rate)} req/s asked for ${rate(overload.answered)} are answered: a queue grows; what follows is measured with ${count(connections)} connections in place of the rate`,
  ];
}

/** What the service could bear, by its CPU time per request. */
function capacityLine({ facts }: Findings): string[] {
  const most = loopLimit(facts);
  if (most === null || !facts.loop) return [];
  return [
    `${time(facts.loop.cpuMs)} of CPU per request: one loop gives about ${rate(most)} req/s at most`,
  ];
}

function remedyOf(
  chosen: Hypothesis,
  { also, excluded }: Finding,
  found: Findings,
): Explanation['remedy'] {
  const { remedy } = chosen;
  const predictedThroughput = remediedThroughput(chosen, found);
  const next = isAskedForLess(chosen, found)
    ? 'too-few-connections'
    : (remedy.nextLimit ?? also[0]?.limit ?? null);
  const hot = hotOf(chosen, found);
  return {
    change: `${withFunction(remedy.change, found, hot)}${withSecond(chosen, found)}`,
    predictedThroughput,
    // What an experiment has excluded is not announced.
    nextLimit: excluded.some(({ limit }) => limit === next) ? null : next,
    ...(remedy.settings && { settings: remedy.settings }),
  };
}

/** The remedy, and the function that it is about. */
function withFunction(change: string, found: Findings, hot: HotFunction | null): string {
  const { rootCauseFunction, finding, facts } = found;
  const { chosen } = finding;
  if (rootCauseFunction) return `it is ${functionName(rootCauseFunction)}: ${change}`;
  if (!hot || chosen?.limit !== 'event-loop-cpu') return change;
  const without = isAskedForLess(chosen, found)
    ? ''
    : `: without it ${rate(withoutHot(hot, facts.throughput))} req/s`;
  return `${functionName(hot)} takes ${share(hot.share)} of the loop's time${without}; ${change}`;
}

function functionName({ name, place }: HotFunction): string {
  if (place === '') return name;
  return name === '(anonymous)' ? `the function at ${place}` : `${name} (${place})`;
}

/** What a second process showed, where that says what to do. */
function withSecond({ limit, within }: Hypothesis, { experiments }: Findings): string {
  const tried = experiments.find(({ name }) => name === 'second process');
  if (!tried) return '';
  const { ratio, low, high } = tried.measured;
  const gave = `a second process beside the first gave x ${ratio.toFixed(2)}`;
  if (limit === 'serialized') {
    if (low > 1.4) return `; ${gave}: each has its own, so it lies in what the command starts`;
    return high < 1.4 ? `; ${gave}: it lies outside, in what both call` : '';
  }
  return limit === 'event-loop-cpu' || within === 'event-loop-cpu' ? `; ${gave}` : '';
}

function withExclusions(experiment: ExperimentResult, noise: number): ExperimentResult {
  const excludes = (
    Object.keys(experiment.predicted) as (keyof typeof experiment.predicted)[]
  ).filter((limit) => {
    const predicted = experiment.predicted[limit];
    return predicted !== undefined && !overlaps(experiment.measured, predicted, noise);
  });
  return { ...experiment, excludes };
}

/** What is loaded is then the answer that points elsewhere. */
function redirected({ facts }: Findings): string[] {
  const { status, headers } = facts.sample ?? {};
  if (status === undefined || status < 300 || status >= 400 || status === 304) return [];
  return [
    `what is behind the redirect (${status}) to ${headers?.location ?? 'elsewhere'}: load that URL`,
  ];
}

/** What may be the limit, and is not seen inside. */
function besideTheLoop({ facts, finding }: Findings): string[] {
  if (finding.status !== 'cannot-tell') return [];
  const thread = busyThread(facts);
  const starving = starvedGenerator(facts);
  return [
    ...(thread
      ? [
          `what is done there: ${thread}; a profile tells (node --cpu-prof of worker threads, else perf)`,
        ]
      : []),
    ...(starving
      ? [
          `what the server gives a generator with cores of its own (taskset, another machine): ${starving}`,
        ]
      : []),
  ];
}

/** What the host takes of the CPU time that is wanted, from which on it falsifies what is measured; of next to nothing any part is nothing. */
const TAKEN = 0.05;
const LEAST_WANTED = 0.2;

/** What is measured while the machine's host takes cores away holds for that time only. */
function takenByHost({ facts: { machine }, finding: { chosen, also } }: Findings): string[] {
  const isTold = [chosen, ...also].some((one) => one !== null && isTheft(one));
  if (!machine || isTold) return [];
  const { cpu } = machine;
  if (cpu.wanted < LEAST_WANTED || stolenPart(cpu) < TAKEN) return [];
  return [
    `what the server gives where it has its cores to itself: the machine's host took ${share(stolenPart(cpu))} of the CPU time that was wanted (steal)`,
  ];
}

/** Where throughput went to another level within the load as asked for, and stayed: its means are of neither. */
function stepsOf({ facts }: Findings): string[] {
  const { series, durationMs } = facts.base.load;
  const windowMs = durationMs / Math.max(1, series.length);
  const rates = series.map(({ completed }) => (completed * 1000) / windowMs);
  return changePoints(rates).map(
    ({ index, before, after }) =>
      `why throughput went from ${rate(before)} to ${rate(after)} req/s within the baseline, after ${time(index * windowMs)}`,
  );
}

/** Suspects that nothing contradicts, though another is the verdict. */
function unsettled({ status, chosen, also }: Finding, suspects: Hypothesis[]): string[] {
  if (status !== 'likely' || !chosen) return [];
  const rivals = also.filter(
    (suspect) => suspects.includes(suspect) && !isSameCause(suspect, chosen),
  );
  return rivals.map(
    ({ limit }) => `whether it is not ${limit}: no experiment here tells them apart`,
  );
}
