import type { NativeSnapshot } from '../../native.js';
import type { Snapshot } from '../result.js';
import { LatestValue } from './latest-value.js';

/** The snapshots of one run, for any number of readers. */
export class Snapshots implements AsyncIterable<Snapshot> {
  readonly #newest = new LatestValue<Snapshot>();

  push({ timeouts, sent, connectFailed, above, ...snapshot }: NativeSnapshot): void {
    this.#newest.push({
      ...snapshot,
      phase: snapshot.phase as Snapshot['phase'],
      p50Ms: snapshot.p50Ms ?? null,
      p99Ms: snapshot.p99Ms ?? null,
    });
  }

  end(): void {
    this.#newest.end();
  }

  /** Makes the promise of the result iterable; see `LatestValue.follow`. */
  follow<Result>(result: Promise<Result>): Promise<Result> & AsyncIterable<Snapshot> {
    return this.#newest.follow(result);
  }

  [Symbol.asyncIterator](): AsyncGenerator<Snapshot, void, void> {
    return this.#newest[Symbol.asyncIterator]();
  }
}
