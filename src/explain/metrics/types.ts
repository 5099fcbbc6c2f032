import type { Observation, OutsideView, SocketStats } from '../observe/types.js';
import type { SampleResponse } from '../target/sample-request.js';

/** What was looked at before the experiments. */
export type Observations = Pick<
  Metrics,
  'base' | 'single' | 'sample' | 'unknownPath' | 'idleShare' | 'identityBytes' | 'overload'
>;

/** Means of several blocks: of the machine's CPU in cores, and of the busiest loop's thread. */
export interface MachineUse {
  cpu: OutsideView['cpu'];
  /** The fewest idle cores of a block. */
  minIdle: number;
  loop: Pick<Loop, 'run' | 'queued' | 'stolen'>;
}

/** The event loop's thread, of the busiest process. */
export interface Loop {
  /** Share of the time on a core, ready without one, and on one that the machine's host kept for others (an estimate). */
  run: number;
  queued: number;
  stolen: number;
  /** Share of the time busy, by its own account; without a probe what the system saw of it. */
  busy: number;
  /** Whether `busy` is the loop's own account. */
  isFromProbe: boolean;
  /** Busy without a core, not queued for one, nor kept from it by the host: it waits for something that is no event. */
  waiting: number;
  /** Time that the loop is busy per response, with a core or without. */
  busyMs: number;
  /** CPU time of the loops per response. */
  cpuMs: number;
  /** The same with one request in flight. */
  singleCpuMs: number | null;
}

/** What is known before an experiment: the numbers that the suspects reason with. Times in ms, rates per second; `null`: not seen. */
export interface Metrics {
  /** The block at the user's own setting that all is compared with. */
  base: Observation;
  /** The block with one request in flight. */
  single: Observation | null;
  /** One response, looked at whole. */
  sample: SampleResponse | null;
  model: 'closed' | 'open';
  /** Requests that can be in flight: connections times pipelining. Of an open run: the mean that was. */
  maxConcurrency: number;
  /** Mean number in flight, measured. */
  inFlight: number;
  throughput: number;
  /** Responses with a good status, per second. */
  goodput: number;
  /** Share of the requests that failed or were answered with an error. */
  errorShare: number;
  /** Mean and single-request response times. */
  responseMs: number;
  /** The mean response time as the requests themselves saw it: what Little's law is held against. */
  latencyMs: number;
  unloadedLatencyMs: number | null;
  loop: Loop | null;
  /** What more connections gave, where those asked for were too few; `null`: not tried. */
  connectionRamp: ConnectionRamp | null;
  /** What the loop's busy time goes to, by a profile; `null` without one. */
  loopTime: LoopTimeBreakdown | null;
  /** Cores and who uses them, over all blocks of the unchanged load so far. */
  machine: MachineUse | null;
  /** Share of a core that the busiest of the loops which serve the load used before it. */
  idleShare: number | null;
  sockets: SocketStats | null;
  /** A URL at which the server finds nothing; `null`: it answers every path alike. */
  unknownPath: string | null;
  /** Bytes of the body without compression; `null` if there is none, or no way without it. */
  identityBytes: number | null;
  /** The rate that was asked for and what was answered of it, where a closed load took its place: more than the server bears. */
  overload: { rate: number; answered: number } | null;
  /** A time limit for the main dependency that leaves its usual answers alone; `null` without one. */
  deadlineMs: number | null;
}

/** What more connections than were asked for gave, where those were too few. */
export interface ConnectionRamp {
  /** Requests in flight: connections times pipelining. */
  connections: number;
  throughput: number;
  responseMs: number;
  /** Requests queue by then: more of them would give no more. */
  isQueueing: boolean;
  /** What the loops could give by their CPU time per request there, where they are warm. */
  loopLimit: number;
  /** Throughput with as many requests in flight as the knee has, where that was tried: less than with more, unless the code was compiled meanwhile. */
  throughputAtKnee: number | null;
}

/** What the loop's busy time goes to, by a profile under the load as asked for: shares of it. */
export interface LoopTimeBreakdown {
  /** In the garbage collector. */
  gc: number;
  /** In calls of `node:fs`. */
  files: number;
  /** In the console and in loggers. */
  logging: number;
  /** With the service's own functions that write output, which may do more. */
  maxLogging: number;
  /** In writing to sockets. */
  writing: number;
  /** In opening connections to others, with the handshakes of TLS. */
  connecting: number;
  /** In what no request asks for: what runs without load, too. `null`: not looked for. */
  background: number | null;
}
