import type { LoadResult } from '../../load/result.js';

/** What a thread did over a block, as shares of the time: running, and ready to run without a core. */
export interface ThreadUse {
  pid: number;
  tid: number;
  /** The name that the program gave it. */
  name: string;
  run: number;
  queued: number;
}

/** One process of the server over a block. */
export interface ProcessUse {
  pid: number;
  /** The first thread: in Node the one of the event loop. */
  main: ThreadUse;
  others: ThreadUse[];
  /** Of the main thread, per second; `null` where they may not be read. Sockets written by libuv are among them. */
  calls: { reads: number; writes: number; writtenBytes: number; readBytes: number } | null;
  /** Memory accesses that had to wait for the disk, per second. */
  majorFaults: number;
  rssMb: number;
  /** Descriptors at the block's end; `null` where they may not be read. */
  openFiles: number | null;
  fileLimit: number | null;
}

/** The server and its machine from outside over a block. */
export interface OutsideView {
  seconds: number;
  processes: ProcessUse[];
  /** CPU in cores. */
  cpu: {
    /** Cores that there are for the server (its affinity). */
    cores: number;
    server: number;
    /** This process, its generator included. */
    self: number;
    /**
     * Everything else on the machine, interrupts apart: some kernels charge them to the threads they interrupt, where
     * they may make this too small by their share, others do not.
     */
    others: number;
    /** Of those cores. */
    idle: number;
    /** Of those cores: what was wanted of them by anybody, and of that what the machine's host kept for others. */
    wanted: number;
    steal: number;
  };
  /** Whether the kernel tells how long threads wait for a core. */
  hasRunQueueTimes: boolean;
  /** Share of time on the run queue of this process's busiest thread. */
  selfQueued: number;
  /**
   * The server's cgroup: cores allowed, share of the periods that ended with it stopped, and share of the time stopped.
   * `null` without a quota or where it cannot be read.
   */
  quota: { cores: number; throttledPeriods: number; throttledShare: number } | null;
  /** Counters of the network namespace, per second. */
  network: {
    listenOverflows: number;
    retransmitted: number;
    sentSegments: number;
    synRetransmitted: number;
  };
  /** The busiest link that is no loopback, as a share of its speed; `null` where that is unknown. */
  linkShare: number | null;
  /** Share of time in which some task waited for the disk; `null` where the kernel does not tell. */
  diskPressure: number | null;
}

/** Sockets of one group over several looks at the kernel's table. */
export interface SocketGroup {
  /** Mean number of established ones. */
  sockets: number;
  /** Fewest and most. */
  min: number;
  max: number;
  /** Share with bytes that the program has not read, mean. */
  unread: number;
  /** Share with bytes that the peer has not acknowledged, mean. */
  unsent: number;
}

/** Where bytes wait, by the kernel's table of sockets. */
export interface SocketStats {
  /** None if there are too many sockets (about 20 000): all but `timeWait` is empty then. */
  samples: number;
  /** The server's ends of the loaded connections, as far as it has accepted them; empty if it is on another machine. */
  server: SocketGroup;
  /** This process's ends (of all clients on this machine, if there are others). */
  client: SocketGroup;
  /** The listening socket: most connections that waited to be accepted, and how many may (`null`: unknown). */
  listen: { waiting: number; backlog: number | null } | null;
  /** Connections that the server opened, by peer. */
  outbound: (SocketGroup & { peer: string })[];
  /** Sockets in TIME_WAIT at the last look. */
  timeWait: number;
  /** Ports that outgoing connections may have; `null`: unknown. */
  localPorts: number | null;
}

/** Calls of the server to one other service, as the probe saw them. Times are means over the block, of other protocols than HTTP the median. */
export interface OutboundView {
  /** `http://host:port`; `tcp://host:port` where the protocol is another one, of which the time to an answer's first bytes is seen. */
  origin: string;
  /** Connections that were opened for them, per second. */
  opened: number;
  /** Whether a connection would hold back a second part of a question (Nagle), of other protocols than HTTP. */
  usesNagle: boolean;
  /** Calls that ended, per second. */
  rate: number;
  failed: number;
  /** Mean number of calls that waited for a socket, and that waited for the answer. */
  waiting: number;
  answering: number;
  waitMs: number | null;
  answerMs: number | null;
  answerP50Ms: number | null;
  answerP99Ms: number | null;
  /** E[t^2] / E[t]^2 of the answers: 1 for constant, 2 for exponential times, more with a heavy tail. */
  answerSpread: number | null;
  /** The agent's bound; `null` without one. */
  maxSockets: number | null;
}

/** A route as the probe saw it: method and path, with what looks like an id replaced. */
export interface RouteView {
  route: string;
  /** Requests that ended, per second. */
  rate: number;
  handlerMs: number;
  handlerP50Ms: number;
  handlerP99Ms: number;
  /** Time that the handler held the loop before it returned, mean and most. */
  syncMs: number;
  syncMaxMs: number;
  /** Share of the block's time. */
  syncShare: number;
}

/** The server from inside over a block: its processes that served requests, summed up. */
export interface InsideView {
  seconds: number;
  processes: number;
  /** Their ids, as they know them. */
  pids: number[];
  /** The workers of a cluster that are to serve, those that have served nothing among them. */
  workers: number[];
  /** Event loop utilisation of the busiest process. */
  utilisation: number;
  /** That of all processes, summed: mean number of busy loops. */
  busyLoops: number;
  /** Iterations per second, and events per iteration; `null` before Node 20.18. */
  loops: number | null;
  eventsPerLoop: number | null;
  /** Requests per second that began and that ended. */
  started: number;
  finished: number;
  /** Mean number of requests in handlers. */
  inFlight: number;
  handlerMs: number | null;
  /** Share of the time in garbage collection: young, old (stop the world), other kinds. */
  gc: { young: number; old: number; other: number; longestMs: number };
  heap: { usedMb: number; limitMb: number; afterOldMb: number | null; externalMb: number };
  /** Time for a trivial job of the thread pool, less the loop's own delay; `null` without a sample. */
  poolMs: { mean: number; max: number } | null;
  /** Times in which one callback held the loop for 20 ms or more. */
  stalls: {
    /** Share of the block's time. */
    share: number;
    count: number;
    longestMs: number;
    /** Sum of squares over twice the time: what a request that comes at any time waits for them, mean. */
    residualMs: number;
    /** Which route or what else, most costly first. */
    byCause: { cause: string; ms: number; count: number }[];
  };
  routes: RouteView[];
  outbound: OutboundView[];
  /** Writes to stdout, stderr and files that hold the loop: per second, and share of the time. */
  output: { writes: number; bytes: number; share: number };
  /** UV_THREADPOOL_SIZE as the process was started with it; `null`: the default. */
  threadPoolSize: string | null;
  /** From `--max-semi-space-size`; `null`: V8's default. */
  maxSemiSpaceMb: number | null;
  /** Active resources by name (`Timeout`, `FSReqCallback`, `GetAddrInfoReqWrap` ...), mean of the samples. */
  resources: Record<string, number>;
}

/** What one block of load showed. */
export interface Observation {
  load: LoadResult;
  /** Responses per second within the block, whenever their requests began. */
  throughput: number;
  outside: OutsideView | null;
  inside: InsideView | null;
  sockets: SocketStats | null;
}
