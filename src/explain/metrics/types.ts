import type { PoolJobs } from '../observe/probe/pool-jobs.js';
import type { Observation, OutsideView, SampleResponse, SocketStats } from '../observe/types.js';

/** Measurements that are taken before the experiments. */
export type Observations = Pick<
  Metrics,
  | 'base'
  | 'single'
  | 'sample'
  | 'unknownPath'
  | 'idleShare'
  | 'idleThreadShare'
  | 'idleOthers'
  | 'identityBytes'
  | 'overload'
  | 'isWatched'
>;

/** Use of the machine, averaged over several blocks. */
export interface MachineUse {
  /** CPU time by user, in cores. */
  cpu: OutsideView['cpu'];
  /** Minimum of the idle cores of a block. */
  minIdle: number;
  /** The thread of the busiest event loop. */
  loop: Pick<Loop, 'run' | 'queued' | 'stolen'>;
}

/** The event loop of the busiest process, and its thread. */
export interface Loop {
  /** Share of the time on a core. */
  run: number;
  /** Share of the time ready to run, without a core. */
  queued: number;
  /** Estimated share of the time for which the machine's host had taken the core. */
  stolen: number;
  /** Share of the time busy, as the loop measures it; without a probe, as the system saw it. */
  busy: number;
  /** Whether the loop measured `busy` itself. */
  isFromProbe: boolean;
  /** Share of the time busy but not running, queued or stolen: waiting inside a synchronous call. */
  waiting: number;
  /** Busy time per response in ms, on a core or not. */
  busyMs: number;
  /** CPU time of all loops per response in ms. */
  cpuMs: number;
  /** CPU time per response in ms with one request in flight. */
  singleCpuMs: number | null;
}

/** Metrics that the hypotheses are evaluated with. Times are in ms, rates per second; `null` means not measured. */
export interface Metrics {
  /**
   * Set where there is no load of our own: `base` is what clients sent in a window, `single` an earlier window in which
   * requests hardly overlapped, and no experiment is made.
   */
  isWatched?: true;
  /** The block with the user's own load, which all others are compared with. */
  base: Observation;
  /** The block with one request in flight. */
  single: Observation | null;
  /** One complete response. */
  sample: SampleResponse | null;
  model: 'closed' | 'open';
  /** Maximum of the requests in flight: connections times those of each. For an open load, their measured mean. */
  maxConcurrency: number;
  /** Measured mean of the requests in flight. */
  inFlight: number;
  /** Responses per second. */
  throughput: number;
  /** Successful responses per second. */
  goodput: number;
  /** Share of the requests that failed or were answered with an error. */
  errorShare: number;
  /** Mean response time, by Little's law. */
  responseMs: number;
  /** Mean of the measured response times, which the arithmetic compares Little's law with. */
  latencyMs: number;
  /** Mean response time with one request in flight. */
  unloadedLatencyMs: number | null;
  loop: Loop | null;
  /** Result of more connections, where the requested ones were too few; `null` if none were tried. */
  connectionRamp: ConnectionRamp | null;
  /** Breakdown of the loop's busy time, from a profile; `null` without one. */
  loopTime: LoopTimeBreakdown | null;
  /** Jobs that began in the thread pool under load; `null` if they were not counted. */
  poolJobs: PoolJobs | null;
  /** Files that the server opened for writing synchronously. */
  writtenFiles: string[];
  /** Use of the cores, over all blocks of the unchanged load so far. */
  machine: MachineUse | null;
  /** Share of a core that the busiest serving loop used before the load. */
  idleShare: number | null;
  /** The same of the busiest other thread of the serving processes. */
  idleThreadShare: number | null;
  /**
   * Cores that programs without a known connection used without load: the maximum of before and after the baseline, where
   * they used much meanwhile.
   */
  idleOthers: number | null;
  sockets: SocketStats | null;
  /** URL that the server answers with 404; `null` if it answers every path alike. */
  unknownPath: string | null;
  /** Bytes of the uncompressed body; `null` if responses are not compressed, or always are. */
  identityBytes: number | null;
  /** Requested and answered rate, where the server does not sustain the rate and a closed load replaced it. */
  overload: { rate: number; answered: number } | null;
  /** Time limit that usual responses of the main dependency stay below; `null` without a dependency. */
  deadlineMs: number | null;
}

/** Result of more connections than the user asked for. */
export interface ConnectionRamp {
  /** The requests in flight: connections times those of each. */
  connections: number;
  throughput: number;
  responseMs: number;
  /** Whether requests queue by then, so that more of them would not raise throughput. */
  isQueueing: boolean;
  /** Maximum responses per second by the CPU time per request measured there, with warm loops. */
  loopLimit: number;
  /**
   * Throughput at the knee, where it was tried. It is lower than with more connections, unless code was compiled
   * meanwhile.
   */
  throughputAtKnee: number | null;
}

/** Shares of the loop's busy time, from a profile under the requested load. */
export interface LoopTimeBreakdown {
  /** Garbage collection. */
  gc: number;
  /** Calls of `node:fs`. */
  files: number;
  /** The console and loggers. */
  logging: number;
  /** `logging` with the service's own functions that write output, which may do other work too. */
  maxLogging: number;
  /** Writes to sockets. */
  writing: number;
  /** Opening outbound connections, with their TLS handshakes. */
  connecting: number;
  /** Background work, which runs without load too; `null` if it was not looked for. */
  background: number | null;
}
