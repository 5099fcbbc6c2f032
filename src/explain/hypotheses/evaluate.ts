import type { Metrics } from '../metrics/types.js';
import * as nagle from './connections/delayed-ack.js';
import * as failures from './connections/failures.js';
import * as inFlight from './connections/in-flight.js';
import * as opening from './connections/opening.js';
import * as refused from './connections/refused.js';
import * as blocked from './event-loop/blocked.js';
import { createDegradesOverTimeDetector } from './event-loop/cost-over-time.js';
import * as loop from './event-loop/loop.js';
import * as output from './event-loop/output.js';
import { detectSerialized } from './event-loop/serialized.js';
import { detectSynchronousWrites } from './event-loop/synchronous-writes.js';
import * as workers from './event-loop/workers.js';
import { detectManyWrites } from './event-loop/writes.js';
import type { History } from './history.js';
import { type Detector, type Evaluation, isHypothesis } from './hypothesis.js';
import * as disk from './machine/disk.js';
import { detectGeneratorSaturated } from './machine/generator.js';
import * as machine from './machine/machine.js';
import * as memory from './machine/memory.js';
import { detectNameLookups } from './machine/name-lookups.js';
import * as network from './machine/network.js';
import { detectThreadpool } from './machine/threadpool.js';
import { detectOutboundPool } from './outbound/outbound-pool.js';
import { detectSaturatedDependency } from './outbound/saturated-dependency.js';
import { detectSlowDependency } from './outbound/slow-dependency.js';

/** Evaluates the metrics for every limit that has a detector. */
export function evaluateHypotheses(
  metrics: Metrics,
  { retained, exhausted, costOverTime, secondProcess, afterRestart }: History,
): Evaluation {
  const detectors: Detector[] = [
    failures.detectErrors,
    failures.detectKeepAliveRace,
    failures.detectEphemeralPorts,
    detectGeneratorSaturated,
    inFlight.detectTooFewConnections,
    refused.detectFdLimit,
    refused.detectListenBacklog,
    nagle.detectNagleDelayedAck,
    inFlight.detectHeadOfLine,
    nagle.detectOutboundDelayedAck,
    opening.detectOutboundChurn,
    opening.detectTlsHandshake,
    opening.detectConnectionChurn,
    opening.detectAcceptRate,
    detectManyWrites,
    machine.detectCpuQuota,
    machine.detectNoisyMachine,
    machine.detectSharedCores,
    network.detectBandwidth,
    network.detectPacketLoss,
    disk.detectDisk,
    memory.createMemoryGrowthDetector(retained, exhausted),
    memory.detectGcYoung,
    memory.detectGcOld,
    output.detectLogging,
    detectSynchronousWrites,
    output.detectCompression,
    blocked.detectEventLoopBlocked,
    blocked.detectEventLoopSyncWait,
    workers.detectWorkerImbalance,
    loop.detectIdleWork,
    createDegradesOverTimeDetector(costOverTime, secondProcess, afterRestart),
    loop.detectEventLoopCpu,
    workers.detectSingleCore,
    detectOutboundPool,
    detectThreadpool,
    detectNameLookups,
    detectSlowDependency,
    detectSaturatedDependency,
    detectSerialized,
  ];
  const found = detectors.flatMap((detect) => detect(metrics) ?? []);
  const hypotheses = found.filter(isHypothesis).sort((a, b) => b.weight - a.weight);
  // Some limits have two detectors, one for inbound and one for outbound connections: the stronger result counts.
  const supportedLimits = new Set(hypotheses.map(({ limit }) => limit));
  return {
    hypotheses: hypotheses.filter(
      (it) => it === hypotheses.find(({ limit }) => limit === it.limit),
    ),
    ruledOut: found.flatMap((it) =>
      isHypothesis(it) || supportedLimits.has(it.limit) ? [] : [it],
    ),
  };
}
