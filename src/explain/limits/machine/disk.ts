import { rate, share } from '../../../format/units.js';
import { type Detected, widen } from '../../hypotheses/hypothesis.js';
import type { Metrics } from '../../metrics/types.js';
import type { Limit } from '../limit.js';

export const DISK = {
  id: 'disk',
  group: 'machine',
  text: {
    title: 'The disk',
    what: 'Requests wait for a disk: reads, fsync, or memory that was swapped out.',
    shows: 'Tasks wait for the disk a good part of the time (pressure), or pages are read from it.',
    experiment: "None of its own: explain does not move files. 'connections x2' yields nothing.",
    formula: 'throughput = operations per second of the disk / operations per request',
    remedy: 'Fewer or larger accesses, a cache in memory, a faster disk.',
    confirm:
      'put the files into memory (a tmpfs) for one run: throughput rises, and the pressure of the disk falls to nothing',
    detected: 'by its signature',
    note: 'Needs a kernel with pressure information (/proc/pressure/io).',
  },
  detectors: [detectDisk],
} satisfies Limit;

function detectDisk({ base }: Metrics): Detected {
  const limit = 'disk';
  const pressure = base.outside?.diskPressure ?? null;
  const faults =
    base.outside?.processes.reduce((sum, { majorFaults }) => sum + majorFaults, 0) ?? 0;
  if (pressure === null) return null;
  // The pressure is that of the whole machine: it has to affect the server too.
  const own = faults >= 50 || (base.inside?.poolMs?.mean ?? 0) > 2;
  if (pressure < 0.3 || !own) {
    return { limit, why: `tasks waited for the disk ${share(pressure)} of the time` };
  }
  return {
    limit,
    weight: 0.5 + pressure * 0.4,
    sentence: `the disk: tasks wait for it ${share(pressure)} of the time.`,
    arithmetic: [`${rate(faults)} page faults per second wait for the disk`],
    evidence: [{ what: 'waiting for the disk', value: pressure, unit: '1', source: 'proc' }],
    predictions: { 'connections-x2': widen(1, 0.15) },
    remedy: {
      change: 'fewer or larger accesses, a cache in memory, a faster disk',
      predictedThroughput: null,
      nextLimit: null,
    },
  };
}
