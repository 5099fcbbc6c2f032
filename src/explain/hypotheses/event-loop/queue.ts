import { plural, share } from '../../../format/units.js';
import { computeHalvedShare, listOtherThreads } from '../../metrics/derive.js';
import type { MachineUse, Metrics } from '../../metrics/types.js';
import type { OutboundView, ThreadUse } from '../../observe/types.js';
import type { Hypothesis } from '../hypothesis.js';
import { predictAbsorbedDelay } from '../outbound/calls.js';
import { SATURATED } from './loop-capacity.js';

/**
 * Predicts the experiments for a limit behind an idle loop: more requests only queue, more work on the loop is free.
 */
export function predictQueueing(metrics: Metrics): Hypothesis['predictions'] {
  const alone = metrics.unloadedLatencyMs ?? metrics.responseMs;
  // Requests that can be served at once: with fewer than that in flight, throughput falls.
  const permits = (metrics.throughput * alone) / 1000;
  const left = metrics.maxConcurrency * computeHalvedShare(metrics);
  const half = Math.min(1, left / Math.max(permits, 0.5));
  return {
    'connections-x2': { low: 0.85, high: 1.15 },
    'connections-half': { low: half * 0.85, high: 1.12 },
    'cpu-injection': { low: 0.94, high: 1.04 },
    ...predictAbsorbedDelay(metrics),
  };
}

/** Describes a busy loop, which rules out limits behind it; `null` if the loop is idle. */
export function describeBusyLoop({ loop }: Metrics): string | null {
  if (loop && loop.busy >= SATURATED) return `the event loop itself is ${share(loop.busy)} busy`;
  return null;
}

/**
 * Describes a busy loop that runs for most of its time; `null` if the loop is idle, or mostly waits for a core that other
 * programs have.
 */
export function describeRunningLoop(metrics: Metrics): string | null {
  const { loop } = metrics;
  return loop && loop.queued > loop.run ? null : describeBusyLoop(metrics);
}

/** Finds threads other than the loops' that are always busy, such as worker threads. What they do is not observed. */
export function findBusyThreads({ base }: Metrics): ThreadUse[] {
  return listOtherThreads(base).filter(({ run }) => run >= SATURATED);
}

/** Describes the first busy thread other than the loops'; `null` without one. */
export function describeBusyThread(metrics: Metrics): string | null {
  const [busy] = findBusyThreads(metrics);
  if (!busy) return null;
  const { name, pid, tid, run } = busy;
  return `a thread other than the event loop's is ${share(run)} busy (${name}, thread ${tid} of process ${pid})`;
}

/**
 * Describes that the server's threads use all its cores, so that requests queue for CPU time; `null` if some are idle.
 */
export function describeBusyCores({ base }: Metrics): string | null {
  const { server, cores } = base.outside?.cpu ?? { server: 0, cores: 1 };
  if (server < SATURATED * cores) return null;
  return `the server's threads use ${server.toFixed(1)} of ${plural(cores, 'core')}`;
}

/** Maximum share of the cores that may be idle if requests can queue for CPU time. */
const MAX_IDLE_SHARE = 0.15;

/**
 * Describes that other programs use all cores that the server does not: among them may be what it asks, such as a
 * database on the same machine; `null` if cores are idle.
 */
export function describeTakenCores({ machine }: Metrics): string | null {
  if (!machine) return null;
  const { idle, cores, others, dependencies } = machine.cpu;
  if (!hasNoIdleCore(machine) || others < MAX_IDLE_SHARE * cores) return null;
  const called = dependencies > others / 2 ? 'the programs that it calls' : 'other programs';
  return `only ${idle.toFixed(2)} of ${plural(cores, 'core')} are idle, and ${called} use ${others.toFixed(1)}: requests queue for CPU time, here or in what the service asks`;
}

/** Whether threads that want to run have to wait for a core. */
function hasNoIdleCore({ cpu }: MachineUse): boolean {
  return cpu.idle <= MAX_IDLE_SHARE * cpu.cores;
}

/** Minimum ratio of the response time under load to that of a single request at which requests queue. */
export const MIN_QUEUEING_STRETCH = 1.5;

/** Whether requests queue for something. */
export function hasQueue({ unloadedLatencyMs, responseMs }: Metrics): boolean {
  return unloadedLatencyMs === null || responseMs > MIN_QUEUEING_STRETCH * unloadedLatencyMs;
}

/**
 * Whether a dependency responds slower under load than to a single request, so that more calls at once yield nothing.
 */
export function isSlowerUnderLoad(
  { single }: Metrics,
  { origin, answerP50Ms }: OutboundView,
): boolean {
  const alone = single?.inside?.outbound.find((one) => one.origin === origin)?.answerP50Ms;
  return Boolean(alone && answerP50Ms && answerP50Ms > MIN_QUEUEING_STRETCH * alone);
}
