import type { NativeSnapshot } from '../native.js';
import type { Snapshot } from './result.js';

/**
 * The snapshots of one run for any number of readers. A reader that is slower than the run misses some: it is always
 * given the newest, and nothing is kept for it.
 */
export class Snapshots implements AsyncIterable<Snapshot> {
  #newest: Snapshot | null = null;
  #count = 0;
  #ended = false;
  #wake: () => void = () => {};
  #change = this.#nextChange();

  push(snapshot: NativeSnapshot): void {
    this.#newest = {
      ...snapshot,
      phase: snapshot.phase as Snapshot['phase'],
      p50Ms: snapshot.p50Ms ?? null,
      p99Ms: snapshot.p99Ms ?? null,
    };
    this.#count += 1;
    this.#tell();
  }

  end(): void {
    this.#ended = true;
    this.#tell();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Snapshot, void, void> {
    let seen = this.#count;
    for (;;) {
      if (seen < this.#count && this.#newest) {
        seen = this.#count;
        yield this.#newest;
      } else if (this.#ended) {
        return;
      } else {
        await this.#change;
      }
    }
  }

  #tell(): void {
    const wake = this.#wake;
    this.#change = this.#nextChange();
    wake();
  }

  #nextChange(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }
}
