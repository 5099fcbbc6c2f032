import { share } from '../../../format/units.js';
import { type Detected, scale } from '../../hypotheses/hypothesis.js';
import {
  describeFreeCores,
  isStarved,
  NO_CORE_PREDICTIONS,
} from '../../hypotheses/machine/cores.js';
import type { Metrics } from '../../metrics/types.js';
import type { Limit } from '../limit.js';

export const SHARED_CORES = {
  id: 'shared-cores',
  group: 'machine',
  text: {
    title: 'Server and load generator share cores',
    what: 'Both run on one machine with too few cores and take CPU time from each other.',
    shows:
      "The server's main thread is often ready to run without a core, and the generator uses most of the other cores.",
    experiment: 'None of its own: the generator cannot move to another machine.',
    formula: 'stretch = (time on a core + time queued for one) / time on a core',
    remedy: 'Separate cores for the generator (taskset), or another machine.',
    confirm:
      'run the load from another machine, or give both their own cores (taskset): throughput rises as far as the server waits for a core now',
    detected: 'by its signature',
  },
  needsOwnLoad: 'there is no load generator',
  detectors: [detectSharedCores],
  addsCapacity: true,
  isSevere: true,
} satisfies Limit;

function detectSharedCores(metrics: Metrics): Detected {
  const limit = 'shared-cores';
  const { machine, throughput } = metrics;
  if (!machine) return null;
  const { cpu, loop } = machine;
  const free = describeFreeCores(metrics, cpu.idle);
  if (free) return { limit, why: free };
  if (!isStarved(loop))
    return { limit, why: `the main thread waits for a core ${share(loop.queued)} of the time` };
  // Other threads of the server (a pool, garbage collection) may be what takes the cores.
  const threads = cpu.server - loop.run;
  if (cpu.self < 0.2 || cpu.self < Math.max(cpu.others, threads))
    return { limit, why: 'not the load generator but other programs or threads take the cores' };
  const stretch = (loop.run + loop.queued) / Math.max(0.01, loop.run);
  return {
    limit,
    weight: Math.min(1, 0.55 + loop.queued),
    sentence: `server and load generator share cores: the server's thread waits for a core ${share(loop.queued)} of the time.`,
    arithmetic: [
      `(running ${share(loop.run)} + waiting ${share(loop.queued)}) / running = x ${stretch.toFixed(2)}: the server's work takes that much longer`,
      `the generator uses ${cpu.self.toFixed(2)} cores, the server ${cpu.server.toFixed(2)}; there are ${cpu.cores}`,
    ],
    evidence: [
      { what: 'main thread waits for a core', value: loop.queued, unit: '1', source: 'proc' },
      { what: 'generator', value: cpu.self, unit: 'cores', source: 'proc' },
    ],
    predictions: NO_CORE_PREDICTIONS,
    remedy: {
      change: 'separate cores for generator and server (taskset), or another machine for the load',
      predictedThroughput: scale({ low: 1 + (stretch - 1) * 0.5, high: stretch * 1.1 }, throughput),
      nextLimit: 'event-loop-cpu',
    },
  };
}
