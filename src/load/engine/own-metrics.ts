import { usageError } from '../../errors/millrace-error.js';
import { findPercentiles } from '../../statistics/counted-values.js';
import { describeValue } from '../../validation/shape.js';
import type { OwnMetric } from '../result.js';

/** Most metrics: a name that holds an id would make one for each request. */
const MAX_METRICS = 100;

/** Significant digits of the values that are counted. */
const DIGITS = 4;

/** Metrics that hooks add values to. */
export class OwnMetrics {
  readonly #metrics = new Map<string, Values>();

  /** Adds a value to a metric; 1 counts. */
  add(name: string, value: number = 1): void {
    if (typeof name !== 'string' || name.trim() === '') {
      throw usageError(`metrics.add takes a name and a number (got ${describeValue(name)})`);
    }
    if (typeof value !== 'number' || !Number.isFinite(value)) {
      throw usageError(`metrics.add('${name}') takes a number (got ${describeValue(value)})`);
    }
    let values = this.#metrics.get(name);
    if (!values) {
      if (this.#metrics.size >= MAX_METRICS) {
        throw usageError(`at most ${MAX_METRICS} metrics (got '${name}' as another one)`);
      }
      values = new Values();
      this.#metrics.set(name, values);
    }
    values.add(value);
  }

  /** Returns the figures of each metric by name. */
  summarize(): Record<string, OwnMetric> {
    return Object.fromEntries(
      [...this.#metrics].map(([name, values]) => [name, values.summarize()]),
    );
  }
}

/** The values of one metric: exact sums, and how often each value occurred, to four significant digits. */
class Values {
  #count = 0;
  #sum = 0;
  #mean = 0;
  #squares = 0;
  #min = Number.POSITIVE_INFINITY;
  #max = Number.NEGATIVE_INFINITY;
  readonly #counts = new Map<number, number>();

  add(value: number): void {
    this.#count++;
    this.#sum += value;
    // Welford's recurrence.
    const difference = value - this.#mean;
    this.#mean += difference / this.#count;
    this.#squares += difference * (value - this.#mean);
    this.#min = Math.min(this.#min, value);
    this.#max = Math.max(this.#max, value);
    const rounded = Number(value.toPrecision(DIGITS));
    this.#counts.set(rounded, (this.#counts.get(rounded) ?? 0) + 1);
  }

  summarize(): OwnMetric {
    const histogram = [...this.#counts].sort(([one], [other]) => one - other);
    return {
      count: this.#count,
      sum: this.#sum,
      min: this.#min,
      mean: this.#mean,
      stdev: this.#count < 2 ? 0 : Math.sqrt(this.#squares / (this.#count - 1)),
      ...findPercentiles(histogram),
      max: this.#max,
      histogram,
    };
  }
}
