import { count, rate, share, time } from '../../../format/units.js';
import { describeSteal, predictBusyLoop } from '../../hypotheses/event-loop/busy-loop.js';
import {
  buildLoopEvidence,
  computeGarbageShare,
  deriveLoopLimit,
  SATURATED,
} from '../../hypotheses/event-loop/loop-capacity.js';
import type { Detected } from '../../hypotheses/hypothesis.js';
import { describeSaturatedProgram } from '../../hypotheses/outbound/saturated-program.js';
import { findWorkingProcesses } from '../../metrics/derive.js';
import type { Metrics } from '../../metrics/types.js';
import type { Limit } from '../limit.js';

export const EVENT_LOOP_CPU = {
  id: 'event-loop-cpu',
  group: 'CPU',
  text: {
    title: 'The event loop is busy',
    what: 'The JavaScript of a process runs on one thread, and that thread computes all of the time.',
    shows:
      "The main thread runs, or is ready to run, nearly all of the time. Requests wait unread in the server's sockets, and the response time grows with the connections.",
    experiment:
      "'CPU injection' adds a little work to each request: throughput falls by exactly its share, while an idle loop would absorb it. 'connections x2' yields the same throughput and twice the response time.",
    formula:
      'maximum = 1 / CPU time per request; ratio with added work = CPU time / (CPU time + added time)',
    remedy:
      'Less work per request (the profile lists the most expensive functions), or more processes on other cores.',
    detected: 'by experiment',
    note: "'CPU injection' needs the probe; without it the busy thread is the evidence.",
  },
  detectors: [detectEventLoopCpu],
  remedyExperiments: [{ experiment: 'second-process' }],
  addsCapacity: true,
  savesLoopTime: true,
} satisfies Limit;

function detectEventLoopCpu(metrics: Metrics): Detected {
  const { loop, throughput, maxConcurrency } = metrics;
  const limit = 'event-loop-cpu';
  if (!loop) return null;
  // During a collection the thread also waits for the collector's other threads.
  const collecting = Math.min(loop.waiting, computeGarbageShare(metrics) * loop.busy);
  const running = loop.run + loop.queued + loop.stolen + collecting;
  if (running < SATURATED) {
    return { limit, why: `the main thread is on a core ${share(loop.run)} of the time` };
  }
  const taken = loop.queued > loop.run ? describeSaturatedProgram(metrics) : null;
  if (taken) return { limit, why: `the main thread waits for a core, as ${taken}` };
  // A loop that had no core at all meanwhile is one nonetheless.
  const loops = Math.max(1, findWorkingProcesses(metrics.base).length);
  const maxThroughput = deriveLoopLimit(metrics);
  const cores = metrics.base.outside?.cpu;
  const idle = cores ? Math.floor(cores.idle + 0.3) : 0;
  return {
    limit,
    weight: Math.min(1, 0.7 + (running - SATURATED) * 2),
    sentence: `the event loop${loops > 1 ? `s: ${loops} of them are` : ' is'} ${share(loop.busy)} busy, and each request takes ${time(loop.cpuMs)} of CPU time.`,
    arithmetic: [
      `${loops > 1 ? loops : '1'} / ${time(loop.cpuMs)} = at most ${maxThroughput ? rate(maxThroughput) : '?'} req/s, measured ${rate(throughput)}${describeSteal(loop)}`,
      // The response times of a watch do not include the time in which requests are unread.
      ...(metrics.isWatched
        ? []
        : [
            `${count(maxConcurrency)} in flight / ${rate(throughput)} req/s = ${time((maxConcurrency * 1000) / throughput)} each, measured ${time(metrics.latencyMs)}: more connections only add latency`,
          ]),
    ],
    evidence: buildLoopEvidence(metrics),
    predictions: predictBusyLoop(metrics),
    remedy: {
      change:
        idle > 0
          ? `less work per request (see the hot functions), or more processes: ${idle} ${idle === 1 ? 'core is' : 'cores are'} idle`
          : 'less work per request (see the hot functions), or more processes on more cores',
      predictedThroughput:
        idle > 0
          ? {
              low: throughput * (1 + 0.6 * Math.min(idle, loops)),
              high: throughput * (1 + idle / loops),
            }
          : null,
      nextLimit: idle > 0 ? 'event-loop-cpu' : null,
    },
  };
}
