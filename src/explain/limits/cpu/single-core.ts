import { rate, share } from '../../../format/units.js';
import { describeSteal, predictBusyLoop } from '../../hypotheses/event-loop/busy-loop.js';
import { SATURATED } from '../../hypotheses/event-loop/loop-capacity.js';
import type { Detected } from '../../hypotheses/hypothesis.js';
import { findWorkingProcesses } from '../../metrics/derive.js';
import type { Metrics } from '../../metrics/types.js';
import type { Limit } from '../limit.js';

export const SINGLE_CORE = {
  id: 'single-core',
  group: 'CPU',
  text: {
    title: 'One process on one core',
    what: 'One process uses one core for its JavaScript, and the other cores are idle.',
    shows: 'One main thread runs all of the time, and there are idle cores.',
    experiment:
      "'second process' starts the command a second time, each process with half of the connections: nearly twice the throughput, as far as there are cores.",
    formula: 'maximum = processes x throughput of one process, until the next limit',
    remedy: 'More processes: node:cluster, or copies behind a proxy.',
    detected: 'by experiment',
    note: 'event-loop-cpu has more weight and is the verdict then; its remedy states the result of the second process. The experiment needs a server that millrace started.',
  },
  detectors: [detectSingleCore],
  remedyExperiments: [{ experiment: 'second-process' }],
  addsCapacity: true,
} satisfies Limit;

function detectSingleCore(metrics: Metrics): Detected {
  const { loop, base, throughput } = metrics;
  const limit = 'single-core';
  const cpu = base.outside?.cpu;
  if (!loop || !cpu) return null;
  if (cpu.cores < 2) return { limit, why: 'there is one core' };
  const loops = findWorkingProcesses(base).length;
  if (loop.run + loop.stolen < SATURATED || loops > 1) {
    const why =
      loops > 1
        ? `${loops} processes serve requests`
        : `its thread is on a core ${share(loop.run)} of the time`;
    return { limit, why };
  }
  if (cpu.idle < 0.6) return { limit, why: `only ${cpu.idle.toFixed(2)} cores are idle` };
  const maxProcesses = Math.min(cpu.cores, 1 + Math.floor(cpu.idle + 0.3));
  return {
    limit,
    causeOf: 'event-loop-cpu',
    weight: 0.46,
    sentence: `one process on one core: its thread is on a core ${share(loop.run)} of the time${describeSteal(loop)}, ${cpu.idle.toFixed(1)} of ${cpu.cores} cores are idle.`,
    arithmetic: [`at most ${maxProcesses} processes: ${maxProcesses} x ${rate(throughput)} req/s`],
    evidence: [{ what: 'idle cores', value: cpu.idle, unit: 'cores', source: 'proc' }],
    predictions: predictBusyLoop(metrics),
    remedy: {
      change: `${maxProcesses} processes (node:cluster)`,
      predictedThroughput: {
        low: throughput * (1 + 0.6 * (maxProcesses - 1)),
        high: throughput * maxProcesses,
      },
      nextLimit: 'event-loop-cpu',
    },
  };
}
