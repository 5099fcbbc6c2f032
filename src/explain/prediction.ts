import type { Investigated } from './investigation.js';
import type { LimitId } from './limits.js';
import type { HotFunction, Range } from './result.js';
import { about, type ExperimentName, type Suspect } from './suspect.js';
import { SATURATED } from './suspects/load.js';

/** How an experiment stands to the remedy of a limit. */
interface Trial {
  experiment: ExperimentName;
  /** It is a part of the remedy, which gives no less. */
  part?: true;
}

/** The experiments that are the remedy itself, for a while: what they gave is the best prediction. */
const REMEDIED_BY: Partial<Record<LimitId, Trial>> = {
  'generator-saturated': { experiment: 'two generators' },
  'event-loop-cpu': { experiment: 'second process' },
  'single-core': { experiment: 'second process' },
  'gc-young': { experiment: 'young generation x4' },
  'gc-old': { experiment: 'heap x2', part: true },
  compression: { experiment: 'identity encoding' },
  threadpool: { experiment: 'thread pool x4' },
  'slow-dependency': { experiment: 'client deadline' },
  'head-of-line': { experiment: 'depth 1' },
  'nagle-delayed-ack': { experiment: 'early acknowledgement' },
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
/** A prediction beyond so many times what there is, or as wide, is held against a server that does nothing. */
const FAR = 2.5;

/** Throughput after the remedy: by the experiment that was the remedy, else by what the limit's own arithmetic says. */
export function remediedThroughput(chosen: Suspect, found: Investigated): Range | null {
  const range = ordered(uncappedThroughput(chosen, found));
  return capped(withoutProbe(atLevel(range, found), found), found);
}

function uncappedThroughput(chosen: Suspect, found: Investigated): Range | null {
  const { predictedThroughput } = chosen.remedy;
  const trial = REMEDIED_BY[chosen.limit];
  const tried = trial ? triedOut(chosen.limit, trial, found) : null;
  if (tried && trial?.part && predictedThroughput) {
    return {
      low: Math.max(tried.low, predictedThroughput.low),
      high: Math.max(tried.high, predictedThroughput.high),
    };
  }
  const hot = chosen.limit === 'event-loop-cpu' ? hotOf(chosen, found) : null;
  const without = hot && about(withoutHot(hot, found.facts.throughput), 0.15);
  return tried ?? without ?? predictedThroughput;
}

/** Whether it is worth to know what a server that does nothing would give. */
export function isFar(chosen: Suspect, found: Investigated): boolean {
  const range = ordered(uncappedThroughput(chosen, found));
  const { facts } = found;
  if (!range || MORE_THAN_ONE.has(chosen.limit) || facts.model === 'open') return false;
  if (!facts.loop || facts.loop.busy < SATURATED) return false;
  return range.high > FAR * facts.throughput || range.high > FAR * range.low;
}

/** Of a busy loop, the function that takes most of its time. */
export function hotOf({ limit, within }: Suspect, { hot }: Investigated): HotFunction | null {
  const [top] = hot;
  const isLoop = limit === 'event-loop-cpu' || within === 'event-loop-cpu';
  return isLoop && top && top.share >= 0.1 ? top : null;
}

/** Throughput of a busy loop without a function. */
export function withoutHot({ share }: HotFunction, throughput: number): number {
  return throughput / (1 - Math.min(0.95, share));
}

/** Throughput after the remedy, if an experiment was that and helped: what was measured, as far as it agrees with what was said before. */
function triedOut(
  limit: LimitId,
  { experiment }: Trial,
  { facts, experiments }: Investigated,
): Range | null {
  const tried = experiments.find(({ name }) => name === experiment);
  if (!tried || tried.measured.ratio < 1.1) return null;
  const { measured } = tried;
  const said = tried.predicted[limit] ?? measured;
  const agrees = said.low <= measured.ratio && measured.ratio <= said.high;
  const { low, high } = agrees
    ? { low: Math.max(measured.low, said.low), high: Math.min(measured.high, said.high) }
    : measured;
  return { low: facts.throughput * Math.max(1, low), high: facts.throughput * high };
}

/** Ratios are of the first block; a busy loop may have become faster since, as its code was compiled, or its cores slower. */
function atLevel(range: Range | null, { facts, finding, level }: Investigated): Range | null {
  const ages = finding.chosen?.limit === 'degrades-over-time';
  if (!range || ages || !facts.loop || facts.loop.busy < SATURATED) return range;
  const by = level / Math.max(1e-9, facts.throughput);
  return { low: range.low * by, high: range.high * by };
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

/** No server that does something gives more than one that does nothing. */
function capped(range: Range | null, { bare }: Investigated): Range | null {
  if (!range || bare === null) return range;
  return { low: Math.min(range.low, 0.8 * bare), high: Math.min(range.high, bare) };
}

/** Two bounds of different kinds may come out the other way round. */
function ordered(range: Range | null): Range | null {
  return range && { low: Math.min(range.low, range.high), high: Math.max(range.low, range.high) };
}
