import { factor } from '../../format/ratios.js';
import { count, rate, share, time } from '../../format/units.js';
import { findChangePoints } from '../../statistics/change-points.js';
import { limitTolerance } from '../../statistics/noise.js';
import { EXPERIMENT_LABELS } from '../experiment-names.js';
import { contradicts, isLargerEffect, listOwnPredictions } from '../experiments/agreement.js';
import type { Finding, Findings, RepeatedRemedy } from '../findings.js';
import {
  buildLoopEvidence,
  deriveLoopLimit,
  estimateMaxThroughput,
  SATURATED,
} from '../hypotheses/event-loop/loop-capacity.js';
import { describeBusyThread, describeTakenCores } from '../hypotheses/event-loop/queue.js';
import type { LimitId } from '../limit-ids.js';
import type { LimitText } from '../limits/limit.js';
import { LIMITS } from '../limits/limits.js';
import { describeStarvedGenerator } from '../limits/load/generator-saturated.js';
import { isStealHypothesis } from '../limits/machine/noisy-machine.js';
import { computeStealShare } from '../metrics/derive.js';
import type { ExperimentResult, ExplainEvidence, Explanation } from '../result.js';
import { buildCpuTimes } from './cpu-times.js';
import { buildRemedy } from './remedy.js';
import { deriveRequestBreakdown } from './request-breakdown.js';
import { deriveRequestShares, describeHeaviestRequest } from './request-shares.js';
import { findTellingExperiments } from './rivals.js';
import { concludeWaits } from './waits.js';

type Conclusion = Omit<
  Explanation,
  'schemaVersion' | 'tool' | 'startedAt' | 'durationMs' | 'interrupted' | 'serverEnded'
>;

/** Draws the conclusion from the findings. `notObserved` lists what could not be observed. */
export function conclude(found: Findings, notObserved: string[]): Conclusion {
  const { metrics, finding, ruledOut, noise } = found;
  const { chosen } = finding;
  const waits = concludeWaits(found);
  const singleMs = metrics.unloadedLatencyMs;
  const maxThroughput = estimateMaxThroughput(metrics);
  const named = new Set([chosen, ...finding.also].map((hypothesis) => hypothesis?.limit));
  return {
    load: metrics.base.load,
    verdict: {
      limit: chosen?.limit ?? null,
      status: finding.status,
      sentence: describeVerdict(found),
      arithmetic: [
        ...describeOverload(metrics),
        ...(chosen?.arithmetic ?? describeCapacity(found)),
      ],
      alsoLimiting: finding.also.map(({ limit }) => limit),
    },
    population: deriveRequestBreakdown(metrics),
    requests: deriveRequestShares(metrics),
    experiments: found.experiments.map((experiment) =>
      addExclusions(experiment, limitTolerance(noise)),
    ),
    evidence: [
      ...(chosen ? chosen.evidence : buildLoopEvidence(metrics)),
      ...(found.referenceThroughput === null
        ? []
        : buildLoadEvidence(
            'throughput of a server that does nothing, under this load',
            found.referenceThroughput,
          )),
      ...(found.repeatedRemedy ? buildRepeatEvidence(found.repeatedRemedy) : []),
    ],
    ruledOut: [...finding.excluded, ...ruledOut].filter(({ limit }) => !named.has(limit)),
    remedy: chosen ? buildRemedy(chosen, finding, found) : null,
    hot: found.hotFunctions,
    ...(found.cpu && { cpu: buildCpuTimes(found.cpu, found) }),
    ...(waits && { waits }),
    ...(found.allocations && { allocations: found.allocations }),
    capacity: {
      points: found.capacityCurve,
      loopLimit: metrics.connectionRamp?.loopLimit ?? deriveLoopLimit(metrics),
      singleMs,
      knee: maxThroughput !== null && singleMs !== null ? (maxThroughput * singleMs) / 1000 : null,
    },
    noise,
    probeCost: found.probeCost,
    cannotSee: [
      ...notObserved,
      ...found.skippedExperiments,
      ...describeRedirect(found),
      ...describeUnobserved(found),
      ...describeSteal(found),
      ...describeSteps(found),
      ...describeUnconfirmed(found),
      ...describeOpenRivals(finding, found.experiments),
      ...describeUntestedHandshakes(finding, found.experiments),
      ...describeVariation(finding),
    ],
  };
}

function describeVerdict({ metrics, finding }: Findings): string {
  const { chosen, status, also } = finding;
  if (chosen) return addHeaviestRequest(chosen.sentence, metrics);
  if (status === 'no-limit') {
    const busy = metrics.loop ? `; the event loop is ${share(metrics.loop.busy)} busy` : '';
    return `nothing limits the service at this load: it answers all ${rate(metrics.throughput)} req/s, in ${time(metrics.responseMs)} each${busy}.`;
  }
  if (metrics.throughput === 0) {
    return `cannot tell: no request was answered in ${time(metrics.base.load.durationMs)}; ${count(metrics.inFlight)} still wait for a response.`;
  }
  const varied = describeHidingVariation(finding.hiddenBy);
  if (varied) return `cannot tell: ${varied}.`;
  const open = also.map(({ limit }) => limit);
  if (open.length > 0) {
    return `cannot tell: the measurements fit ${open.join(' and ')}, and no experiment confirmed ${open.length === 1 ? 'it' : 'any of them'}.`;
  }
  const seen = `${rate(metrics.throughput)} req/s in ${time(metrics.responseMs)} each`;
  const thread = describeBusyThread(metrics);
  if (thread) return `cannot tell: ${seen}; ${thread}, and its work is not observed.`;
  const taken = describeTakenCores(metrics);
  if (taken) return `cannot tell: ${seen}; ${taken}.`;
  const starving = describeStarvedGenerator(metrics);
  if (starving) return `cannot tell what the server can do: ${seen}; ${starving}.`;
  return `cannot tell: ${seen}, and no measurement explains it.`;
}

/** Adds to the verdict which of several routes or requests takes most of the time. */
function addHeaviestRequest(sentence: string, metrics: Findings['metrics']): string {
  const isLoopBusy = metrics.loop !== null && metrics.loop.busy >= SATURATED;
  const heaviest = describeHeaviestRequest(deriveRequestShares(metrics), isLoopBusy);
  return heaviest ? `${sentence.replace(/\.$/, '')}; ${heaviest}.` : sentence;
}

function buildLoadEvidence(what: string, throughput: number): ExplainEvidence[] {
  return [{ what, value: throughput, unit: '1/s', source: 'load' }];
}

function buildRepeatEvidence({ experiment, throughput }: RepeatedRemedy): ExplainEvidence[] {
  return buildLoadEvidence(
    `throughput of '${experiment}', repeated for longer without the probe`,
    throughput,
  );
}

/** Describes that a closed load replaced a rate that the server does not sustain. */
function describeOverload({ overload, base }: Findings['metrics']): string[] {
  if (overload === null) return [];
  const { connections } = base.load.plan;
  return [
    `the server answers ${rate(overload.answered)} of the requested ${rate(overload.rate)} req/s, and a queue grows: the rest is measured with ${count(connections)} connections in place of the rate`,
  ];
}

/** Describes the capacity of the service by its CPU time per request. */
function describeCapacity({ metrics }: Findings): string[] {
  const loopLimit = deriveLoopLimit(metrics);
  if (loopLimit === null || !metrics.loop) return [];
  return [
    `${time(metrics.loop.cpuMs)} of CPU per request: at most about ${rate(loopLimit)} req/s per loop`,
  ];
}

function addExclusions(experiment: ExperimentResult, noise: number): ExperimentResult {
  const excludes = (
    Object.keys(experiment.predicted) as (keyof typeof experiment.predicted)[]
  ).filter((limit) => {
    const predicted = experiment.predicted[limit];
    return predicted !== undefined && contradicts(experiment, predicted, noise);
  });
  return { ...experiment, excludes };
}

/** Describes that only the redirect was loaded, if the server answers with one. */
function describeRedirect({ metrics }: Findings): string[] {
  const { status, headers } = metrics.sample ?? {};
  if (status === undefined || status < 300 || status >= 400 || status === 304) return [];
  return [
    `the target of the redirect (${status}) to ${headers?.location ?? 'elsewhere'}: load that URL to measure it`,
  ];
}

/** Describes busy threads that may be the limit but are not observed. */
function describeUnobserved({ metrics, finding }: Findings): string[] {
  if (finding.status !== 'cannot-tell') return [];
  const thread = describeBusyThread(metrics);
  const starving = describeStarvedGenerator(metrics);
  return [
    ...(thread
      ? [
          `the work of a busy thread: ${thread}; a profile shows it (node --cpu-prof for worker threads, else perf)`,
        ]
      : []),
    ...(starving
      ? [
          `throughput with a load generator that has its own cores (taskset, another machine): ${starving}`,
        ]
      : []),
  ];
}

/** Minimum share of steal that distorts measurements, and the minimum of wanted cores at which the share counts. */
const MIN_STEAL_SHARE = 0.05;
const MIN_WANTED_CORES = 0.2;

/** Describes steal: measurements taken meanwhile do not hold at other times. */
function describeSteal({ metrics: { machine }, finding: { chosen, also } }: Findings): string[] {
  const isReported = [chosen, ...also].some((one) => one !== null && isStealHypothesis(one));
  if (!machine || isReported) return [];
  const { cpu } = machine;
  if (cpu.wanted < MIN_WANTED_CORES || computeStealShare(cpu) < MIN_STEAL_SHARE) return [];
  return [
    `throughput on dedicated cores: the machine's host took ${share(computeStealShare(cpu))} of the wanted CPU time (steal)`,
  ];
}

/** Describes changes of the throughput level within the baseline, whose means apply to neither level. */
function describeSteps({ metrics, noise }: Findings): string[] {
  const { series, durationMs } = metrics.base.load;
  const windowMs = durationMs / Math.max(1, series.length);
  const rates = series.map(({ completed }) => (completed * 1000) / windowMs);
  const steps = findChangePoints(rates).filter(
    ({ before, after }) => Math.max(before, after) >= (1 + noise) * Math.min(before, after),
  );
  return steps.map(
    ({ index, before, after }) =>
      `why throughput changed from ${rate(before)} to ${rate(after)} req/s during the baseline, after ${time(index * windowMs)}`,
  );
}

/** Describes that opening connections was not told from the requests, if no experiment on connections was made. */
function describeUntestedHandshakes(
  { chosen, also }: Finding,
  experiments: ExperimentResult[],
): string[] {
  return [chosen, ...also].flatMap((hypothesis) => {
    const cost = hypothesis && LIMITS[hypothesis.limit].connectionCost;
    // A profile tells what outbound connections take.
    const isProfiled = hypothesis?.loopShare !== undefined;
    if (!cost || isProfiled || experiments.some(({ name }) => cost.experiments.includes(name)))
      return [];
    return [
      `how much of the time connections (${cost.words}) take, and how much the requests on them: no experiment on connections was made (${cost.experiments.join(', ')})`,
    ];
  });
}

/** Describes a variation of the unchanged load that hides the effects of the experiments; `null` if none does. */
function describeHidingVariation(hiddenBy: Finding['hiddenBy']): string | null {
  if (!hiddenBy) return null;
  const { lowest, highest } = hiddenBy;
  return `the same load was answered at ${rate(lowest)} to ${rate(highest)} req/s, and no experiment changed it much more than that`;
}

/** Describes what the variation of the unchanged load hides. */
function describeVariation({ hiddenBy, also }: Finding): string[] {
  const varied = describeHidingVariation(hiddenBy);
  if (!varied) return [];
  const suspects = also.map(({ limit }) => limit).join(', ');
  return [`whether the limit is one of ${suspects}: ${varied}; repeat it on a quiet machine`];
}

/** Describes what would confirm a verdict without rivals, where no experiment changed something as it predicts. */
function describeUnconfirmed({ finding, experiments }: Findings): string[] {
  const { status, chosen, rivals, hiddenBy } = finding;
  if (status !== 'likely' || !chosen || rivals.length > 0 || hiddenBy) return [];
  const own = listOwnPredictions(chosen);
  const made = experiments.find(({ name }) => own.has(name));
  const predicted = made && own.get(made.name);
  const [open] = own.keys();
  const whyNot = open
    ? `'${EXPERIMENT_LABELS[open]}', which would, was not made`
    : 'no experiment here changes it';
  const isLarger = made && predicted && isLargerEffect(made, predicted);
  const outcome = isLarger ? 'changed more than it predicts' : 'varied too much to confirm it';
  const why = made ? `'${EXPERIMENT_LABELS[made.name]}' ${outcome}` : whyNot;
  return [
    `a confirmation of ${chosen.limit}: its signs were measured, but ${why}; ${describeOwnChange(chosen.limit)}`,
  ];
}

/** Describes a change of the user's that would confirm a limit. */
function describeOwnChange(limit: LimitId): string {
  const { confirm } = LIMITS[limit].text as LimitText;
  return confirm ? `to confirm ${limit}, ${confirm}` : 'apply the remedy and measure again';
}

/** Describes the rivals of the verdict that nothing contradicts, and what would tell them apart. */
function describeOpenRivals(
  { chosen, rivals }: Finding,
  experiments: ExperimentResult[],
): string[] {
  if (!chosen) return [];
  const made = new Set(experiments.map(({ name }) => name));
  const untold: LimitId[] = [];
  const lines = rivals.flatMap((rival) => {
    const whether = `whether the limit is ${rival.limit} instead`;
    const telling = findTellingExperiments(chosen, rival);
    const [open] = telling.filter(({ name }) => !made.has(name));
    if (open) {
      const [own, others] = open.predicted.map(factor);
      return [
        `${whether}: '${EXPERIMENT_LABELS[open.name]}' would tell, for which ${chosen.limit} predicts ${own}, ${rival.limit} ${others}`,
      ];
    }
    const [unsure] = telling;
    if (unsure) {
      const name = EXPERIMENT_LABELS[unsure.name];
      return [`${whether}: '${name}' varied too much to tell; give it more time (--budget)`];
    }
    untold.push(rival.limit);
    return [];
  });
  if (untold.length === 0) return lines;
  const open = `whether the limit is ${untold.join(' or ')} instead: no experiment here tells`;
  const them = untold.length === 1 ? 'the two' : 'them';
  return [...lines, `${open} ${them} apart; ${describeOwnChange(chosen.limit)}`];
}
