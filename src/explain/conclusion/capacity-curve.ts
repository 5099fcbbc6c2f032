import type { Distribution } from '../../load/result.js';
import { computeMaxInFlight } from '../../load/streams.js';
import type { MeasuredBlocks } from '../experiments/interleaved-rounds.js';
import type { Metrics } from '../metrics/types.js';
import type { Observation } from '../observe/types.js';
import type { CapacityPoint } from '../result.js';

/** Builds the curve of throughput over requests in flight, with a point for each number that was measured. */
export function buildCapacityCurve(
  metrics: Metrics,
  { base, changed }: MeasuredBlocks,
  further: Observation[],
): CapacityPoint[] {
  const groups: Observation[][] = [
    metrics.single ? [metrics.single] : [],
    [metrics.base, ...base.filter((block) => block !== metrics.base)],
    ...(['connections-x2', 'connections-half'] as const).map((name) => changed.get(name) ?? []),
    ...further.map((block) => [block]),
  ];
  return groups
    .flatMap((blocks) => {
      const [first] = blocks;
      if (!first) return [];
      const rates = blocks.map(({ throughput }) => throughput);
      return [
        {
          connections: computeMaxInFlight(first.load),
          throughput: {
            low: Math.min(...rates),
            high: Math.max(...rates),
            mean: rates.reduce((sum, rate) => sum + rate, 0) / rates.length,
          },
          latencyMs: readPointLatency(first.load.latencyMs),
        },
      ];
    })
    .sort((a, b) => a.connections - b.connections);
}

function readPointLatency({ p50, p99, mean, atLeast }: Distribution): CapacityPoint['latencyMs'] {
  const bounds = (['p50', 'p99', 'mean'] as const).filter((name) => atLeast[name]);
  const marked = Object.fromEntries(bounds.map((name) => [name, true]));
  return { p50, p99, mean, ...(bounds.length > 0 && { atLeast: marked }) };
}
