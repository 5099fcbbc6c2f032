import { share, time } from '../../../format/units.js';
import type { Interval } from '../../../statistics/types.js';
import { predictBusyLoop } from '../../hypotheses/event-loop/busy-loop.js';
import { buildLoopEvidence, SATURATED } from '../../hypotheses/event-loop/loop-capacity.js';
import { computeGain, type Detected, scale } from '../../hypotheses/hypothesis.js';
import { findWorkingProcesses } from '../../metrics/derive.js';
import type { Metrics } from '../../metrics/types.js';
import type { Limit } from '../limit.js';

export const MANY_WRITES = {
  id: 'many-writes',
  group: 'connections and TCP',
  text: {
    title: 'Many small writes',
    what: 'Each response takes several write system calls, and their cost adds up on a busy loop.',
    shows: 'The main thread writes clearly more than once per response, and the loop is busy.',
    experiment: "'writes corked' combines the parts of a response into one write.",
    formula: 'time saved per response = (writes - 1) x time of a write, 5 to 6 µs in Node.js',
    remedy: 'One write per response: end(body), cork(), or pipe larger chunks.',
    detected: 'by experiment',
    note: 'The experiment needs the probe.',
  },
  detectors: [detectManyWrites],
  remedyExperiments: [
    // The stream combines the parts, after the work above it for each of them.
    { experiment: 'writes-corked', isPartial: true },
  ],
} satisfies Limit;

/** Time of the loop for a write to a socket in Node.js, ms (5 to 6 µs on current machines, more with TLS). */
const WRITE_MS = 0.006; // Source: measured: 5 to 6 µs

function detectManyWrites(metrics: Metrics): Detected {
  const limit = 'many-writes';
  const written = findWorkingProcesses(metrics.base).map(
    ({ calls }) => calls?.writes ?? Number.NaN,
  );
  const writes = written.reduce((sum, one) => sum + one, 0);
  if (written.length === 0 || Number.isNaN(writes) || !metrics.loop) return null;
  const each = writes / Math.max(1, metrics.throughput);
  const { output, files } = metrics.base.inside ?? { output: { writes: 0 }, files: { writes: 0 } };
  const logged = (output.writes + files.writes) / Math.max(1, metrics.throughput);
  // Queries to databases and calls to other services are written to sockets too.
  const asked = (metrics.base.inside?.outbound ?? []).reduce((sum, call) => sum + call.rate, 0);
  const toSockets = each - logged - asked / Math.max(1, metrics.throughput);
  // All writes together take no more than the CPU time per request.
  const writeMs = Math.min(WRITE_MS, metrics.loop.cpuMs / Math.max(1, toSockets));
  const part = ((toSockets - 1) * writeMs) / Math.max(1e-6, metrics.loop.cpuMs);
  const inParts = metrics.base.load.gapMs.count / Math.max(1, metrics.base.load.requests.ok);
  if (toSockets < 1.6 || metrics.loop.busy < SATURATED || part < 0.12) {
    return { limit, why: `${toSockets.toFixed(1)} writes per response` };
  }
  return {
    limit,
    causeOf: 'event-loop-cpu',
    weight: Math.min(0.95, 0.5 + part),
    sentence: `many small writes: each response takes ${toSockets.toFixed(1)} write system calls, and the loop is ${share(metrics.loop.busy)} busy.`,
    arithmetic: [
      `${(toSockets - 1).toFixed(1)} extra writes x about ${time(writeMs)} = ${time((toSockets - 1) * writeMs)} of ${time(metrics.loop.cpuMs)} per request`,
    ],
    evidence: [
      { what: 'writes per response', value: toSockets, unit: 'calls', source: 'proc' },
      { what: 'responses in parts', value: inParts, unit: '1', source: 'load' },
      ...buildLoopEvidence(metrics),
    ],
    predictions: {
      ...predictBusyLoop(metrics),
      'writes-corked': computeGain(Math.min(0.9, part), 0.4, 3),
    },
    remedy: {
      change:
        'one write per response: combine the parts (cork(), end(body)), or pipe larger chunks',
      predictedThroughput: scale(predictSingleWrite(metrics, toSockets, part), metrics.throughput),
      nextLimit: 'event-loop-cpu',
    },
  };
}

/** Predicts the gain of a single write per response. A profile includes the work of a write above the system call. */
function predictSingleWrite({ loopTime }: Metrics, writes: number, part: number): Interval {
  const others = (writes - 1) / writes;
  return loopTime && loopTime.writing * others > part
    ? computeGain(loopTime.writing * others, 0.9, 1.1)
    : computeGain(Math.min(0.9, part), 0.8, 1.15);
}
