import { plural, share } from '../../../format/units.js';
import { computeHalvedShare, listOtherThreads } from '../../metrics/derive.js';
import type { Metrics } from '../../metrics/types.js';
import type { OutboundView, ThreadUse } from '../../observe/types.js';
import type { Hypothesis } from '../hypothesis.js';
import { predictAbsorbedDelay } from '../outbound/calls.js';
import { SATURATED } from './loop-capacity.js';

/** What every limit behind an idle loop shares: more requests only queue, work on the loop costs nothing. */
export function predictQueueing(metrics: Metrics): Hypothesis['predictions'] {
  const alone = metrics.unloadedLatencyMs ?? metrics.responseMs;
  // What can be served at once: below it fewer requests mean less throughput.
  const permits = (metrics.throughput * alone) / 1000;
  const left = metrics.maxConcurrency * computeHalvedShare(metrics);
  const half = Math.min(1, left / Math.max(permits, 0.5));
  return {
    'connections x2': { low: 0.85, high: 1.15 },
    'connections /2': { low: half * 0.85, high: 1.12 },
    'cpu injection': { low: 0.94, high: 1.04 },
    ...predictAbsorbedDelay(metrics),
  };
}

/** Why it is not the loop's place to wait, if it is busy itself; `null` if it is not. */
export function describeBusyLoop({ loop }: Metrics): string | null {
  if (loop && loop.busy >= SATURATED) return `the event loop itself is ${share(loop.busy)} busy`;
  return null;
}

/** Threads beside the loop's that are always busy, as workers' may be: what they do is not seen. */
export function findBusyThreads({ base }: Metrics): ThreadUse[] {
  return listOtherThreads(base).filter(({ run }) => run >= SATURATED);
}

/** The first of them in words; `null` without one. */
export function describeBusyThread(metrics: Metrics): string | null {
  const [busy] = findBusyThreads(metrics);
  if (!busy) return null;
  const { name, pid, tid, run } = busy;
  return `a thread beside the event loop is ${share(run)} busy (${name}, ${tid} of process ${pid})`;
}

/** The threads of the server use all the cores that it has: what they compute is what requests queue for; `null` where some are left. */
export function describeBusyCores({ base }: Metrics): string | null {
  const { server, cores } = base.outside?.cpu ?? { server: 0, cores: 1 };
  if (server < SATURATED * cores) return null;
  return `the threads of the server compute on ${server.toFixed(1)} of ${plural(cores, 'core')}`;
}

/** A response that takes so much longer among others than alone queues for something. */
export const MIN_QUEUEING_STRETCH = 1.5;

export function hasQueue({ unloadedLatencyMs, responseMs }: Metrics): boolean {
  return unloadedLatencyMs === null || responseMs > MIN_QUEUEING_STRETCH * unloadedLatencyMs;
}

/** `5432` of `tcp://db:5432`. */
export function parsePort(address: string): string {
  return address.slice(address.lastIndexOf(':') + 1);
}

/** Answers take longer than to a single request: more calls at once will not give more. */
export function isSlowerUnderLoad(
  { single }: Metrics,
  { origin, answerP50Ms }: OutboundView,
): boolean {
  const alone = single?.inside?.outbound.find((one) => one.origin === origin)?.answerP50Ms;
  return Boolean(alone && answerP50Ms && answerP50Ms > MIN_QUEUEING_STRETCH * alone);
}
