import { share, time } from '../../../format/units.js';
import type { Range } from '../../../statistics/types.js';
import { working } from '../../metrics/derive.js';
import type { Metrics } from '../../metrics/types.js';
import { type Detector, freed, times } from '../hypothesis.js';
import { busyLoop } from './loop.js';
import { loopEvidence, SATURATED } from './loop-capacity.js';

/** A write to a socket in Node: the loop's time for it, ms (5 to 6 µs on current machines, more with TLS). */
const WRITE_MS = 0.006;

export const manyWrites: Detector = (facts) => {
  const limit = 'many-writes';
  const written = working(facts.base).map(({ calls }) => calls?.writes ?? Number.NaN);
  const writes = written.reduce((sum, one) => sum + one, 0);
  if (written.length === 0 || Number.isNaN(writes) || !facts.loop) return null;
  const each = writes / Math.max(1, facts.throughput);
  const logged = (facts.base.inside?.output.writes ?? 0) / Math.max(1, facts.throughput);
  // Questions to databases and calls to others are written to sockets, too.
  const asked = (facts.base.inside?.outbound ?? []).reduce((sum, call) => sum + call.rate, 0);
  const toSockets = each - logged - asked / Math.max(1, facts.throughput);
  // All of them together take no more than there is.
  const writeMs = Math.min(WRITE_MS, facts.loop.cpuMs / Math.max(1, toSockets));
  const part = ((toSockets - 1) * writeMs) / Math.max(1e-6, facts.loop.cpuMs);
  const inParts = facts.base.load.gapMs.count / Math.max(1, facts.base.load.requests.ok);
  if (toSockets < 1.6 || facts.loop.busy < SATURATED || part < 0.12) {
    return { limit, why: `${toSockets.toFixed(1)} writes per response` };
  }
  return {
    limit,
    within: 'event-loop-cpu',
    weight: Math.min(0.95, 0.5 + part),
    sentence: `many writes: ${toSockets.toFixed(1)} system calls write each response, and the loop is ${share(facts.loop.busy)} busy.`,
    arithmetic: [
      `${(toSockets - 1).toFixed(1)} writes more than one x about ${time(writeMs)} = ${time((toSockets - 1) * writeMs)} of ${time(facts.loop.cpuMs)} per request`,
    ],
    evidence: [
      { what: 'writes per response', value: toSockets, unit: 'calls', source: 'proc' },
      { what: 'responses in parts', value: inParts, unit: '1', source: 'load' },
      ...loopEvidence(facts),
    ],
    otherwise: 'unknown',
    predictions: { ...busyLoop(facts), 'writes corked': freed(Math.min(0.9, part), 0.4, 3) },
    remedy: {
      change:
        'one write per response: collect the parts (cork(), end(body)), or pipe larger chunks',
      predictedThroughput: times(inOneWrite(facts, toSockets, part), facts.throughput),
      nextLimit: 'event-loop-cpu',
    },
  };
};

/** The gain of one write per response. A profile sees what the others cost: most of it above the system call. */
function inOneWrite({ loopTime }: Metrics, writes: number, part: number): Range {
  const others = (writes - 1) / writes;
  return loopTime && loopTime.writing * others > part
    ? freed(loopTime.writing * others, 0.9, 1.1)
    : freed(Math.min(0.9, part), 0.8, 1.15);
}
