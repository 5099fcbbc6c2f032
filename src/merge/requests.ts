import type { LoadResult, NamedResult, RequestHistograms } from '../load/result.js';
import { addCounts } from './counts.js';
import { DurationSum, type MergedDurations } from './durations.js';
import { ErrorSum, FailingSum, StatusSum, UnfinishedSum } from './responses.js';

const NO_NOT_SENT = { overflow: 0, queuedAtEnd: 0, connectFailed: 0 };
const NO_REQUESTS = {
  ...{ sent: 0, ok: 0, statusErrors: 0, transportErrors: 0, timeouts: 0, inFlightAtEnd: 0 },
};

/** The requests of several runs, all or those with one name, added up. */
export class RequestSum {
  readonly #requests = { ...NO_REQUESTS, notSent: { ...NO_NOT_SENT } };
  readonly #bytes = { sent: 0, received: 0 };
  readonly unfinished = new UnfinishedSum();
  readonly statuses = new StatusSum();
  readonly errors = new ErrorSum();
  readonly failing = new FailingSum();
  readonly #latency = new DurationSum();
  readonly #serviceTime = new DurationSum();

  /** Adds the requests of a run. Throws a RangeError or TypeError if they are damaged. */
  add(
    run: Pick<LoadResult, 'unfinished' | 'statusCodes' | 'latencyMs' | 'serviceTimeMs' | 'bytes'> &
      Pick<NamedResult, 'requests' | 'errors' | 'sums' | 'histograms'>,
  ): void {
    addCounts(this.#requests, run.requests);
    addCounts(this.#bytes, run.bytes);
    this.unfinished.add(run.unfinished);
    this.statuses.add(run.statusCodes);
    this.errors.add(run.errors);
    const { latency, latencyCensored, serviceTime, serviceTimeCensored } = run.histograms;
    const { sums } = run;
    this.#latency.add({
      ...{ all: latency, censored: latencyCensored },
      ...{ sum: sums.latency, ms: run.latencyMs },
    });
    this.#serviceTime.add({
      ...{ all: serviceTime, censored: serviceTimeCensored },
      ...{ sum: sums.serviceTime, ms: run.serviceTimeMs },
    });
  }

  get requests(): NamedResult['requests'] {
    return this.#requests;
  }

  get bytes(): NamedResult['bytes'] {
    return this.#bytes;
  }

  /** Computes the distributions. */
  finishTimes(): { latency: MergedDurations; serviceTime: MergedDurations } {
    return { latency: this.#latency.finish(), serviceTime: this.#serviceTime.finish() };
  }
}

/** The requests of several runs by name, added up. */
export class NamedSum {
  readonly #names = new Map<string, RequestSum>();

  add(byName: readonly NamedResult[]): void {
    for (const named of byName) {
      const sum = this.#names.get(named.name) ?? new RequestSum();
      this.#names.set(named.name, sum);
      sum.add(named);
      sum.failing.add(named.failingResponse === null ? [] : [named.failingResponse]);
    }
  }

  /** Names in the order in which they came. */
  get names(): string[] {
    return [...this.#names.keys()];
  }

  /** Returns the results by name, the largest share of the time first. */
  finish(durationMs: number): NamedResult[] {
    const named = [...this.#names].map(([name, sum]) => ({ name, sum, times: sum.finishTimes() }));
    const total = named.reduce((all, { times }) => all + BigInt(times.serviceTime.sum), 0n);
    return named
      .map(({ name, sum, times: { latency, serviceTime } }): NamedResult => {
        const { requests } = sum;
        const responses = requests.ok + requests.statusErrors;
        return {
          name,
          requests: { ...requests },
          unfinished: sum.unfinished.finish(),
          throughput: durationMs > 0 ? (responses * 1000) / durationMs : 0,
          timeShare: total > 0n ? Number(serviceTime.sum) / Number(total) : null,
          latencyMs: latency.ms,
          serviceTimeMs: serviceTime.ms,
          statusCodes: sum.statuses.finish(),
          errors: sum.errors.finish().map(({ kind, count }) => ({ kind, count })),
          bytes: { ...sum.bytes },
          failingResponse: sum.failing.finish()[0] ?? null,
          histograms: encodeTimes(latency, serviceTime),
          sums: { unit: 'ns', latency: latency.sum, serviceTime: serviceTime.sum },
        };
      })
      .sort(compareNamed);
  }
}

/** The histograms of the times of requests. */
export function encodeTimes(
  latency: MergedDurations,
  serviceTime: MergedDurations,
): RequestHistograms {
  return {
    unit: 'ns',
    latency: latency.all,
    latencyCensored: latency.censored,
    serviceTime: serviceTime.all,
    serviceTimeCensored: serviceTime.censored,
  };
}

function compareNamed(one: NamedResult, other: NamedResult): number {
  return (other.timeShare ?? 0) - (one.timeShare ?? 0) || (one.name < other.name ? -1 : 1);
}
