import type { NativeNameCounts, NativeSnapshot } from '../../native/addon.js';
import type { Plan } from '../plan/plan.js';
import type { ErrorKind, LoadSnapshot, NamedSnapshot } from '../result.js';
import { IterationRate } from './iteration-rate.js';
import { LatestValue } from './latest-value.js';

/** The snapshots of one run, for any number of readers. */
export class Snapshots implements AsyncIterable<LoadSnapshot> {
  readonly #newest = new LatestValue<LoadSnapshot>();
  readonly #iterationRate = new IterationRate();

  push(snapshot: NativeSnapshot, plan: Pick<Plan, 'names' | 'buckets'>): void {
    const { elapsedMs, completed, errors, inFlight, throughput, names } = snapshot;
    const byName = names.map((counts, index) =>
      convertCounts(counts, plan.names[index] ?? '', plan.buckets),
    );
    this.#newest.push({
      phase: snapshot.phase as LoadSnapshot['phase'],
      ...{ elapsedMs, completed, errors, inFlight, throughput },
      p50Ms: snapshot.p50Ms ?? null,
      p99Ms: snapshot.p99Ms ?? null,
      ...(plan.buckets > 0 && { byName }),
      ...this.#convertIterations(snapshot),
    });
  }

  #convertIterations({
    phase,
    elapsedMs,
    iterations,
  }: NativeSnapshot): Pick<LoadSnapshot, 'iterations'> {
    if (iterations === undefined) return {};
    const { started, completed, failed, notStarted } = iterations;
    // The engine counts those in progress when the run ends.
    const inProgress = started - completed - failed;
    const rate = phase === 'measure' ? this.#iterationRate.add(elapsedMs, completed) : 0;
    return { iterations: { started, completed, failed, inProgress, notStarted, rate } };
  }

  /** Says how long it is until the load is to begin. */
  pushWait(leftMs: number): void {
    const nothing = {
      completed: 0,
      errors: 0,
      inFlight: 0,
      throughput: 0,
      p50Ms: null,
      p99Ms: null,
    };
    this.#newest.push({ phase: 'wait', elapsedMs: leftMs, ...nothing });
  }

  end(): void {
    this.#newest.end();
  }

  /** Makes the promise of the result iterable; see `LatestValue.follow`. */
  follow<Result>(result: Promise<Result>): Promise<Result> & AsyncIterable<LoadSnapshot> {
    return this.#newest.follow(result);
  }

  [Symbol.asyncIterator](): AsyncGenerator<LoadSnapshot, void, void> {
    return this.#newest[Symbol.asyncIterator]();
  }
}

/** Converts the numbers of one name; the latency buckets are the last of the engine's bounds. */
function convertCounts(counts: NativeNameCounts, name: string, buckets: number): NamedSnapshot {
  const { inFlightAtEnd, above, errors, ...numbers } = counts;
  const { ok, statusErrors, transportErrors, timeouts } = numbers;
  const ended = ok + statusErrors + transportErrors + timeouts;
  return {
    name,
    ...numbers,
    errors: errors.map(({ kind, count }) => ({ kind: kind as ErrorKind, count })),
    ended,
    buckets: above.slice(above.length - buckets).map((samples) => ended - samples),
  };
}
