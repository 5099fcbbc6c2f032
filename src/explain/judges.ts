import type { Exhausted } from './exhausted.js';
import type { Facts } from './facts.js';
import { type Acquittal, isSuspect, type Judge, type Suspect } from './suspect.js';
import * as dependency from './suspects/dependency.js';
import * as failures from './suspects/failures.js';
import { generatorSaturated } from './suspects/generator.js';
import * as inFlight from './suspects/in-flight.js';
import * as loop from './suspects/loop.js';
import * as machine from './suspects/machine.js';
import * as memory from './suspects/memory.js';
import * as nagle from './suspects/nagle.js';
import * as opening from './suspects/opening.js';
import { outboundPool } from './suspects/outbound-pool.js';
import * as output from './suspects/output.js';
import * as refused from './suspects/refused.js';
import { serialized } from './suspects/serialized.js';
import { threadpool } from './suspects/threadpool.js';
import { type Ageing, type Besides, degradesOverTime } from './suspects/time.js';
import { manyWrites } from './suspects/writes.js';

/** What the facts say of each limit. */
export interface Judged {
  /** The strongest first. */
  suspects: Suspect[];
  acquitted: Acquittal[];
}

/** What is seen over several blocks. */
export interface History {
  retained: memory.Retained | null;
  /** Processes that have ended with their heap full. */
  exhausted: Exhausted[];
  history: Ageing[];
  /** What a second process beside the first gave; `null`: not tried. */
  besides: Besides | null;
  /** What a fresh start showed; `null`: not tried. */
  fresh: Ageing | null;
}

/** Every limit for which there is a signature, judged by the facts. */
export function judgeAll(
  facts: Facts,
  { retained, exhausted, history, besides, fresh }: History,
): Judged {
  const judges: Judge[] = [
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
  const suspects = found.filter(isSuspect).sort((a, b) => b.weight - a.weight);
  // Some limits may be on either side of the service: one is enough.
  const suspected = new Set(suspects.map(({ limit }) => limit));
  return {
    suspects: suspects.filter((it) => it === suspects.find(({ limit }) => limit === it.limit)),
    acquitted: found.flatMap((it) => (isSuspect(it) || suspected.has(it.limit) ? [] : [it])),
  };
}
