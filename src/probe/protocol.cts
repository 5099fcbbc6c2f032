import type { Buckets } from '../statistics/histogram.cjs';
import type { ListeningWorker } from './process/listening-workers.cjs';

/** Messages between the probe and Millrace: JSON, one per line. Times are in milliseconds, memory in bytes. */

/** Introduces the process. Sent on connecting, and again after a change. */
export interface Hello {
  type: 'hello';
  pid: number;
  ppid: number;
  nodeVersion: string;
  argv: string[];
  execArgv: string[];
  title: string;
  clusterRole: 'primary' | 'worker';
  /** Current value of `UV_THREADPOOL_SIZE`; the value at the first job takes effect. */
  threadPoolSize: string | null;
  /** From `--max-semi-space-size`; `null` for V8's default. */
  maxSemiSpaceMb: number | null;
  /** Maximum size of a semi-space: from that flag, or this V8 version's default. */
  semiSpaceMb: number;
  /** Version of Millrace's native stack; `null` if Node.js itself serves. */
  stack: string | null;
  /** Whether the process has received a request that counts. */
  serving: boolean;
  /** The listening workers, if this is the primary process of a cluster. */
  listeningWorkers: ListeningWorker[];
}

/** Monotonic counters by name. A missing name is 0. */
export type Counters = Record<string, number>;

/**
 * Counters of one process since its first request that counts. Responses with an error status are counted by names such
 * as `status404`.
 */
export interface ProcessCounters extends Counters {
  /** As in `performance.eventLoopUtilization()`. */
  idleMs: number;
  activeMs: number;
  /** Iterations of the loop, and events in them; both 0 if Node.js does not report them. */
  loops: number;
  events: number;
  begun: number;
  /** Requests that were answered or aborted. */
  ended: number;
  aborted: number;
  /** Requests that were answered and had no other one beside them in their process. */
  alone: number;
  /** Integral over time of the number of requests in handlers. */
  inFlightMs: number;
  /** From the start of a request to the finish of its response. */
  handlerMs: number;
  gcYoungMs: number;
  gcOldMs: number;
  gcOtherMs: number;
  poolSamples: number;
  poolMs: number;
  stalls: number;
  stallMs: number;
  /** Sum of the squares, in ms². */
  stallSquaredMs: number;
  writes: number;
  writtenBytes: number;
  writeMs: number;
  /** Synchronous writes to files other than standard output and error; the time includes that of flushes (fsync). */
  fileWrites: number;
  fileWrittenBytes: number;
  fileWriteMs: number;
  flushes: number;
}

export interface RouteCounters extends Counters {
  ended: number;
  handlerMs: number;
  syncMs: number;
}

export interface RouteSample {
  counters: RouteCounters;
  handlerTimes: Buckets;
  /** The longest since the last sample. */
  longestSyncMs: number;
}

export interface OutboundCounters extends Counters {
  /** Connections opened for calls. */
  opened: number;
  /** Number of times that a connection waiting for an answer was found with Nagle's algorithm on. */
  nagleSamples: number;
  ended: number;
  failed: number;
  /** Calls that got a socket, and the time they waited for it. */
  assigned: number;
  waitMs: number;
  /** Complete answers, the time from sending the call to their end, and the sum of its squares in ms². */
  answered: number;
  answerMs: number;
  answerSquaredMs: number;
  /** Integrals over time of the number of calls that wait for a socket, and of those that wait for an answer. */
  waitingMs: number;
  answeringMs: number;
}

export interface OutboundSample {
  counters: OutboundCounters;
  answerTimes: Buckets;
  /** The agent's limit; `null` without one. */
  maxSockets: number | null;
}

export interface StallCounters extends Counters {
  ms: number;
  count: number;
}

/** The longest of each kind since the last sample. */
export interface Longest {
  gcMs: number;
  poolMs: number;
  stallMs: number;
}

/** Minimum time in ms between two profiles, or two observations of waits, in production. */
export const MIN_PAUSE_MS = 10_000;

/** Memory and resources: read twice a second, and once a second in production. */
export interface MemoryUsage {
  heapUsed: number;
  heapLimit: number;
  heapAfterOld: number | null;
  external: number;
  rss: number;
  /** Active resources by name; `null` if there are too many to count. */
  resources: Record<string, number> | null;
}

/**
 * A sample: ten a second if the loop permits, one a second in production. A late sample is still correct: all values
 * refer to its own time.
 */
export interface ProbeSample {
  type: 'sample';
  /** On the clock of `process.hrtime`, which all processes of a machine share. */
  at: number;
  counters: ProcessCounters;
  longest: Longest;
  memory: MemoryUsage | null;
  /** The parts that changed since the last sample. */
  routes: Record<string, RouteSample>;
  outbound: Record<string, OutboundSample>;
  stalls: Record<string, StallCounters>;
}

/** What was allocated, by call. A node is an index of `parents`, `frameOf` and `bytes`. */
export interface AllocationTree {
  /** Functions, as V8 names them. Lines and columns count from 0. */
  frames: { functionName: string; url: string; lineNumber: number; columnNumber: number }[];
  /** The caller of each node, which comes before it; -1 for the root. */
  parents: number[];
  frameOf: number[];
  /** Bytes that the function itself allocated, estimated by V8 from its samples. */
  bytes: number[];
}

/** What a process allocated in some time, also what it no longer uses. */
export interface AllocationProfile {
  pid: number;
  /** Requests that ended meanwhile. */
  requests: number;
  tree: AllocationTree;
  /** Lower bound of the bytes of ArrayBuffers, which are outside the heap and not in the tree. */
  outsideBytes: number;
}

/** What a process allocated in some time and still uses. */
export interface AllocatedObjects {
  tree: AllocationTree;
  /** Mean number of bytes between two samples. */
  interval: number;
  /** Number of samples by node and by V8's estimate of the bytes for which one sample stands. */
  objects: { node: number; size: number; samples: number }[];
}

/** A heap snapshot that has been written. */
export interface HeapSnapshotInfo {
  /** Requests that had ended before it. */
  requests: number;
  /** How long the process stood still. */
  pausedMs: number;
}

/** A function on a stack. Line and column count from 1; both are `null` in built-in functions. */
export interface StackFrame {
  name: string | null;
  /** Path, or URL of a module; `null` for built-in functions. */
  file: string | null;
  line: number | null;
  column: number | null;
}

/** What a request may wait for, as far as the probe knows. */
export interface WaitSource {
  kind: /** Another part of the program settles a promise, or calls back. */
    | 'promise'
    | 'http'
    /** Bytes on another connection that the process has opened. */
    | 'socket'
    | 'connect'
    | 'dns'
    | 'file'
    | 'timer'
    /** The next turn of the event loop. */
    | 'loop'
    /** The body of the request. */
    | 'body'
    | 'worker'
    /** A resource of Node.js, by its name in `async_hooks`. */
    | 'resource'
    /** No code of the request was seen to wait. */
    | 'unseen';
  /** Origin, address, host name or resource; empty if unknown. */
  target: string;
  phase: WaitPhase;
}

/** What is missing of an exchange: a connection for it, the answer's beginning, or the rest of it. */
export type WaitPhase = '' | 'connection' | 'answer' | 'body';

/** Time for which requests waited for one thing at one place. */
export interface WaitSample {
  source: WaitSource;
  /** Route of the requests: method and path, with ids replaced. */
  route: string;
  /** Indexes of `WaitSamples.frames`, innermost first. */
  stack: number[];
  ms: number;
}

/** What the observed requests of a process waited for. */
export interface WaitSamples {
  frames: StackFrame[];
  samples: WaitSample[];
  /** Requests that were observed. */
  requests: number;
}

/** Commands to the probe. Each is undone by its counterpart, and when Millrace disconnects. */
export interface Commands {
  /** Switches observation on or off; the difference in throughput is the probe's cost. */
  subscribe: { on: boolean };
  /**
   * Counts only the requests to these ports; `null` counts all. A process that serves only other ports counts as not
   * serving.
   */
  setPorts: { ports: number[] | null };
  /** Counts the requests of servers of `node:http2` too. */
  observeHttp2: Record<never, never>;
  /** Takes a sample at once, which is sent before the answer. */
  sample: Record<never, never>;
  /** Busy time before each request's handler; 0 for none. */
  spin: { microseconds: number };
  /** Drops everything written to standard output and error. */
  mute: { on: boolean };
  /** Collects the parts of a response, and writes them at its end. */
  cork: { on: boolean };
  /** Multiplies the limit of every known agent of `node:http` and pool of undici; 1 restores it. */
  maxSockets: { factor: number };
  /** Switches off Nagle's algorithm (TCP_NODELAY) on every connection that the process has opened. */
  noDelay: { on: boolean };
  /** Delay of each outbound call before it begins; 0 for none. */
  outboundDelay: { ms: number };
  /**
   * Multiplies the limit of each pool of a database driver whose connections are all open, where its database has room for
   * as many in that number of processes; 1 restores it.
   */
  databasePools: { factor: number; processes: number };
  /**
   * Answers GET and HEAD requests to an origin with recorded responses to the same requests, as far as there are some;
   * `null` ends it.
   */
  answerFromMemory: { origin: string | null };
  /** Delay of each exchange with an origin of another protocol than HTTP before it begins; 0 for none. */
  exchangeDelay: { origin: string; ms: number };
  /** Takes a CPU profile. */
  profile: { ms: number };
  /** Whether V8 inlines functions. */
  inlining: { on: boolean };
  /** Counts the jobs that begin in the thread pool, by the kind of their resource. */
  poolJobs: { ms: number };
  /** Observes what requests wait for, with stacks of that many frames. */
  waits: { ms: number; depth: number };
  /** Lists the files that were opened for writing synchronously. */
  writtenFiles: Record<never, never>;
  /** Runs a full garbage collection. */
  collect: Record<never, never>;
  /** Samples what is allocated, by call site. */
  allocations: { ms: number };
  /** Samples what is allocated from now on and stays, in the process with this id. */
  liveAllocations: { pid: number; on: boolean };
  /** Writes a heap snapshot to a file, in the process with this id, which stands still for about that time. */
  heapSnapshot: { pid: number; file: string; ms: number };
}

/** What became of the pools of database drivers. */
export interface DatabasePoolsScaled {
  raised: { driver: string; from: number; to: number }[];
  /** Why others were left alone. */
  refused: string[];
}

/** Answers to the commands. */
export interface Answers {
  subscribe: null;
  setPorts: null;
  observeHttp2: null;
  sample: null;
  spin: null;
  mute: null;
  cork: null;
  /** The limits now in effect. */
  maxSockets: number[];
  /** Connections that were affected since it was last switched on. */
  noDelay: number;
  /** Calls that were delayed since the delay was last set. */
  outboundDelay: number;
  databasePools: DatabasePoolsScaled;
  /** Requests since it was last set: those answered from memory, and those that went out. */
  answerFromMemory: { answered: number; passed: number };
  /** Exchanges that were delayed since the delay was last set. */
  exchangeDelay: number;
  /** In V8's own format. */
  profile: { pid: number; profile: unknown };
  inlining: null;
  poolJobs: Record<string, number>;
  waits: WaitSamples;
  /** Absolute paths. */
  writtenFiles: string[];
  /** Bytes of the heap still in use. */
  collect: number;
  allocations: AllocationProfile;
  /** What was allocated since it was switched on; `null` from other processes, and if it was not on. */
  liveAllocations: AllocatedObjects | null;
  /** `null` from other processes. */
  heapSnapshot: HeapSnapshotInfo | null;
}

export type CommandName = keyof Commands;

export interface CommandMessage {
  id: number;
  command: CommandName;
  arguments: Commands[CommandName];
}

export type AnswerMessage =
  | { type: 'answer'; id: number; value: unknown }
  | { type: 'answer'; id: number; error: string };

export type ProbeMessage = Hello | ProbeSample | AnswerMessage;
