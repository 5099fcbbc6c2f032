import { mean } from '../../statistics/moments.js';

/** Blocks of load at one number of requests in flight. */
export interface Level {
  connections: number;
  /** Responses per second of each block. */
  throughput: readonly number[];
}

/** A level prepared for a fit: in logarithms, as throughput is positive and its scatter proportional to it. */
export interface LogLevel {
  connections: number;
  blocks: number;
  /** Mean of the logarithms of the blocks' throughput. */
  logThroughput: number;
  /** Sum of squared deviations from it. */
  squares: number;
}

/** Merges levels with equal connections and sorts them. Blocks without a response have no logarithm and are left out. */
export function toLogLevels(levels: readonly Level[]): LogLevel[] {
  const logs = new Map<number, number[]>();
  for (const { connections, throughput } of levels) {
    const known = throughput.filter((value) => value > 0).map(Math.log);
    if (known.length > 0) logs.set(connections, [...(logs.get(connections) ?? []), ...known]);
  }
  return [...logs]
    .sort(([a], [b]) => a - b)
    .map(([connections, values]) => {
      const logThroughput = mean(values);
      const squares = values.reduce((sum, value) => sum + (value - logThroughput) ** 2, 0);
      return { connections, blocks: values.length, logThroughput, squares };
    });
}
