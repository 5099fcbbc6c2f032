import type { Counters } from '../../../probe/protocol.cjs';
import type { FullSample, ProbedProcess } from './process.js';

/** Counters by the name of a route, an origin or the like. */
type CountersByName = Record<string, Counters>;

/** Growth of the counters of one process in a range of time. */
export interface SampleWindow {
  process: ProbedProcess;
  fromMs: number;
  toMs: number;
  /** Its length. */
  ms: number;
  /** The samples within the range. */
  samples: FullSample[];
  /** Returns the growth of the counters that `pick` selects from a sample. */
  computeGrowth(pick: (sample: FullSample) => Counters | undefined): Counters;
  /** The sample at the end of the range; it has all names. */
  last: FullSample;
}

/**
 * Returns the window of a process. Counters are interpolated between two samples. Before the first and after the last
 * sample nothing is known, so the window is cut; `null` if nothing is left of it.
 */
export function cutWindow(
  process: ProbedProcess,
  fromMs: number,
  toMs: number,
): SampleWindow | null {
  const { samples } = process;
  const first = samples[0];
  const end = samples.at(-1);
  if (!first || !end) return null;
  const from = Math.max(fromMs, first.at);
  const to = Math.min(toMs, end.at);
  if (!(to > from)) return null;
  const start = findMoment(samples, from);
  const stop = findMoment(samples, to);
  return {
    process,
    fromMs: from,
    toMs: to,
    ms: to - from,
    samples: samples.filter(({ at }) => at > from && at <= stop.after.at),
    last: stop.after,
    computeGrowth: (pick) => subtract(interpolate(start, pick), interpolate(stop, pick)),
  };
}

/** A time between two samples, as a share of the distance from the first to the second. */
interface Moment {
  before: FullSample;
  after: FullSample;
  share: number;
}

function findMoment(samples: FullSample[], at: number): Moment {
  const next = Math.max(
    1,
    samples.findIndex((sample) => sample.at >= at),
  );
  const before = samples[next - 1] as FullSample;
  const after = samples[next] ?? before;
  const length = after.at - before.at;
  return { before, after, share: length > 0 ? Math.min(1, (at - before.at) / length) : 0 };
}

function interpolate(
  { before, after, share }: Moment,
  pick: (sample: FullSample) => Counters | undefined,
): Counters {
  const old = pick(before) ?? {};
  const values: Counters = {};
  for (const [name, value] of Object.entries(pick(after) ?? {})) {
    const from = old[name] ?? 0;
    values[name] = from + (value - from) * share;
  }
  return values;
}

function subtract(from: Counters, to: Counters): Counters {
  const grown: Counters = {};
  for (const [name, value] of Object.entries(to)) {
    const growth = value - (from[name] ?? 0);
    if (growth > 0) grown[name] = growth;
  }
  return grown;
}

/** Adds up counters by name. */
export function sumCounters(all: Counters[]): Counters {
  const sum: Counters = {};
  for (const counters of all) {
    for (const [name, value] of Object.entries(counters)) sum[name] = (sum[name] ?? 0) + value;
  }
  return sum;
}

/** Adds up the growth of each part (route, origin ...) over the processes, by name. */
export function sumByName<Part>(
  windows: SampleWindow[],
  parts: (sample: FullSample) => Record<string, Part>,
  counters: (part: Part) => Counters,
): CountersByName {
  const grown: Record<string, Counters[]> = {};
  for (const window of windows) {
    for (const name of Object.keys(parts(window.last))) {
      const pick = (sample: FullSample) => {
        const part = parts(sample)[name];
        return part && counters(part);
      };
      grown[name] = [...(grown[name] ?? []), window.computeGrowth(pick)];
    }
  }
  return Object.fromEntries(Object.entries(grown).map(([name, all]) => [name, sumCounters(all)]));
}
