import { rate, share, time } from '../report/units.js';
import type { Investigated } from './investigation.js';
import type { LimitId } from './limits.js';
import { populationOf } from './population.js';
import type { ExperimentResult, Explanation, HotFunction, Range } from './result.js';
import { changePoints } from './statistics/change-points.js';
import type { ExperimentName, Suspect } from './suspect.js';
import { loopEvidence, loopLimit, SATURATED, serverLimit } from './suspects/load.js';
import { MOST_TOLERANCE } from './trials.js';
import { type Finding, isKin, overlaps } from './verdict.js';

type Concluded = Omit<
  Explanation,
  'schemaVersion' | 'tool' | 'startedAt' | 'durationMs' | 'interrupted' | 'serverEnded'
>;

/** The explanation that follows from what was found out. */
export function conclude(found: Investigated, cannotSee: string[]): Concluded {
  const { facts, finding, suspects, acquitted, noise } = found;
  const { chosen } = finding;
  const singleMs = facts.singleMs;
  const bearable = serverLimit(facts);
  const named = new Set([chosen, ...finding.also].map((suspect) => suspect?.limit));
  return {
    load: facts.base.load,
    verdict: {
      limit: chosen?.limit ?? null,
      status: finding.status,
      sentence: sentenceOf(found),
      arithmetic: chosen?.arithmetic ?? capacityLine(found),
      alsoLimiting: finding.also.map(({ limit }) => limit),
    },
    population: populationOf(facts),
    experiments: found.experiments.map((experiment) =>
      withExclusions(experiment, Math.min(MOST_TOLERANCE, noise)),
    ),
    evidence: chosen ? chosen.evidence : loopEvidence(facts),
    ruledOut: [...finding.excluded, ...acquitted].filter(({ limit }) => !named.has(limit)),
    remedy: chosen ? remedyOf(chosen, finding, found) : null,
    hot: found.hot,
    capacity: {
      points: found.points,
      loopLimit: loopLimit(facts),
      singleMs,
      knee: bearable !== null && singleMs !== null ? (bearable * singleMs) / 1000 : null,
    },
    noise,
    probeCost: found.probeCost,
    cannotSee: [
      ...cannotSee,
      ...found.missed,
      ...redirected(found),
      ...stepsOf(found),
      ...unsettled(finding, suspects),
    ],
  };
}

function sentenceOf({ facts, finding }: Investigated): string {
  const { chosen, status, also } = finding;
  if (chosen) return chosen.sentence;
  if (status === 'no-limit') {
    const busy = facts.loop ? `; the event loop is ${share(facts.loop.busy)} busy` : '';
    return `nothing limits at this load: all of ${rate(facts.throughput)} req/s are answered, in ${time(facts.responseMs)}${busy}.`;
  }
  const open = also.map(({ limit }) => limit);
  return open.length > 0
    ? `cannot tell: what was seen fits ${open.join(' and ')}, and none was shown.`
    : `cannot tell: ${rate(facts.throughput)} req/s in ${time(facts.responseMs)} each, and no signal that was seen explains it.`;
}

/** What the service could bear, by its CPU time per request. */
function capacityLine({ facts }: Investigated): string[] {
  const most = loopLimit(facts);
  if (most === null || !facts.loop) return [];
  return [
    `${time(facts.loop.cpuMs)} of CPU per request: one loop gives about ${rate(most)} req/s at most`,
  ];
}

function remedyOf(chosen: Suspect, { also }: Finding, found: Investigated): Explanation['remedy'] {
  const { remedy } = chosen;
  const top = found.hot[0];
  const isLoop = chosen.limit === 'event-loop-cpu' || chosen.within === 'event-loop-cpu';
  const hot = isLoop && top && top.share >= 0.1 ? top : null;
  const then = hot ? found.facts.throughput / (1 - Math.min(0.95, hot.share)) : null;
  const without =
    then !== null && chosen.limit === 'event-loop-cpu'
      ? { low: then * 0.85, high: then * 1.15 }
      : null;
  return {
    change: `${withFunction(remedy.change, found, hot, then)}${withSecond(chosen, found)}`,
    predictedThroughput: withoutProbe(
      ordered(triedOut(chosen, found) ?? without ?? remedy.predictedThroughput),
      found,
    ),
    nextLimit: remedy.nextLimit ?? also[0]?.limit ?? null,
    ...(remedy.settings && { settings: remedy.settings }),
  };
}

/** The most that the probe is taken to hold back. */
const MOST_OF_PROBE = 0.2;

/** A loop that stays busy has the probe's time for its requests again when the probe is gone. */
function withoutProbe(range: Range | null, { facts, probeCost }: Investigated): Range | null {
  const held = 1 - (probeCost?.ratio ?? 1);
  if (!range || held <= 0 || !facts.loop || facts.loop.busy < SATURATED) return range;
  const without = (rate: number) =>
    rate / (1 - Math.min(MOST_OF_PROBE, (held * rate) / facts.throughput));
  return { low: without(range.low), high: without(range.high) };
}

/** Two bounds of different kinds may come out the other way round. */
function ordered(range: Range | null): Range | null {
  return range && { low: Math.min(range.low, range.high), high: Math.max(range.low, range.high) };
}

/** The remedy, and the function that it is about. */
function withFunction(
  change: string,
  { culprit, finding }: Investigated,
  hot: HotFunction | null,
  then: number | null,
): string {
  if (culprit) return `it is ${functionName(culprit)}: ${change}`;
  if (!hot || finding.chosen?.limit !== 'event-loop-cpu') return change;
  return `${functionName(hot)} takes ${share(hot.share)} of the loop's time: without it ${rate(then ?? 0)} req/s; ${change}`;
}

function functionName({ name, place }: HotFunction): string {
  if (place === '') return name;
  return name === '(anonymous)' ? `the function at ${place}` : `${name} (${place})`;
}

/** What a second process showed, where that says what to do. */
function withSecond({ limit, within }: Suspect, { experiments }: Investigated): string {
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

/** The experiments that are the remedy itself, for a while: what they gave is the best prediction. */
const REMEDIED_BY: Partial<Record<LimitId, ExperimentName>> = {
  'generator-saturated': 'two generators',
  'event-loop-cpu': 'second process',
  'single-core': 'second process',
  'gc-young': 'young generation x4',
  'gc-old': 'heap x2',
  compression: 'identity encoding',
  threadpool: 'thread pool x4',
  'slow-dependency': 'client deadline',
  'head-of-line': 'depth 1',
  'nagle-delayed-ack': 'early acknowledgement',
  'many-writes': 'writes corked',
  'connection-churn': 'keep-alive',
  'tls-handshake': 'tls kept',
};

/** Throughput after the remedy, if an experiment was that and helped. */
function triedOut({ limit }: Suspect, { facts, experiments }: Investigated): Range | null {
  const tried = experiments.find(({ name }) => name === REMEDIED_BY[limit]);
  if (!tried || tried.measured.ratio < 1.1) return null;
  const { low, high } = tried.measured;
  return { low: facts.throughput * Math.max(1, low), high: facts.throughput * high };
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
function redirected({ facts }: Investigated): string[] {
  const { status, headers } = facts.sample ?? {};
  if (status === undefined || status < 300 || status >= 400 || status === 304) return [];
  return [
    `what is behind the redirect (${status}) to ${headers?.location ?? 'elsewhere'}: load that URL`,
  ];
}

/** Where throughput went to another level within the load as asked for, and stayed: its means are of neither. */
function stepsOf({ facts }: Investigated): string[] {
  const { series, durationMs } = facts.base.load;
  const windowMs = durationMs / Math.max(1, series.length);
  const rates = series.map(({ completed }) => (completed * 1000) / windowMs);
  return changePoints(rates).map(
    ({ index, before, after }) =>
      `why throughput went from ${rate(before)} to ${rate(after)} req/s within the baseline, after ${time(index * windowMs)}`,
  );
}

/** Suspects that nothing contradicts, though another is the verdict. */
function unsettled({ status, chosen, also }: Finding, suspects: Suspect[]): string[] {
  if (status !== 'likely' || !chosen) return [];
  const rivals = also.filter((suspect) => suspects.includes(suspect) && !isKin(suspect, chosen));
  return rivals.map(
    ({ limit }) => `whether it is not ${limit}: no experiment here tells them apart`,
  );
}
