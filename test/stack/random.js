/** Numbers that a seed determines (mulberry32), and choices by them. */
export class Random {
  #state;

  constructor(seed) {
    this.#state = seed;
  }

  below(limit) {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * limit);
  }

  one(list) {
    return list[this.below(list.length)];
  }

  /** Some pieces of these bytes, in order. */
  pieces(bytes, most = 4) {
    const cuts = Array.from({ length: this.below(most) }, () => this.below(bytes.length + 1));
    cuts.sort((a, b) => a - b);
    const pieces = [...cuts, bytes.length].map((end, at) => bytes.subarray(cuts[at - 1] ?? 0, end));
    return pieces.filter((piece) => piece.length > 0);
  }
}
