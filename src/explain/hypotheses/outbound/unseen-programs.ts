import { computeForeignCores, MIN_FOREIGN_CORES } from '../../metrics/derive.js';
import type { Metrics } from '../../metrics/types.js';
import { hasSameCost } from './cost-per-request.js';

/** Maximum share of their cores that the programs use without load, if they work for the requests. */
const MAX_IDLE_PART = 0.2;

/** Maximum ratio of all CPU time to that of the server's cores at which these are the cores of the machine. */
const MAX_MACHINE_RATIO = 1.15;

/**
 * Computes the cores of programs to which no connection of the server is known, though they work for its requests: a
 * database in a container, or behind a Unix socket. They use little without load, before and after it, and as much per
 * request as for a single one. `null` if there are none, or the server is bound to some of the machine's cores.
 */
export function computeUnseenCores(metrics: Metrics): number | null {
  const { machine, single, idleOthers } = metrics;
  if (!machine || !single?.outside || idleOthers === null) return null;
  const { cpu } = machine;
  const cores = computeForeignCores(cpu);
  if (cores < MIN_FOREIGN_CORES || idleOthers > MAX_IDLE_PART * cores) return null;
  const all = cpu.server + cpu.self + cpu.others + cpu.idle;
  if (all > MAX_MACHINE_RATIO * cpu.cores) return null;
  return hasSameCost(cores, computeForeignCores(single.outside.cpu), metrics) ? cores : null;
}
