import type { LoadResult, SlowRequest } from '../load/result.js';
import { readNumber } from './counts.js';

/** How many of the slowest requests a result has. */
const MAX_SLOWEST = 10;

/** The slowest requests with trace ids, of all results. */
export class SlowestSum {
  #slowest: SlowRequest[] | null = null;

  add({ slowest }: LoadResult): void {
    if (slowest === undefined) return;
    const all = [...(this.#slowest ?? []), ...slowest];
    this.#slowest = all.sort(compare).slice(0, MAX_SLOWEST);
  }

  finish(): Pick<LoadResult, 'slowest'> {
    return this.#slowest === null ? {} : { slowest: this.#slowest };
  }
}

/** The slowest first; the ids tell equal ones apart, so that the order of the results makes no difference. */
function compare(a: SlowRequest, b: SlowRequest): number {
  return readNumber(b.latencyMs) - readNumber(a.latencyMs) || (a.traceId < b.traceId ? -1 : 1);
}
