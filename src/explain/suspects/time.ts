import { rate, share, time } from '../../report/units.js';
import type { Judge } from '../suspect.js';

/** CPU time per response of the blocks at the same load, in the order of time. */
export interface Ageing {
  /** Requests that the server had answered by then, since it was started. */
  requests: number;
  cpuMs: number;
}

/** Least growth of the cost per request from the first to the last block. */
const GROWN = 1.2;

/**
 * Whether requests become dearer as the server ages: their cost grows with the number of those before.
 *
 * @param blocks at one load; those of the warm-up left out
 */
export function degradesOverTime(blocks: Ageing[]): Judge {
  return ({ throughput }) => {
    const limit = 'degrades-over-time';
    const [first] = blocks;
    const last = blocks.at(-1);
    if (!first || !last || blocks.length < 4) return null;
    const line = leastSquares(blocks.map(({ requests, cpuMs }) => [requests, cpuMs]));
    const fitted = (requests: number) => line.intercept + line.slope * requests;
    const ratio = fitted(last.requests) / Math.max(1e-6, fitted(first.requests));
    const start = Math.max(1e-6, Math.min(first.cpuMs, line.intercept));
    if (ratio < GROWN || line.explained < 0.75) {
      return {
        limit,
        why: `a request costs ${time(last.cpuMs)} of CPU in the last block, ${time(first.cpuMs)} in the first`,
      };
    }
    const back = last.cpuMs / start;
    return {
      limit,
      weight: Math.min(0.98, 0.6 + (ratio - 1) / 2),
      sentence: `requests become dearer: from ${time(first.cpuMs)} to ${time(last.cpuMs)} of CPU each within ${rate(last.requests - first.requests)} requests; something grows with each and is gone through by each.`,
      arithmetic: [
        `${time(line.slope * 1000)} more per 1,000 requests (a straight line explains ${share(line.explained)})`,
      ],
      evidence: [
        { what: 'CPU per response, first block', value: first.cpuMs, unit: 'ms', source: 'proc' },
        { what: 'CPU per response, last block', value: last.cpuMs, unit: 'ms', source: 'proc' },
      ],
      predictions: { 'fresh start': { low: 0.2 / back, high: 1.6 / back } },
      remedy: {
        change:
          'find what grows: a list, listeners, routes added per request; until then a restart helps for a while',
        predictedThroughput: { low: throughput * ratio * 0.9, high: throughput * back * 1.3 },
        nextLimit: 'event-loop-cpu',
      },
    };
  };
}

function leastSquares(points: [number, number][]): {
  slope: number;
  intercept: number;
  explained: number;
} {
  const n = points.length;
  const meanX = points.reduce((sum, [x]) => sum + x, 0) / n;
  const meanY = points.reduce((sum, [, y]) => sum + y, 0) / n;
  const sxy = points.reduce((sum, [x, y]) => sum + (x - meanX) * (y - meanY), 0);
  const sxx = points.reduce((sum, [x]) => sum + (x - meanX) ** 2, 0);
  const syy = points.reduce((sum, [, y]) => sum + (y - meanY) ** 2, 0);
  const slope = sxx === 0 ? 0 : sxy / sxx;
  const explained = sxx === 0 || syy === 0 ? 0 : sxy ** 2 / (sxx * syy);
  return { slope, intercept: meanY - slope * meanX, explained };
}
