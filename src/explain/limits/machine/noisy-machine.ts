import { share } from '../../../format/units.js';
import { SATURATED } from '../../hypotheses/event-loop/loop-capacity.js';
import { describeRunningLoop } from '../../hypotheses/event-loop/queue.js';
import { type Detected, type Hypothesis, scale } from '../../hypotheses/hypothesis.js';
import {
  describeFreeCores,
  isStarved,
  NO_CORE_PREDICTIONS,
} from '../../hypotheses/machine/cores.js';
import { findSaturatedProgram } from '../../hypotheses/outbound/saturated-program.js';
import { computeUnseenCores } from '../../hypotheses/outbound/unseen-programs.js';
import { computeForeignCores, computeStealShare, MIN_FOREIGN_CORES } from '../../metrics/derive.js';
import type { MachineUse, Metrics } from '../../metrics/types.js';
import type { Limit } from '../limit.js';

export const NOISY_MACHINE = {
  id: 'noisy-machine',
  group: 'machine',
  text: {
    title: 'Other programs on the machine',
    what: 'Other processes, or other machines on the same host, take the cores.',
    shows:
      "Other processes use more CPU time than the generator and the server's thread waits for a core, or the host takes its core for a good part of the time (steal).",
    experiment: 'None of its own: explain does not touch other programs.',
    formula:
      'stretch = (time on a core + time queued for one, or stolen) / time on a core; steal is assumed to take the same share of the wanted CPU time of each thread',
    remedy: 'A quiet machine with dedicated cores, or stop the other programs.',
    confirm:
      'run the same load while the other programs are stopped, or on another host: throughput rises as far as the server has to wait for its core now',
    detected: 'by its signature',
    note: 'A difference below the noise of unchanged blocks never counts as an effect.',
  },
  detectors: [detectNoisyMachine],
  isSevere: true,
} satisfies Limit;

function detectNoisyMachine(metrics: Metrics): Detected {
  const limit = 'noisy-machine';
  const { machine, throughput } = metrics;
  if (!machine) return null;
  const { cpu, loop } = machine;
  if (isLimitedBySteal(loop)) return describeSteal(machine, throughput);
  if (metrics.loop?.isFromProbe === false && canBeLimitedBySteal(machine))
    return describePossibleSteal(machine);
  // Programs that come and go leave cores idle when they are gone.
  const free = describeFreeCores(metrics, machine.minIdle);
  if (free) return { limit, why: free };
  // What the service calls on this machine is no noise: it is there because of the load.
  const foreign = computeForeignCores(cpu);
  const isCalled = computeUnseenCores(metrics) !== null;
  if (isCalled && !describeRunningLoop(metrics) && findSaturatedProgram(metrics)) {
    const why = `other processes use ${foreign.toFixed(2)} cores, in proportion to the requests: they seem to work for the service`;
    return { limit, why };
  }
  if (foreign <= MIN_FOREIGN_CORES || foreign <= cpu.self || !isStarved(loop)) {
    const called = cpu.dependencies > 0.05 ? 'that the service is not seen to call ' : '';
    return {
      limit,
      why: `other processes ${called}use ${foreign.toFixed(2)} cores, the host takes ${share(computeStealShare(cpu))} of the wanted CPU time`,
    };
  }
  const stretch = (loop.run + loop.queued) / Math.max(0.01, loop.run);
  return {
    limit,
    // Severe only where they take a good part of the loop's core: otherwise the rest is the larger share.
    weight: Math.min(1, 0.45 + loop.queued),
    sentence: `other processes use ${foreign.toFixed(2)} of ${cpu.cores} cores${isCalled ? ', in proportion to the requests (a database in a container?)' : ''}: the server's thread waits for a core ${share(loop.queued)} of the time.`,
    arithmetic: [
      `(running ${share(loop.run)} + waiting ${share(loop.queued)}) / running = x ${stretch.toFixed(2)}`,
    ],
    evidence: [
      { what: 'other processes', value: foreign, unit: 'cores', source: 'proc' },
      { what: 'main thread waits for a core', value: loop.queued, unit: '1', source: 'proc' },
    ],
    // Threads share cores equally: two processes get up to twice the share of one.
    predictions: { ...NO_CORE_PREDICTIONS, 'second-process': { low: 0.5, high: 2.1 } },
    remedy: {
      change:
        'measure on a quiet machine, or stop the other programs; give those that belong to the service (a database in a container) cores of their own',
      predictedThroughput: scale({ low: 1 + (stretch - 1) * 0.6, high: stretch * 1.1 }, throughput),
      nextLimit: 'event-loop-cpu',
    },
  };
}

/** Minimum share of the time stolen from a busy loop at which steal is the limit. A lower share is only reported. */
const MIN_STOLEN_SHARE = 0.3; // Source: judgment, docs/decisions/0006-explain.md

/** Whether steal limits a busy loop, more than other programs on the machine do. */
function isLimitedBySteal({ run, queued, stolen }: MachineUse['loop']): boolean {
  return stolen >= MIN_STOLEN_SHARE && stolen > queued && run + queued + stolen >= SATURATED;
}

const STEAL_EVIDENCE = 'stolen by the host';

/** Whether a hypothesis is steal by the machine's host. */
export function isStealHypothesis({ evidence }: Hypothesis): boolean {
  return evidence.some(({ what }) => what === STEAL_EVIDENCE);
}

/** Minimum share of steal at which nothing else can be concluded about a loop without a probe. */
const MIN_DOMINANT_STEAL = 0.5; // Source: judgment, docs/decisions/0006-explain.md

/** Whether the loop may want its core all the time, if each thread loses the same part of the time that it wants. */
function canBeLimitedBySteal({ cpu, loop }: MachineUse): boolean {
  const part = Math.min(0.99, computeStealShare(cpu));
  return part >= MIN_DOMINANT_STEAL && loop.queued + loop.run / (1 - part) >= SATURATED;
}

/** Describes steal without a probe: on some kernels the time on a core includes stolen time. */
function describePossibleSteal({ cpu, loop }: MachineUse): Hypothesis {
  const part = share(computeStealShare(cpu));
  return {
    limit: 'noisy-machine',
    weight: 0.75,
    sentence: `the machine's host takes ${part} of the wanted CPU time (steal); without the probe it is unknown how much of it the server loses.`,
    arithmetic: [
      `stolen ${cpu.steal.toFixed(2)} / wanted ${cpu.wanted.toFixed(2)} cores = ${part}`,
      `running ${share(loop.run)} / (1 - ${part}) = share of the time that the server's thread may have wanted`,
    ],
    evidence: [{ what: STEAL_EVIDENCE, value: cpu.steal, unit: 'cores', source: 'proc' }],
    // A loop without a core serves no more with more connections, unless the host takes less by then.
    predictions: { 'connections-x2': { low: 0.3, high: 1.35 } },
    remedy: { change: DEDICATED_CORES, predictedThroughput: null, nextLimit: null },
  };
}

const DEDICATED_CORES =
  'measure on a machine with dedicated cores (a burstable instance: once its credits are restored)';

/**
 * Describes steal that limits the loop. No experiment can refute it, as the host takes a different amount at any time.
 */
function describeSteal({ cpu, loop }: MachineUse, throughput: number): Hypothesis {
  const stretch = (loop.run + loop.stolen) / Math.max(0.01, loop.run);
  return {
    limit: 'noisy-machine',
    weight: 0.75,
    sentence: `the machine's host takes ${share(computeStealShare(cpu))} of the wanted CPU time (steal): the server's thread lacks its core ${share(loop.stolen)} of the time.`,
    arithmetic: [
      `stolen ${cpu.steal.toFixed(2)} / wanted ${cpu.wanted.toFixed(2)} cores = ${share(computeStealShare(cpu))}`,
      `(running ${share(loop.run)} + stolen ${share(loop.stolen)}) / running = x ${stretch.toFixed(2)}: the server's work takes that much longer`,
    ],
    evidence: [
      { what: STEAL_EVIDENCE, value: cpu.steal, unit: 'cores', source: 'proc' },
      { what: 'main thread on a core', value: loop.run, unit: '1', source: 'proc' },
    ],
    predictions: {},
    remedy: {
      change: DEDICATED_CORES,
      predictedThroughput: scale({ low: 1 + (stretch - 1) * 0.5, high: stretch * 1.1 }, throughput),
      // The next limit is taken from the other hypotheses.
      nextLimit: null,
    },
  };
}
