import type { LoadResult, LoadWindow, WindowHistograms } from '../load/result.js';
import type { NativeDurations } from '../native/addon.js';
import { readCount, readInstant } from './counts.js';
import { addTo, createNative } from './durations.js';

/** Length of the shortest windows; others are twice, four times ... as long. */
const BASE_MS = 100;

/** Most windows of a series, as in a run. */
const MAX_WINDOWS = 36_000;

/** A window of the sum. */
interface Cell {
  completed: number;
  errors: number;
  latency: NativeDurations | null;
}

/**
 * The windows of several runs, added up on the wall clock. Time is divided into cells of `BASE_MS`; the first window of a run
 * lies in the cell that has its middle, and the others follow. So a window is moved by at most half its length, and the sum is
 * the same in any order and grouping. Longer windows are those of two cells, of four, and so on.
 */
export class SeriesSum {
  #perWindow = 1;
  #cells = new Map<number, Cell>();
  #isExact = true;

  /** Adds the windows of a run. Throws a RangeError if they are damaged. */
  add({ startedAtMs, windowMs, series, windowHistograms }: LoadResult): void {
    const factor = readFactor(windowMs);
    if (series.length > 2 * MAX_WINDOWS) throw new RangeError('too many windows');
    const first = Math.floor(findCell(startedAtMs) / factor);
    if (factor > this.#perWindow) this.#coarsen(factor);
    const joined = this.#perWindow / factor;
    for (const [index, window] of series.entries()) {
      const cell = this.#at(Math.floor((first + index) / joined));
      cell.completed += readCount(window.completed);
      cell.errors += readCount(window.errors);
    }
    if (windowHistograms === undefined) this.#dropLatencies();
    if (this.#isExact && windowHistograms) this.#addLatencies(first, joined, windowHistograms);
    while (this.#span() > MAX_WINDOWS) this.#coarsen(2 * this.#perWindow);
  }

  #addLatencies(
    first: number,
    joined: number,
    { latency, latencyCensored }: WindowHistograms,
  ): void {
    for (const [index, all] of latency.entries()) {
      if (all === null) continue;
      const cell = this.#at(Math.floor((first + index) / joined));
      cell.latency ??= createNative();
      const censored = latencyCensored[index] ?? null;
      addTo(cell.latency, { all, ...(censored !== null && { censored }) });
    }
  }

  /** Percentiles of a window need the samples of all runs. */
  #dropLatencies(): void {
    if (!this.#isExact) return;
    this.#isExact = false;
    for (const cell of this.#cells.values()) cell.latency = null;
  }

  #at(index: number): Cell {
    let cell = this.#cells.get(index);
    if (!cell) {
      cell = { completed: 0, errors: 0, latency: null };
      this.#cells.set(index, cell);
    }
    return cell;
  }

  #span(): number {
    const [from, to] = this.#bounds();
    return to - from + 1;
  }

  #bounds(): [from: number, to: number] {
    let [from, to] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
    for (const index of this.#cells.keys()) {
      from = Math.min(from, index);
      to = Math.max(to, index);
    }
    return [from, to];
  }

  #coarsen(perWindow: number): void {
    const joined = perWindow / this.#perWindow;
    const cells = this.#cells;
    this.#perWindow = perWindow;
    this.#cells = new Map();
    for (const [index, { completed, errors, latency }] of cells) {
      const cell = this.#at(Math.floor(index / joined));
      cell.completed += completed;
      cell.errors += errors;
      if (latency === null) continue;
      if (cell.latency === null) cell.latency = latency;
      else cell.latency.merge(latency);
    }
  }

  /** Returns the windows from the start of the merged measurement on. */
  finish(
    startedAtMs: number,
  ): Pick<LoadResult, 'windowMs' | 'series'> & Partial<Pick<LoadResult, 'windowHistograms'>> {
    const windowMs = this.#perWindow * BASE_MS;
    const first = Math.floor(findCell(startedAtMs) / this.#perWindow);
    const [, last] = this.#bounds();
    const series: LoadWindow[] = [];
    const histograms: WindowHistograms = { unit: 'ns', latency: [], latencyCensored: [] };
    for (let index = first; index <= last; index++) {
      const { completed = 0, errors = 0, latency = null } = this.#cells.get(index) ?? {};
      const figures = latency?.window();
      const tMs = (index - first) * windowMs;
      const [p50Ms, p99Ms] = [figures?.p50Ms ?? null, figures?.p99Ms ?? null];
      series.push({ tMs, completed, errors, p50Ms, p99Ms });
      histograms.latency.push(figures?.all ?? null);
      histograms.latencyCensored.push(figures?.censored ?? null);
    }
    return { windowMs, series, ...(this.#isExact && { windowHistograms: histograms }) };
  }
}

function readFactor(windowMs: number): number {
  const factor = windowMs / BASE_MS;
  if (Number.isSafeInteger(factor) && Number.isInteger(Math.log2(factor))) return factor;
  throw new RangeError('not the length of a window');
}

function findCell(startedAtMs: number): number {
  return Math.floor((readInstant(startedAtMs) + BASE_MS / 2) / BASE_MS);
}

/** Computes the standard deviation of the responses in whole seconds; `null` with fewer than two, or with windows that do not divide a second. */
export function computeDeviation(
  { series, windowMs }: Pick<LoadResult, 'series' | 'windowMs'>,
  durationMs: number,
): number | null {
  const perSecond = 1000 / windowMs;
  const seconds = Math.min(Math.floor(durationMs / 1000), Math.floor(series.length / perSecond));
  if (!Number.isInteger(perSecond) || seconds < 2) return null;
  const sums = Array.from({ length: seconds }, (_, second) =>
    series
      .slice(second * perSecond, (second + 1) * perSecond)
      .reduce((sum, { completed }) => sum + completed, 0),
  );
  const mean = sums.reduce((sum, one) => sum + one, 0) / seconds;
  const squares = sums.reduce((sum, one) => sum + (one - mean) ** 2, 0);
  return Math.sqrt(squares / (seconds - 1));
}
