import { usageError } from '../../errors/millrace-error.js';
import { describeValue } from '../../validation/shape.js';
import type { OwnMetric } from '../result.js';

/** Most metrics: a name that holds an id would make one for each request. */
const MAX_METRICS = 100;

/** Most values that are kept of a metric; of more, each has the same chance to be kept. */
const MAX_VALUES = 100_000;

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

/** The values of one metric: exact sums, and a sample of the values (Vitter's algorithm R). */
class Values {
  #count = 0;
  #sum = 0;
  #mean = 0;
  #squares = 0;
  #min = Number.POSITIVE_INFINITY;
  #max = Number.NEGATIVE_INFINITY;
  readonly #sample: number[] = [];

  add(value: number): void {
    this.#count++;
    this.#sum += value;
    // Welford's recurrence.
    const difference = value - this.#mean;
    this.#mean += difference / this.#count;
    this.#squares += difference * (value - this.#mean);
    this.#min = Math.min(this.#min, value);
    this.#max = Math.max(this.#max, value);
    if (this.#sample.length < MAX_VALUES) {
      this.#sample.push(value);
      return;
    }
    const place = Math.floor(Math.random() * this.#count);
    if (place < MAX_VALUES) this.#sample[place] = value;
  }

  summarize(): OwnMetric {
    const sorted = Float64Array.from(this.#sample).sort();
    // The smallest value that at least this share does not exceed.
    const quantile = (share: number) =>
      sorted[Math.max(Math.ceil(share * sorted.length) - 1, 0)] ?? Number.NaN;
    return {
      count: this.#count,
      sum: this.#sum,
      min: this.#min,
      mean: this.#mean,
      stdev: this.#count < 2 ? 0 : Math.sqrt(this.#squares / (this.#count - 1)),
      p50: quantile(0.5),
      p75: quantile(0.75),
      p90: quantile(0.9),
      p95: quantile(0.95),
      p99: quantile(0.99),
      p99_9: quantile(0.999),
      max: this.#max,
    };
  }
}
