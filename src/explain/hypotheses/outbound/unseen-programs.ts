import type { Range } from '../../../statistics/types.js';
import type { Metrics } from '../../metrics/types.js';

/** Range of a program's CPU time per request under load, relative to that of a single request, if it serves requests. */
export const SAME_COST: Range = { low: 0.4, high: 2.5 };

/** Minimum of the cores that are told from the noise of a machine. */
const MIN_CORES = 0.3;
/** Maximum share of these cores that the programs use without load, if they work for the requests. */
const MAX_IDLE_PART = 0.2;

/**
 * Computes the cores of programs to which no connection of the server is known, though they work for its requests: a
 * database in a container, or behind a Unix socket. They use nothing without load, and as much per request as for a
 * single one; what has nothing to do with the load does neither. `null` if there are none.
 */
export function computeUnseenCores(metrics: Metrics): number | null {
  const { machine, single, idleOthers, throughput } = metrics;
  const alone = single?.outside?.cpu;
  if (!machine || !alone || idleOthers === null) return null;
  const cores = machine.cpu.others - machine.cpu.dependencies;
  if (cores < MIN_CORES || idleOthers > MAX_IDLE_PART * cores) return null;
  if (single.throughput === 0 || throughput === 0) return null;
  const aloneCores = Math.max(1e-9, alone.others - alone.dependencies);
  const ratio = cores / throughput / (aloneCores / single.throughput);
  return SAME_COST.low <= ratio && ratio <= SAME_COST.high ? cores : null;
}
