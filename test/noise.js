import { Random } from './stack/random.js';

/** Random values of known distributions, that a seed determines. */
export class Noise {
  #random;

  constructor(seed) {
    this.#random = new Random(seed);
  }

  /** In [0, 1). */
  uniform() {
    return this.#random.below(2 ** 32) / 2 ** 32;
  }

  exponential(mean) {
    return -mean * Math.log(1 - this.uniform());
  }

  /** Box and Muller. */
  normal(deviation = 1) {
    const radius = Math.sqrt(-2 * Math.log(1 - this.uniform()));
    return deviation * radius * Math.cos(2 * Math.PI * this.uniform());
  }

  /** Neighbours have this correlation, each value the deviation 1. */
  correlated(count, correlation) {
    const fresh = Math.sqrt(1 - correlation ** 2);
    let value = this.normal();
    return Array.from({ length: count }, () => {
      value = correlation * value + this.normal(fresh);
      return value;
    });
  }

  shuffled(values) {
    const keyed = values.map((value) => [this.uniform(), value]);
    return keyed.sort(([a], [b]) => a - b).map(([, value]) => value);
  }
}
