import type { Buckets } from '../statistics/histogram.cjs';
import type { ListeningWorker } from './process/listening-workers.cjs';

/** What the probe and millrace say to each other: JSON, a line each. Times are in milliseconds, memory in bytes. */

/** Who the process is. Sent when it connects, and again when some of it has changed. */
export interface Hello {
  type: 'hello';
  pid: number;
  ppid: number;
  nodeVersion: string;
  argv: string[];
  execArgv: string[];
  title: string;
  clusterRole: 'primary' | 'worker';
  /** `UV_THREADPOOL_SIZE` as it is now: what counts is that of the first job. */
  threadPoolSize: string | null;
  /** From `--max-semi-space-size`; `null`: V8's default. */
  maxSemiSpaceMb: number | null;
  /** One half of the young generation at its largest: as that flag says, else as this version of V8 has it. */
  semiSpaceMb: number;
  /** Version of millrace's native stack; `null` if Node's own serves. */
  stack: string | null;
  /** Whether it has got a request for a server under study. */
  serving: boolean;
  /** Of a cluster's first process: those of its workers that listen. */
  listeningWorkers: ListeningWorker[];
}

/** Numbers that only grow, by name. A name that is not there is 0. */
export type Counters = Record<string, number>;

/** Of one process, since it served its first request. */
export interface ProcessCounters extends Counters {
  /** Of the event loop, as `performance.eventLoopUtilization()` has them. */
  idleMs: number;
  activeMs: number;
  /** Iterations of the loop and events in them; both 0 where Node does not tell. */
  loops: number;
  events: number;
  begun: number;
  /** Requests that were answered or aborted. */
  ended: number;
  aborted: number;
  /** Integral of the number of requests in handlers over time. */
  inFlightMs: number;
  /** From a request's start to its response's finish. */
  handlerMs: number;
  gcYoungMs: number;
  gcOldMs: number;
  gcOtherMs: number;
  poolSamples: number;
  poolMs: number;
  stalls: number;
  stallMs: number;
  /** Sum of the squares, ms². */
  stallSquaredMs: number;
  writes: number;
  writtenBytes: number;
  writeMs: number;
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
  /** Connections that were opened for calls. */
  opened: number;
  /** Looks at which one that waits for an answer would hold back a second part of the question (Nagle). */
  nagleSamples: number;
  ended: number;
  failed: number;
  /** Calls that got a socket, and the time that they waited for it. */
  assigned: number;
  waitMs: number;
  /** Answers that were complete, the time from the call's sending to their end, its squares in ms². */
  answered: number;
  answerMs: number;
  answerSquaredMs: number;
  /** Integrals over time of the number of calls that wait for a socket, and for an answer. */
  waitingMs: number;
  answeringMs: number;
}

export interface OutboundSample {
  counters: OutboundCounters;
  answerTimes: Buckets;
  /** The agent's bound; `null` without one. */
  maxSockets: number | null;
}

export interface StallCounters extends Counters {
  ms: number;
  count: number;
}

/** The longest of their kind since the last sample. */
export interface Longest {
  gcMs: number;
  poolMs: number;
  stallMs: number;
}

/** What is looked at twice a second. */
export interface MemoryUsage {
  heapUsed: number;
  heapLimit: number;
  heapAfterOld: number | null;
  external: number;
  rss: number;
  /** Active resources by name; `null` where there are too many to count them. */
  resources: Record<string, number> | null;
}

/** Ten times a second, as far as the loop lets it: one that is late is not wrong, all numbers are of its own time. */
export interface ProbeSample {
  type: 'sample';
  /** On the clock of `process.hrtime`, which all processes of a machine share. */
  at: number;
  counters: ProcessCounters;
  longest: Longest;
  memory: MemoryUsage | null;
  /** Those that changed since the last sample. */
  routes: Record<string, RouteSample>;
  outbound: Record<string, OutboundSample>;
  stalls: Record<string, StallCounters>;
}

/** What the probe does when told; each is undone by its counterpart, and when millrace goes. */
export interface Commands {
  /** Whether it looks at all: what it costs shows in the difference. */
  subscribe: { on: boolean };
  /** The ports whose servers are under study; `null`: all of them. What serves only others is as if it served none. */
  setPorts: { ports: number[] | null };
  /** Takes a sample at once, which is sent before the answer. */
  sample: Record<never, never>;
  /** Busy time before each request's handler; 0: none. */
  spin: { microseconds: number };
  /** Whether what goes to standard output and error is dropped. */
  mute: { on: boolean };
  /** Whether the parts of a response are collected and written at its end. */
  cork: { on: boolean };
  /** Multiplies the bound of every agent of `node:http` and pool of undici that was seen; 1: as it was. */
  maxSockets: { factor: number };
  /** Whether every connection that the process has opened sends what it is given at once (TCP_NODELAY). */
  noDelay: { on: boolean };
  /** Time that each outbound call waits before it begins; 0: none. */
  outboundDelay: { ms: number };
  /** Takes a CPU profile. */
  profile: { ms: number };
  /** Collects all garbage. */
  collect: Record<never, never>;
}

/** What each command answers. */
export interface Answers {
  subscribe: null;
  setPorts: null;
  sample: null;
  spin: null;
  mute: null;
  cork: null;
  /** The bounds now in force. */
  maxSockets: number[];
  /** The connections that it made a difference to, since it was last on. */
  noDelay: number;
  /** Calls that waited, since the delay was last set. */
  outboundDelay: number;
  /** V8's own format. */
  profile: unknown;
  /** Bytes of the heap still in use. */
  collect: number;
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
