import type { Metrics } from '../metrics/types.js';
import type { HeapExhaustion } from '../observe/probe/heap-exhaustion.js';
import * as nagle from './connections/delayed-ack.js';
import * as failures from './connections/failures.js';
import * as inFlight from './connections/in-flight.js';
import * as opening from './connections/opening.js';
import * as refused from './connections/refused.js';
import {
  type CostOverTime,
  degradesOverTime,
  type SecondProcess,
} from './event-loop/cost-over-time.js';
import * as loop from './event-loop/loop.js';
import * as output from './event-loop/output.js';
import { serialized } from './event-loop/serialized.js';
import { manyWrites } from './event-loop/writes.js';
import { type Detector, type Hypothesis, isHypothesis, type RuledOut } from './hypothesis.js';
import { generatorSaturated } from './machine/generator.js';
import * as machine from './machine/machine.js';
import * as memory from './machine/memory.js';
import { threadpool } from './machine/threadpool.js';
import * as dependency from './outbound/dependency.js';
import { outboundPool } from './outbound/outbound-pool.js';

/** What the facts say of each limit. */
export interface Evaluation {
  /** The strongest first. */
  hypotheses: Hypothesis[];
  ruledOut: RuledOut[];
}

/** What is seen over several blocks. */
export interface History {
  retained: memory.Retained | null;
  /** Processes that have ended with their heap full. */
  exhausted: HeapExhaustion[];
  history: CostOverTime[];
  /** What a second process beside the first gave; `null`: not tried. */
  besides: SecondProcess | null;
  /** What a fresh start showed; `null`: not tried. */
  fresh: CostOverTime | null;
}

/** Every limit for which there is a signature, judged by the facts. */
export function evaluateHypotheses(
  facts: Metrics,
  { retained, exhausted, history, besides, fresh }: History,
): Evaluation {
  const judges: Detector[] = [
    failures.errors,
    failures.keepAliveRace,
    failures.ephemeralPorts,
    generatorSaturated,
    inFlight.tooFewConnections,
    refused.fdLimit,
    refused.listenBacklog,
    nagle.nagleDelayedAck,
    inFlight.headOfLine,
    nagle.outboundDelayedAck,
    opening.outboundChurn,
    opening.tlsHandshake,
    opening.connectionChurn,
    opening.acceptRate,
    manyWrites,
    machine.cpuQuota,
    machine.noisyMachine,
    machine.sharedCores,
    machine.bandwidth,
    machine.packetLoss,
    machine.disk,
    memory.memoryGrowth(retained, exhausted),
    memory.gcYoung,
    memory.gcOld,
    output.logging,
    output.compression,
    loop.eventLoopBlocked,
    loop.eventLoopSyncWait,
    loop.workerImbalance,
    loop.idleWork,
    degradesOverTime(history, besides, fresh),
    loop.eventLoopCpu,
    loop.singleCore,
    outboundPool,
    threadpool,
    dependency.slowDependency,
    dependency.saturatedDependency,
    serialized,
  ];
  const found = judges.flatMap((judge) => judge(facts) ?? []);
  const suspects = found.filter(isHypothesis).sort((a, b) => b.weight - a.weight);
  // Some limits may be on either side of the service: one is enough.
  const suspected = new Set(suspects.map(({ limit }) => limit));
  return {
    hypotheses: suspects.filter((it) => it === suspects.find(({ limit }) => limit === it.limit)),
    ruledOut: found.flatMap((it) => (isHypothesis(it) || suspected.has(it.limit) ? [] : [it])),
  };
}
