import type { Facts } from './facts.js';
import type { Observation } from './observation.js';
import type { CapacityPoint } from './result.js';
import type { Blocks } from './rounds.js';

/** Throughput over the requests in flight, of every number that had a block. */
export function pointsOf(
  facts: Facts,
  { base, changed }: Blocks,
  further: Observation[],
): CapacityPoint[] {
  const groups: Observation[][] = [
    facts.single ? [facts.single] : [],
    [facts.base, ...base.filter((block) => block !== facts.base)],
    ...['connections x2', 'connections /2'].map((name) => changed.get(name) ?? []),
    ...further.map((block) => [block]),
  ];
  return groups
    .flatMap((blocks) => {
      const [first] = blocks;
      if (!first) return [];
      const rates = blocks.map(({ throughput }) => throughput);
      const { plan, latencyMs } = first.load;
      return [
        {
          connections: plan.connections * plan.pipelining,
          throughput: {
            low: Math.min(...rates),
            high: Math.max(...rates),
            mean: rates.reduce((sum, rate) => sum + rate, 0) / rates.length,
          },
          latencyMs: { p50: latencyMs.p50, p99: latencyMs.p99, mean: latencyMs.mean },
        },
      ];
    })
    .sort((a, b) => a.connections - b.connections);
}
