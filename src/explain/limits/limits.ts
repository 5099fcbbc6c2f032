import type { LimitId } from '../limit-ids.js';
import { ACCEPT_RATE } from './connections/accept-rate.js';
import { CONNECTION_CHURN } from './connections/connection-churn.js';
import { EPHEMERAL_PORTS } from './connections/ephemeral-ports.js';
import { FD_LIMIT } from './connections/fd-limit.js';
import { HEAD_OF_LINE } from './connections/head-of-line.js';
import { KEEP_ALIVE_RACE } from './connections/keep-alive-race.js';
import { LISTEN_BACKLOG } from './connections/listen-backlog.js';
import { MANY_WRITES } from './connections/many-writes.js';
import { MAX_CONCURRENT_STREAMS } from './connections/max-concurrent-streams.js';
import { NAGLE_DELAYED_ACK } from './connections/nagle-delayed-ack.js';
import { SLOW_READER } from './connections/slow-reader.js';
import { TLS_HANDSHAKE } from './connections/tls-handshake.js';
import { COMPRESSION } from './cpu/compression.js';
import { DEGRADES_OVER_TIME } from './cpu/degrades-over-time.js';
import { EVENT_LOOP_BLOCKED } from './cpu/event-loop-blocked.js';
import { EVENT_LOOP_CPU } from './cpu/event-loop-cpu.js';
import { EVENT_LOOP_SYNC_WAIT } from './cpu/event-loop-sync-wait.js';
import { GC_OLD } from './cpu/gc-old.js';
import { GC_YOUNG } from './cpu/gc-young.js';
import { IDLE_WORK } from './cpu/idle-work.js';
import { LOGGING } from './cpu/logging.js';
import { MEMORY_GROWTH } from './cpu/memory-growth.js';
import { SINGLE_CORE } from './cpu/single-core.js';
import { SYNCHRONOUS_WRITES } from './cpu/synchronous-writes.js';
import { WORKER_IMBALANCE } from './cpu/worker-imbalance.js';
import type { Limit } from './limit.js';
import { ERRORS } from './load/errors.js';
import { GENERATOR_SATURATED } from './load/generator-saturated.js';
import { TOO_FEW_CONNECTIONS } from './load/too-few-connections.js';
import { BANDWIDTH } from './machine/bandwidth.js';
import { CPU_QUOTA } from './machine/cpu-quota.js';
import { DISK } from './machine/disk.js';
import { NOISY_MACHINE } from './machine/noisy-machine.js';
import { PACKET_LOSS } from './machine/packet-loss.js';
import { SHARED_CORES } from './machine/shared-cores.js';
import { OUTBOUND_POOL } from './waiting/outbound-pool.js';
import { SATURATED_DEPENDENCY } from './waiting/saturated-dependency.js';
import { SERIALIZED } from './waiting/serialized.js';
import { SLOW_DEPENDENCY } from './waiting/slow-dependency.js';
import { THREADPOOL } from './waiting/threadpool.js';

/**
 * All limits, in the order in which explain evaluates them and lists what it ruled out. A missing one does not compile.
 */
export const LIMITS: Readonly<Record<LimitId, Limit>> = {
  errors: ERRORS,
  'keep-alive-race': KEEP_ALIVE_RACE,
  'ephemeral-ports': EPHEMERAL_PORTS,
  'generator-saturated': GENERATOR_SATURATED,
  'too-few-connections': TOO_FEW_CONNECTIONS,
  'fd-limit': FD_LIMIT,
  'listen-backlog': LISTEN_BACKLOG,
  'nagle-delayed-ack': NAGLE_DELAYED_ACK,
  'head-of-line': HEAD_OF_LINE,
  'max-concurrent-streams': MAX_CONCURRENT_STREAMS,
  'tls-handshake': TLS_HANDSHAKE,
  'connection-churn': CONNECTION_CHURN,
  'accept-rate': ACCEPT_RATE,
  'many-writes': MANY_WRITES,
  'cpu-quota': CPU_QUOTA,
  'noisy-machine': NOISY_MACHINE,
  'shared-cores': SHARED_CORES,
  bandwidth: BANDWIDTH,
  'packet-loss': PACKET_LOSS,
  disk: DISK,
  'memory-growth': MEMORY_GROWTH,
  'gc-young': GC_YOUNG,
  'gc-old': GC_OLD,
  logging: LOGGING,
  'synchronous-writes': SYNCHRONOUS_WRITES,
  compression: COMPRESSION,
  'event-loop-blocked': EVENT_LOOP_BLOCKED,
  'event-loop-sync-wait': EVENT_LOOP_SYNC_WAIT,
  'worker-imbalance': WORKER_IMBALANCE,
  'idle-work': IDLE_WORK,
  'degrades-over-time': DEGRADES_OVER_TIME,
  'event-loop-cpu': EVENT_LOOP_CPU,
  'single-core': SINGLE_CORE,
  'outbound-pool': OUTBOUND_POOL,
  threadpool: THREADPOOL,
  'slow-dependency': SLOW_DEPENDENCY,
  'saturated-dependency': SATURATED_DEPENDENCY,
  serialized: SERIALIZED,
  'slow-reader': SLOW_READER,
} satisfies { [Id in LimitId]: Limit & { id: Id } };
