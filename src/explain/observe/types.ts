import type { IncomingHttpHeaders } from 'node:http';
import type { LoadResult } from '../../load/result.js';
import type { Durations } from '../../statistics/durations.js';
import type { Buckets } from '../../statistics/histogram.cjs';

/** Activity of a thread in a block, as shares of the time: running on a core, and ready without a core. */
export interface ThreadUse {
  pid: number;
  tid: number;
  /** The name that the program set. */
  name: string;
  run: number;
  queued: number;
}

/** One process of the server in a block. */
export interface ProcessUse {
  pid: number;
  /** The first thread; in Node.js the one of the event loop. */
  main: ThreadUse;
  others: ThreadUse[];
  /**
   * System calls of the main thread, per second; `null` if they cannot be read. Socket writes by libuv are included.
   */
  calls: { reads: number; writes: number; writtenBytes: number; readBytes: number } | null;
  /** Memory accesses that waited for the disk, per second. */
  majorFaults: number;
  rssMb: number;
  /** Open descriptors at the end of the block; `null` if they cannot be read. */
  openFiles: number | null;
  fileLimit: number | null;
}

/** A program on this machine to which the server has connections, such as a database, in a block. */
export interface LocalDependency {
  /** Where it listens: `host:port`, an IPv6 address in brackets. */
  peers: string[];
  /** Name of its first process. */
  program: string;
  /** Cores that it used, and mean number of its threads that were ready without a core. */
  cores: number;
  queued: number;
  busiestThread: Pick<ThreadUse, 'run' | 'queued'>;
}

/** The server and its machine, observed from outside in a block. */
export interface OutsideView {
  seconds: number;
  processes: ProcessUse[];
  /** CPU in cores. */
  cpu: {
    /** Cores that the server may use (its affinity). */
    cores: number;
    server: number;
    /** This process, including the load generator. */
    self: number;
    /**
     * Everything else on the machine except interrupts. Some kernels charge interrupts to the interrupted thread, so
     * this may be too small by their share.
     */
    others: number;
    /** The part of `others` that is used by programs to which the server has connections, such as a database. */
    dependencies: number;
    /** Idle time of the server's cores. */
    idle: number;
    /** Demand for those cores by all programs, and the part of it that the host of the virtual machine withheld. */
    wanted: number;
    steal: number;
  };
  /** What the server calls on this machine, as far as its processes are known. */
  dependencies: LocalDependency[];
  /** Whether the kernel reports how long threads wait for a core. */
  hasRunQueueTimes: boolean;
  /** Share of time that the busiest thread of this process waited for a core. */
  selfQueued: number;
  /**
   * CPU quota of the server's cgroup: allowed cores, share of throttled periods, and share of throttled time. `null`
   * without a quota, or if it cannot be read.
   */
  quota: { cores: number; throttledPeriods: number; throttledShare: number } | null;
  /** Counters of the network namespace, per second. */
  network: {
    listenOverflows: number;
    retransmitted: number;
    sentSegments: number;
    synRetransmitted: number;
  };
  /** Utilization of the busiest network interface other than loopback; `null` if its speed is unknown. */
  linkShare: number | null;
  /** Share of time in which a task waited for the disk; `null` if the kernel does not report it. */
  diskPressure: number | null;
}

/** Sockets of one group over several samples of the kernel's table. */
export interface SocketGroup {
  /** Mean number of established sockets. */
  sockets: number;
  /** Minimum and maximum number of established sockets. */
  min: number;
  max: number;
  /** Mean share with bytes that the program has not read. */
  unread: number;
  /** Mean share with bytes that the peer has not acknowledged. */
  unsent: number;
}

/** Where bytes wait, by the kernel's table of sockets. */
export interface SocketStats {
  /** Number of samples. 0 if there are too many sockets (about 20,000); then everything but `timeWait` is empty. */
  samples: number;
  /** The server's ends of the loaded connections that it has accepted; empty if the server is on another machine. */
  server: SocketGroup;
  /** The clients' ends, including those of other clients on this machine. */
  client: SocketGroup;
  /** Accept queue of the listening socket: maximum length observed, and its limit (`null` if unknown). */
  listen: { waiting: number; backlog: number | null } | null;
  /** Connections that the server opened, by peer. */
  outbound: (SocketGroup & { peer: string })[];
  /** Sockets in TIME_WAIT in the last sample. */
  timeWait: number;
  /** Number of ports for outgoing connections; `null` if unknown. */
  localPorts: number | null;
}

/**
 * Calls of the server to one other service, as the probe saw them. Times are means over the block; for protocols other
 * than HTTP, medians.
 */
export interface OutboundView {
  /**
   * `http://host:port`, or `tcp://host:port` for another protocol. For the latter, times end at the first bytes of the
   * answer.
   */
  origin: string;
  /** Connections opened for the calls, per second. */
  opened: number;
  /** Whether a connection of a protocol other than HTTP delays the second part of a request (Nagle's algorithm). */
  usesNagle: boolean;
  /** Calls that ended, per second. */
  rate: number;
  failed: number;
  /** Mean number of calls that waited for a socket, and mean number that waited for the answer. */
  waiting: number;
  answering: number;
  waitMs: number | null;
  answerMs: number | null;
  answerP50Ms: number | null;
  answerP99Ms: number | null;
  /** E[t^2] / E[t]^2 of the answer times: 1 for constant times, 2 for exponential ones, more with a heavy tail. */
  answerSpread: number | null;
  /** The agent's limit; `null` without one. */
  maxSockets: number | null;
}

/** A route as the probe saw it: method and path, with ids replaced. */
export interface RouteView {
  route: string;
  /** Requests that ended, per second. */
  rate: number;
  handlerMs: number;
  handlerP50Ms: number;
  handlerP99Ms: number;
  /** Time for which the handler blocked the loop, mean and maximum. */
  syncMs: number;
  syncMaxMs: number;
  /** Share of the block's time. */
  syncShare: number;
}

/** The server from inside in a block: the sum over the processes that served requests. */
export interface InsideView {
  seconds: number;
  processes: number;
  /** Process ids in the processes' own namespace. */
  pids: number[];
  /** Cluster workers that are expected to serve, including those that served nothing. */
  workers: number[];
  /** Event loop utilization of the busiest process. */
  utilization: number;
  /** Sum of the utilization of all processes: mean number of busy loops. */
  busyLoops: number;
  /** Iterations per second, and events per iteration; `null` before Node.js 20.18. */
  loops: number | null;
  eventsPerLoop: number | null;
  /** Requests that began, and requests that ended, per second. */
  started: number;
  finished: number;
  /** Mean number of requests in handlers. */
  inFlight: number;
  handlerMs: number | null;
  /**
   * Requests that ended within the block: all, those aborted before their response was sent, those without another one
   * beside them in their process, and responses by error status.
   */
  ended: { all: number; aborted: number; alone: number; errorStatuses: Record<string, number> };
  /** Times from the start of a request to the finish of its response, by bucket. */
  handlerTimes: Buckets;
  /** Share of time in garbage collection: young generation, old generation (stop the world), other kinds. */
  gc: { young: number; old: number; other: number; longestMs: number };
  /** `afterOldMb` after full collections: the sum over the processes that had one, `collectedPids`; `null` without any. */
  heap: {
    usedMb: number;
    limitMb: number;
    afterOldMb: number | null;
    externalMb: number;
    collectedPids: number[];
  };
  /** Time for a trivial job in the thread pool, without the loop's own delay; `null` without a sample. */
  poolMs: { mean: number; max: number } | null;
  /** Times in which one callback blocked the loop for 20 ms or more. */
  stalls: {
    /** Share of the block's time. */
    share: number;
    count: number;
    longestMs: number;
    /**
     * Sum of the squares over twice the time: the mean time for which a request that arrives at a random time waits for
     * a stall.
     */
    residualMs: number;
    /** By route or other cause, most expensive first. */
    byCause: { cause: string; ms: number; count: number }[];
  };
  routes: RouteView[];
  outbound: OutboundView[];
  /** Synchronous writes to stdout and stderr: per second, and share of time. */
  output: { writes: number; bytes: number; share: number };
  /** Synchronous writes to other files and flushes of them: per second, and share of time of both. */
  files: { writes: number; bytes: number; flushes: number; share: number };
  /** UV_THREADPOOL_SIZE at the start of the process; `null` for the default. */
  threadPoolSize: string | null;
  /** From `--max-semi-space-size`; `null` for V8's default. */
  maxSemiSpaceMb: number | null;
  /** Active resources by name (`Timeout`, `FSReqCallback`, `GetAddrInfoReqWrap` ...), mean of the samples. */
  resources: Record<string, number>;
}

/** Measurements of one block of load. */
export interface Observation {
  load: LoadResult;
  /** The response times, if `load` has no histograms of them. */
  durations?: Durations;
  /** Responses per second within the block, whenever their requests began. */
  throughput: number;
  outside: OutsideView | null;
  inside: InsideView | null;
  sockets: SocketStats | null;
}

/** A complete response, taken before the load. */
export interface SampleResponse {
  status: number;
  headers: IncomingHttpHeaders;
  bodyBytes: number;
  /** Size of the RSA key of the server's certificate in bits; `null` without TLS, and for keys of another kind. */
  rsaBits: number | null;
}
