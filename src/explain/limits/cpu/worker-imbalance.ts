import { rate, share } from '../../../format/units.js';
import { SATURATED } from '../../hypotheses/event-loop/loop-capacity.js';
import type { Detected } from '../../hypotheses/hypothesis.js';
import { estimateGeneratorCores } from '../../hypotheses/machine/generator-cores.js';
import { computeWantedShare, findWorkingProcesses } from '../../metrics/derive.js';
import type { Metrics } from '../../metrics/types.js';
import type { Limit } from '../limit.js';

export const WORKER_IMBALANCE = {
  id: 'worker-imbalance',
  group: 'CPU',
  text: {
    title: 'Workers are not equally busy',
    what: 'Several processes share the port, but connections are not spread evenly: one process is saturated while others are idle.',
    shows: 'The busiest process runs all of the time, and much more than the mean of all.',
    experiment: "None of its own; the connections of 'connections x2' may be spread better.",
    formula: 'balanced throughput = throughput x busiest / mean',
    remedy: 'More connections, a shorter keep-alive, or another scheduling policy for connections.',
    confirm:
      'give every process as many connections (a shorter keep-alive, or another scheduling policy): throughput rises by the ratio of the busiest to the mean',
    detected: 'by its signature',
  },
  detectors: [detectWorkerImbalance],
  addsCapacity: true,
} satisfies Limit;

/**
 * Finds the processes that serve requests. Without a probe these are the Node.js processes other than a cluster's
 * primary, which accepts connections and passes them on.
 */
function findWorkers(base: Metrics['base']) {
  const processes = base.outside?.processes ?? [];
  const { inside } = base;
  if (inside) {
    const known = new Set([...inside.pids, ...inside.workers]);
    return processes.filter(({ pid }) => known.has(pid));
  }
  const grown = processes.filter(({ others }) => others.length >= 4);
  if (grown.length < 3) return findWorkingProcesses(base);
  const primary = grown.reduce((least, it) => (it.pid < least.pid ? it : least));
  return grown.filter((it) => it !== primary);
}

function detectWorkerImbalance({ base, throughput }: Metrics): Detected {
  const limit = 'worker-imbalance';
  const processes = findWorkers(base);
  if (!base.outside) return null;
  if (processes.length < 2) return { limit, why: 'one process serves all requests' };
  // Waiting for a core is another limit.
  const runs = processes.map(({ main }) => computeWantedShare(main, base) - main.queued);
  const busiest = Math.max(...runs);
  const mean = runs.reduce((sum, run) => sum + run, 0) / runs.length;
  if (busiest < SATURATED || busiest / mean < 1.3) {
    return {
      limit,
      why: `the busiest of ${runs.length} processes is on a core ${share(busiest)} of the time, their mean is ${share(mean)}`,
    };
  }
  // The processes and the load generator need cores for it.
  const { cores, server } = base.outside.cpu;
  const used = server + estimateGeneratorCores(base.outside.cpu, throughput);
  const [even, bound] = [busiest / mean, cores / Math.max(0.01, used)];
  const balanced = Math.max(throughput, throughput * Math.min(even, bound));
  return {
    limit,
    causeOf: 'event-loop-cpu',
    weight: 0.9,
    sentence: `the workers are not equally busy: one is on a core ${share(busiest)} of the time, the mean of ${runs.length} is ${share(mean)}.`,
    arithmetic: [
      `balanced: ${rate(throughput)} req/s x ${share(busiest)} / ${share(mean)} = ${rate(throughput * even)} req/s${bound < even ? `; the cores suffice for ${rate(balanced)} req/s` : ''}`,
    ],
    evidence: processes.map(({ pid, main }) => ({
      what: `process ${pid} on a core`,
      value: main.run,
      unit: '1',
      source: 'proc',
    })),
    predictions: {
      'connections-x2': { low: 0.9, high: (busiest / mean) * 1.1 },
    },
    remedy: {
      change:
        'spread the connections: more of them, a shorter keep-alive, or another scheduling policy',
      predictedThroughput: {
        low: Math.max(throughput, 0.85 * balanced),
        high: Math.max(1.05 * throughput, balanced),
      },
      nextLimit: bound < even ? 'shared-cores' : 'event-loop-cpu',
    },
  };
}
