import { share } from '../../../format/units.js';
import { canHostWithholdCores, findWorkingProcesses } from '../../metrics/derive.js';
import type { Loop, Metrics } from '../../metrics/types.js';
import type { Hypothesis } from '../hypothesis.js';
import { predictAbsorbedDelay } from '../outbound/calls.js';
import { predictPerhapsWithoutCalls } from '../outbound/calls-from-memory.js';
import { computeInjectedMs } from './loop-capacity.js';

/** Overhead of injecting work into the loop in ms per request: measured as 1 to 3 µs plus up to a third of the work. */
const INJECTION_OVERHEAD_MS = 0.002; // Source: measured: 1 to 3 µs and up to a third of the work

/** Predicts the experiments for a busy loop: more connections yield nothing, more work per request costs its time. */
export function predictBusyLoop(metrics: Metrics): Hypothesis['predictions'] {
  const { loop, maxConcurrency, unloadedLatencyMs, throughput } = metrics;
  if (!loop) return {};
  // Half of the requests may be too few to keep the loop busy: N / 2 / R of a single request.
  const half = unloadedLatencyMs ? (maxConcurrency * 500) / unloadedLatencyMs / throughput : 0.6;
  const injected = computeInjectedMs(metrics);
  // A thread may be busy though its loop does not turn.
  const busy = Math.max(1e-6, loop.busy);
  // Background work is not part of a request: it stays as it is, or gives way.
  const own = Math.max(0.05, 1 - (metrics.idleShare ?? 0) / busy);
  const ownBusyMs = own * loop.busyMs;
  // Where the thread waits for a core, added work waits too.
  const stretch = (loop.run + loop.queued + loop.stolen) / Math.max(0.1, loop.run);
  return {
    // More requests per turn mean fewer turns, and a timer runs at most once per turn.
    'connections-x2': {
      low: 0.85,
      high: Math.max(loop.isFromProbe ? MAX_BATCH_GAIN : 1.1, 1.1 / busy, 1 / own),
    },
    'connections-half': {
      low: Math.min(loop.busy > 0.95 ? 0.75 : 0.5, 0.85 * half),
      high: 1.2,
    },
    'cpu-injection': {
      low:
        (0.92 * ownBusyMs) /
        (ownBusyMs + injected * Math.max(1.3, stretch) + INJECTION_OVERHEAD_MS),
      // Idle time is used first.
      high: (1.08 * loop.busyMs) / (loop.busyMs + injected * 0.95) / busy,
    },
    ...predictSecondProcess(metrics),
    ...predictAbsorbedDelay(metrics),
    // Calls cost time of the loop too.
    ...predictPerhapsWithoutCalls(metrics),
  };
}

/**
 * Maximum gain of a loop that measured itself as busy by more requests per turn: what it does once for all of them (a
 * write of many log lines, a batch of queries, a collection) costs each of them less.
 */
const MAX_BATCH_GAIN = 1.5; // Source: bench checkout-winston: 1.3 to 1.5 in three trials

/** Minimum of the cores used by other processes at which they contend with the server. */
const MIN_CONTENDED_CORES = 0.3;

/**
 * Predicts 'second-process': up to twice the throughput, as far as there are cores and the host does not withhold them.
 */
function predictSecondProcess(metrics: Metrics): Hypothesis['predictions'] {
  const { base, machine } = metrics;
  const cpu = base.outside?.cpu;
  const loops = findWorkingProcesses(base);
  if (!cpu || loops.length > 1) return {};
  // A server that is bound to some cores may have fewer than the others use.
  const left = Math.max(0, cpu.cores - cpu.others);
  const twice = (used: number) => Math.min(2, left / Math.max(0.01, used));
  // Threads other than the loops may need less: generators wake up less often, a parallel collection uses more cores.
  const run = loops.reduce((sum, { main }) => sum + main.run, 0);
  const [gain, maxGain] = [twice(cpu.server + cpu.self), twice(run)];
  // Shared resources other than cores may yield less; two processes get twice the share of contended cores.
  const fair = cpu.others > MIN_CONTENDED_CORES ? 2 : maxGain;
  return {
    'second-process': {
      low: Math.min(
        canHostWithholdCores(machine) ? 0.85 : 1.05,
        0.75 * gain,
        0.95 * computeDemand(metrics),
      ),
      high: Math.max(1.1, 1.08 * maxGain, 1.05 * fair) / (1 - computeCollectedShare(metrics)),
    },
  };
}

/**
 * Computes the share of the loop's busy time that collections take. Each of two processes has half of the requests in
 * flight, and so fewer objects that outlive a collection: at best this time is saved.
 */
function computeCollectedShare({ base: { inside }, loop }: Metrics): number {
  if (!inside || !loop) return 0;
  const { young, old, other } = inside.gc;
  return Math.min(0.8, (young + old + other) / Math.max(0.05, loop.busy));
}

/** Computes the maximum that the requests in flight ask for, N / (R + Z), as a ratio to the throughput. */
function computeDemand({ unloadedLatencyMs, maxConcurrency, throughput, base }: Metrics): number {
  if (unloadedLatencyMs === null) return Number.POSITIVE_INFINITY;
  return (maxConcurrency * 1000) / (unloadedLatencyMs + base.load.plan.thinkTimeMs) / throughput;
}

/** Describes how much of the loop's time the machine's host takes. */
export function describeSteal({ stolen }: Loop): string {
  return stolen > 0.01
    ? `: the machine's host takes its core ${share(stolen)} of the time (steal)`
    : '';
}
