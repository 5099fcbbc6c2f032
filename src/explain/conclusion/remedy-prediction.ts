import type { Range } from '../../statistics/types.js';
import type { ExperimentName } from '../experiments/types.js';
import { SATURATED } from '../hypotheses/event-loop/loop-capacity.js';
import { about, type Hypothesis, times } from '../hypotheses/hypothesis.js';
import type { Findings } from '../investigation-types.js';
import type { LimitId } from '../limits/ids.js';
import { working } from '../metrics/derive.js';
import { topOutsideNode } from '../profile/analyze.js';
import type { ExperimentResult, HotFunction } from '../result.js';

/** How an experiment stands to the remedy of a limit. */
interface Trial {
  experiment: ExperimentName;
  /** It is a part of the remedy, which gives no less. */
  part?: true;
  /** It does the same in another way, which may cost less. */
  standsIn?: true;
}

/** The experiments that are the remedy itself, for a while: what they gave is the best prediction. */
const REMEDIED_BY: Partial<Record<LimitId, Trial | Trial[]>> = {
  'generator-saturated': { experiment: 'two generators' },
  'event-loop-cpu': { experiment: 'second process' },
  'single-core': { experiment: 'second process' },
  'gc-young': { experiment: 'young generation x4' },
  'gc-old': { experiment: 'heap x2', part: true },
  compression: { experiment: 'identity encoding' },
  threadpool: { experiment: 'thread pool x4' },
  'slow-dependency': { experiment: 'client deadline' },
  'head-of-line': { experiment: 'depth 1' },
  // Nagle still collects what comes before the acknowledgement.
  'nagle-delayed-ack': [
    { experiment: 'early acknowledgement', standsIn: true },
    { experiment: 'questions at once' },
  ],
  // The parts are collected by the stream, after all that each of them costs before.
  'many-writes': { experiment: 'writes corked', part: true },
  // Formatted all the same.
  logging: { experiment: 'output muted', part: true },
  'connection-churn': { experiment: 'keep-alive' },
  'tls-handshake': { experiment: 'tls kept' },
};

/** Whose remedy is more processes, or another load: they are not bound to what one idle server can give. */
const MORE_THAN_ONE = new Set<LimitId>([
  'event-loop-cpu',
  'single-core',
  'worker-imbalance',
  'shared-cores',
  'generator-saturated',
  'cpu-quota',
]);
/** Whose remedy is less time of the loop for the same requests: what they wait for beside it stays. */
const OF_THE_LOOP = new Set<LimitId>([
  'event-loop-cpu',
  'event-loop-blocked',
  'event-loop-sync-wait',
  'gc-young',
  'gc-old',
  'logging',
  'degrades-over-time',
  'idle-work',
]);
/** A wait of a single request that is shorter is that for wake-ups, which a busy loop does not have. */
const WAITS_MS = 1;
/** Where requests wait as long as the load lets them, some queue for the loop all the same. */
const NEAR_BOUND = 0.8;
/** One run of a server differs from another by so much, and where its blocks do by more, by so much at most. */
const [DIFFERENT, MOST_NOISE] = [0.08, 0.2];
/** A prediction beyond so many times what there is, or as wide, is held against a server that does nothing. */
const FAR = 2;

/** Throughput after the remedy: by the experiment that was the remedy, else by what the limit's own arithmetic says. */
export function remediedThroughput(chosen: Hypothesis, found: Findings): Range | null {
  const range = unasked(chosen, found);
  const most = mostAskedFor(chosen, found);
  if (!range || most === null) return range;
  const bounded = { low: Math.min(range.low, NEAR_BOUND * most), high: Math.min(range.high, most) };
  return atLeast(bounded, whenRepeated(chosen.limit, found));
}

/** Whether the server could give more after the remedy than the load asks for. */
export function isAskedForLess(chosen: Hypothesis, found: Findings): boolean {
  const range = unasked(chosen, found);
  const most = mostAskedFor(chosen, found);
  return range !== null && most !== null && (range.low + range.high) / 2 >= most;
}

/** The same for a load that asks for more and more. */
function unasked(chosen: Hypothesis, found: Findings): Range | null {
  const repeated = whenRepeated(chosen.limit, found);
  if (repeated && !isPart(chosen.limit)) return repeated;
  const said = capped(uncapped(chosen, found), found);
  return said && atLeast(said, repeated);
}

/** A part of the remedy gave that much. */
function atLeast({ low, high }: Range, given: Range | null): Range {
  if (!given) return { low, high };
  return { low: Math.max(low, given.low), high: Math.max(high, given.high) };
}

/** What the remedy gave for longer. Where that was less than in short blocks, it may be either. */
function whenRepeated(limit: LimitId, found: Findings): Range | null {
  const { repeatedRemedy, noise } = found;
  const pairs = triedOut(limit, found);
  if (!repeatedRemedy || !pairs) return null;
  const { low, high } = about(
    repeatedRemedy.throughput,
    Math.min(MOST_NOISE, Math.max(DIFFERENT, noise)),
  );
  return { low, high: repeatedRemedy.throughput < pairs.low ? Math.max(high, pairs.high) : high };
}

/** The experiment that was the remedy, where it gave so much more that it is worth to be tried for longer. */
export function remedyWorthRepeating(found: Findings): ExperimentName | null {
  const { chosen } = found.finding;
  if (!chosen) return null;
  const tried = remedyTried(chosen.limit, found);
  if (tried?.metric !== 'throughput' || tried.measured.ratio < FAR) return null;
  const trial = trialOf(chosen.limit, found);
  return trial && !trial.standsIn ? trial.experiment : null;
}

/** The one of them that was made; of several that gave most. */
function trialOf(limit: LimitId, { experiments }: Findings): Trial | undefined {
  const gave = ({ experiment }: Trial) =>
    experiments.find(({ name }) => name === experiment)?.measured.ratio ?? null;
  const made = [REMEDIED_BY[limit] ?? []].flat().filter((trial) => gave(trial) !== null);
  return made.sort((a, b) => (gave(b) ?? 0) - (gave(a) ?? 0))[0];
}

/** Whether the experiment is a part of the remedy only. */
function isPart(limit: LimitId): boolean {
  return [REMEDIED_BY[limit] ?? []].flat().some(({ part }) => part);
}

/**
 * The most that the load asks for once the loop has time: N requests that wait for something else meanwhile give N / (R + Z), where R is
 * what a single one waits beside the loop (the asymptotic bound of a closed load). `null`: nothing is known to bound it, or an experiment
 * has shown what there is then.
 */
function mostAskedFor(chosen: Hypothesis, found: Findings): number | null {
  const { facts, level } = found;
  const { single, unloadedLatencyMs, maxConcurrency, model, loop, overload } = facts;
  const busy = single?.inside?.busyLoops ?? null;
  const isFree = model === 'open' || overload !== null || !OF_THE_LOOP.has(chosen.limit);
  if (isFree || unloadedLatencyMs === null || busy === null || !loop || loop.busy < SATURATED)
    return null;
  if (remedyTried(chosen.limit, found) && !isPart(chosen.limit)) return null;
  // What holds the loop while it waits goes on beside it.
  const isHeld = chosen.limit === 'event-loop-sync-wait';
  const heldMs = isHeld ? (1000 * loop.waiting * working(facts.base).length) / facts.throughput : 0;
  const waitMs = unloadedLatencyMs * Math.max(0, 1 - busy) + heldMs;
  if (waitMs < WAITS_MS) return null;
  const most = (maxConcurrency * 1000) / (waitMs + facts.base.load.plan.thinkTimeMs);
  // A single request may wait for what many do not, as an acknowledgement that is delayed.
  return most > Math.max(facts.throughput, level) ? most : null;
}

function saidThroughput(chosen: Hypothesis, found: Findings): Range | null {
  const { predictedThroughput } = chosen.remedy;
  const tried = triedOut(chosen.limit, found);
  if (tried && isPart(chosen.limit) && predictedThroughput) {
    return {
      low: Math.max(tried.low, predictedThroughput.low),
      high: Math.max(tried.high, predictedThroughput.high),
    };
  }
  if (tried) return tried;
  const hot = isWithoutHot(chosen, found) ? hotOf(chosen, found) : null;
  return hot ? about(withoutHot(hot, found.facts.throughput), 0.15) : predictedThroughput;
}

/** What is said of the first block with the probe, for the level of all blocks without it. */
function uncapped(chosen: Hypothesis, found: Findings): Range | null {
  const range = ordered(saidThroughput(chosen, found));
  return withoutProbe(atLevel(range, found), chosen, found);
}

/** Whether what is promised is that of the same loop without its most costly function. */
function isWithoutHot(chosen: Hypothesis, found: Findings): boolean {
  const { limit } = chosen;
  return limit === 'event-loop-cpu' && !remedyTried(limit, found) && hotOf(chosen, found) !== null;
}

/** Whether it is worth to know what a server that does nothing would give. */
export function exceedsReference(chosen: Hypothesis, found: Findings): boolean {
  const range = uncapped(chosen, found);
  const { facts } = found;
  if (!range || MORE_THAN_ONE.has(chosen.limit) || facts.model === 'open') return false;
  if (found.repeatedRemedy !== null && !isPart(chosen.limit)) return false;
  if (!facts.loop || facts.loop.busy < SATURATED) return false;
  return range.high > FAR * facts.throughput || range.high > FAR * range.low;
}

/** Of a busy loop, the function outside of Node itself that takes most of its time. */
export function hotOf(
  { limit, within }: Hypothesis,
  { hotFunctions }: Findings,
): HotFunction | null {
  const isLoop = limit === 'event-loop-cpu' || within === 'event-loop-cpu';
  const top = topOutsideNode(hotFunctions);
  return isLoop && top && top.share >= 0.1 ? top : null;
}

/** Throughput of a busy loop without a function. */
export function withoutHot({ share }: HotFunction, throughput: number): number {
  return throughput / (1 - Math.min(0.95, share));
}

/** The experiment that was the remedy, if there was one and it helped. */
function remedyTried(limit: LimitId, found: Findings): ExperimentResult | null {
  const name = trialOf(limit, found)?.experiment;
  const tried = found.experiments.find((it) => it.name === name);
  return tried && tried.measured.ratio >= 1.1 ? tried : null;
}

/** Throughput after the remedy by an experiment: what was measured, as far as it agrees with what was said before. */
function triedOut(limit: LimitId, found: Findings): Range | null {
  const tried = remedyTried(limit, found);
  if (!tried) return null;
  const { measured } = tried;
  const { ratio } = measured;
  // Of few pairs that differ the interval reaches far up: what was measured stays the middle.
  const off = Math.min(ratio - measured.low, measured.high - ratio);
  const range = { low: Math.max(1, ratio - off), high: ratio + off };
  const said = tried.predicted[limit] ?? range;
  const agrees = said.low <= ratio && ratio <= said.high;
  const agreed = agrees
    ? { low: Math.max(range.low, said.low), high: Math.min(range.high, said.high) }
    : range;
  return times(agreed, found.facts.throughput);
}

/** Ratios are of the first block; a busy loop may have become faster since, as its code was compiled, or its cores slower. */
function atLevel(range: Range | null, { facts, finding, level }: Findings): Range | null {
  const ages = finding.chosen?.limit === 'degrades-over-time';
  if (!range || ages || !facts.loop || facts.loop.busy < SATURATED) return range;
  const by = level / Math.max(1e-9, facts.throughput);
  return { low: range.low * by, high: range.high * by };
}

/** The most that the probe is taken to hold back. */
const MOST_OF_PROBE = 0.2;
/** What the probe costs for a request of which nothing else is known, ms: between 2 µs and 5 µs on a Xeon of 2023. */
const PROBE_MS = 0.003;

/**
 * A loop that stays busy has the probe's time for its requests again when the probe is gone. That is taken to be the usual time, as far as
 * what was measured permits: a difference of a few percent that may be chance would be more than the probe can cost of a long request.
 */
function withoutProbe(range: Range | null, chosen: Hypothesis, found: Findings): Range | null {
  const { facts, level, probeCost } = found;
  if (!range || !facts.loop?.seenInside || facts.loop.busy < SATURATED) return range;
  const { low, high } = probeCost ?? { low: 0, high: Number.POSITIVE_INFINITY };
  const loops = working(facts.base).length || (facts.base.inside?.pids.length ?? 0);
  const usual = (PROBE_MS * level) / (1000 * Math.max(1, loops));
  const held = Math.min(Math.max(usual, 1 - high), 1 - low);
  if (held <= 0) return range;
  const isMore = MORE_THAN_ONE.has(chosen.limit) && !isWithoutHot(chosen, found);
  // Of more loops each gives what it did; of one that gives more the probe would take more.
  const share = (rate: number) => Math.min(MOST_OF_PROBE, isMore ? held : (held * rate) / level);
  const without = (rate: number) => rate / (1 - share(rate));
  return { low: without(range.low), high: without(range.high) };
}

/** What a server gives that could do more than one that does nothing, as a part of that: the load is the same, or (TLS, new connections) dearer. */
const [ALIKE, DEARER] = [0.9, 0.8];

/** No server that does something gives more than one that does nothing, but for noise. */
function capped(range: Range | null, { referenceThroughput, facts }: Findings): Range | null {
  if (!range || referenceThroughput === null) return range;
  const { connection, tls } = facts.base.load.plan;
  const least = connection === 'keep-alive' && tls === null ? ALIKE : DEARER;
  return {
    low: Math.min(range.low, least * referenceThroughput),
    high: Math.min(range.high, 1.05 * referenceThroughput),
  };
}

/** Two bounds of different kinds may come out the other way round. */
function ordered(range: Range | null): Range | null {
  return range && { low: Math.min(range.low, range.high), high: Math.max(range.low, range.high) };
}
