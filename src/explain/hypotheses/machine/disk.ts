import { rate, share } from '../../../format/units.js';
import { type Detector, widen } from '../hypothesis.js';

export const detectDisk: Detector = ({ base }) => {
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
};
