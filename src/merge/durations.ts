import { convertDistribution } from '../load/outcome/distribution.js';
import type { Distribution, LoadResult } from '../load/result.js';
import { loadNative, type NativeDurations } from '../native/addon.js';

/** A distribution as a result has it: histograms, the exact sum, and the figures. */
export interface StoredDurations {
  all: string;
  /** Absent: there are no censored samples. */
  censored?: string;
  sum: string;
  ms: Distribution;
}

/** The figures of distributions that were added up. */
export interface MergedDurations {
  ms: Distribution;
  all: string;
  censored: string;
  sum: string;
  points: [percentile: number, ms: number][];
}

/** Distributions of several results, added up. */
export class DurationSum {
  readonly #native: NativeDurations = createNative();

  /** Adds a distribution. Throws a RangeError if it is damaged. */
  add({ all, censored, sum, ms }: StoredDurations): void {
    const samples = addTo(this.#native, {
      all,
      sum,
      ...(censored !== undefined && { censored }),
      ...(ms.min !== null && { minNs: Math.round(ms.min * 1e6) }),
    });
    if (samples !== ms.count) {
      throw new RangeError('a histogram has another number of samples than its figures');
    }
  }

  /** Computes the figures of all samples. */
  finish(): MergedDurations {
    const { ms, points, ...encoded } = this.#native.figures();
    return {
      ...encoded,
      ms: convertDistribution(ms),
      points: points as MergedDurations['points'],
    };
  }
}

/** Creates an empty sum of histograms. */
export function createNative(): NativeDurations {
  const { NativeDurations } = loadNative();
  return new NativeDurations();
}

/** Adds a stored histogram and returns the number of its samples. Throws a RangeError that names its fault. */
export function addTo(sum: NativeDurations, stored: Parameters<NativeDurations['add']>[0]): number {
  try {
    return sum.add(stored);
  } catch (cause) {
    throw new RangeError(`a histogram ${(cause as Error).message}`, { cause });
  }
}

/** The delays of generators, added up; `null` are those of a run without intended times. */
export class LatenessSum {
  #native: NativeDurations | null = null;

  add(histogram: string | null): void {
    if (histogram === null) return;
    this.#native ??= createNative();
    addTo(this.#native, { all: histogram });
  }

  get encoded(): string | null {
    return this.#native?.figures().all ?? null;
  }

  get figures(): LoadResult['generator']['latenessMs'] {
    const { p50, p99, max } = this.#native?.figures().ms ?? {};
    if (p50 === undefined || p99 === undefined || max === undefined) return null;
    return { p50, p99, max };
  }
}
