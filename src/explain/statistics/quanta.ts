import type { Range } from '../result.js';
import type { Times } from './times.js';

/** Times that a timer of the system gives, with what they look like on the clock, in milliseconds. */
const quanta: readonly { cause: QuantumCause; band: Range }[] = [
  // Linux acknowledges at the latest after 40 ms, others after 200 ms.
  { cause: 'delayed-ack', band: { low: 38, high: 46 } },
  // 200 ms is also the least time to a retransmission.
  { cause: 'delayed-ack-or-retransmission', band: { low: 195, high: 215 } },
  // The first retransmission of a SYN, RFC 6298 2.1; the second comes after 3 s in all.
  { cause: 'syn-retransmission', band: { low: 980, high: 1050 } },
  { cause: 'syn-retransmission', band: { low: 2900, high: 3100 } },
];

export type QuantumCause = 'delayed-ack' | 'delayed-ack-or-retransmission' | 'syn-retransmission';

/** Times that gather where a timer of the system puts them. */
export interface Quantum {
  cause: QuantumCause;
  bandMs: Range;
  /** Times within the band. */
  count: number;
  /** Share of all times within the band, and what the bands beside it make one expect. */
  share: number;
  expectedShare: number;
}

/** A timer is told by at least this many times, and this share more than expected. */
const leastCount = 20;
const leastExcess = 0.1;

/**
 * Modes of the distribution at the lengths of timers. Only what exceeds the fuller one of the bands of equal ratio on both
 * sides counts: a broad distribution that reaches over the band, rising, falling or at its height, is no mode there. A
 * narrow one that has its height there by chance is one: what caused it only an experiment tells.
 */
export function findQuanta(times: Times): Quantum[] {
  return quanta
    .map(({ cause, band }) => {
      const factor = band.high / band.low;
      const count = countWithin(times, band);
      const below = countWithin(times, { low: band.low / factor, high: band.low });
      const above = countWithin(times, { low: band.high, high: band.high * factor });
      const share = count / times.count;
      return {
        cause,
        bandMs: band,
        count,
        share,
        expectedShare: Math.max(below, above) / times.count,
      };
    })
    .filter(
      ({ count, share, expectedShare }) =>
        count >= leastCount && share - expectedShare >= leastExcess,
    );
}

/** The lower end belongs to the band, the upper one does not. */
function countWithin({ values }: Times, { low, high }: Range): number {
  return values.reduce((sum, { ms, count }) => (ms >= low && ms < high ? sum + count : sum), 0);
}
