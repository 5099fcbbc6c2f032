import { mean } from '../../statistics/moments.js';

/** Blocks of load at one number of requests in flight. */
export interface Level {
  connections: number;
  /** Responses per second of each block. */
  throughput: readonly number[];
}

/** A level as a fit takes it: throughput is positive and its scatter a share of it, so all is in logarithms. */
export interface LogLevel {
  connections: number;
  blocks: number;
  /** Mean of the logarithms of the blocks' throughput. */
  logThroughput: number;
  /** Sum of squared deviations from it. */
  squares: number;
}

/** By number of connections, blocks of equal levels together; blocks without a response tell no ratio and are left out. */
export function toLogLevels(levels: readonly Level[]): LogLevel[] {
  const logs = new Map<number, number[]>();
  for (const { connections, throughput } of levels) {
    const seen = throughput.filter((value) => value > 0).map(Math.log);
    if (seen.length > 0) logs.set(connections, [...(logs.get(connections) ?? []), ...seen]);
  }
  return [...logs]
    .sort(([a], [b]) => a - b)
    .map(([connections, values]) => {
      const logThroughput = mean(values);
      const squares = values.reduce((sum, value) => sum + (value - logThroughput) ** 2, 0);
      return { connections, blocks: values.length, logThroughput, squares };
    });
}
