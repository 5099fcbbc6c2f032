import type { Distribution } from './distribution.js';
import type { FlowSummary } from './flow-summary.js';
import type { IterationResult, OwnMetric, ScenarioFigures } from './scenario-result.js';
import type { ClockResult, PlanShare, SegmentSummary, StartResult } from './segment.js';

export type { Distribution, Statistic } from './distribution.js';
export type * from './flow-summary.js';
export type * from './scenario-result.js';
export type * from './segment.js';

/** Kinds of transport errors. */
export type ErrorKind =
  | 'connect-refused'
  | 'connect-timeout'
  | 'dns'
  | 'tls'
  | 'reset'
  | 'closed-early'
  | 'timeout'
  | 'protocol'
  | 'stream-reset'
  | 'refused-stream'
  | 'flow-control'
  | 'fd-limit'
  | 'other';

/** The settings of the run, defaults included. Durations in milliseconds, rates per second. */
export interface PlanSummary {
  model: 'closed' | 'open';
  /** The requests of the mix, before placeholders are filled in. */
  targets: {
    name: string;
    method: string;
    url: string;
    weight: number | null;
    bodyBytes: number;
  }[];
  order: 'in-turn' | 'weighted';
  connections: number;
  /**
   * Connections that are opened before the clock starts; fewer than `connections` only in an open run, and in one whose
   * connections change.
   */
  initialConnections: number;
  /** How the connections of a closed run change from `initialConnections` on; `connections` is the largest number. */
  connectionStages: { durationMs: number; connections: number }[];
  /** Addresses of this host that connections come from; empty: the system chooses. */
  localAddresses: string[];
  threads: number;
  /** Requests in flight per connection: pipelined, or streams of HTTP/2. */
  pipelining: number;
  /** Maximum number of redirections of one request that are followed. */
  follow: number;
  thinkTimeMs: number;
  /** Arrivals per second at the start of an open run, else `null`. */
  rate: number | null;
  arrivals: 'constant' | 'poisson' | null;
  stages: { durationMs: number; rate: number }[];
  maxPending: number | null;
  durationMs: number | null;
  requests: number | null;
  warmupMs: number;
  /** Version of HTTP; `'2 or 1.1'`: as the servers have it. */
  httpVersion: '1.1' | '2' | '2 or 1.1';
  /** The method of gRPC. Absent where the requests are not calls. */
  grpc?: string;
  connection: 'keep-alive' | 'close';
  /** Handshake of new connections; `null` without TLS. */
  handshake: 'full' | 'resume' | null;
  verifyCertificate: boolean | null;
  timeoutMs: number;
  connectTimeoutMs: number;
  /** Statuses that count as a success: statuses, classes (`2xx`) and ranges. */
  expect: string[];
  /** The addresses that were loaded, `host:port` or a socket's path. */
  addresses: string[];
  command: string[] | null;
  /** What users do. Absent without scenarios; with them rates, `requests` and `stages` are those of iterations. */
  flows?: FlowSummary;
  /** Of random arrivals, weighted targets and placeholders. */
  seed: number;
  /** Share of the requests, or of the iterations of scenarios, that carry a trace context. Absent: none does. */
  traceparent?: number;
  /** The share of a larger run that this one is: the other numbers are those of the share. Absent for a whole run. */
  segment?: SegmentSummary;
}

/** A response that was not a success, as it arrived. */
export interface FailingResponse {
  /** The status of a complete response, else `null`. */
  status: number | null;
  /** The error that cut the response short, else `null`. */
  error: ErrorKind | null;
  /** The request that it answers, before placeholders are filled in. */
  request: { method: string; url: string };
  /** Status line and header fields; empty if the bytes are not HTTP. */
  head: string;
  /** The first 1024 bytes of the content as text, decoded from chunks. Content that is not text is only counted. */
  body: string;
  /** Whether the content is longer than `body`. */
  bodyTruncated: boolean;
}

/** A slow request that carried a trace context. */
export interface SlowRequest {
  /** 32 hexadecimal digits. */
  traceId: string;
  /** Of a request without a complete response its age at its end, or at that of the run. */
  latencyMs: number;
  /** Its name, as in `byName`. */
  name: string;
  /** The status of a complete response, else `null`. */
  status: number | null;
  /** The error that ended it; `null` with a status, and if it was in flight at the end. */
  error: ErrorKind | null;
}

/** Requests that were due but never sent, by cause. */
export interface NotSent {
  /** Arrivals beyond `maxPending`. */
  overflow: number;
  /** Arrivals that still waited for a connection at the end. */
  queuedAtEnd: number;
  /** Requests without a connection, as it could not be opened. */
  connectFailed: number;
}

/**
 * Responses that had begun and not ended: their head had arrived, and no end of their content. A stream of events has none.
 */
export interface UnfinishedResponses {
  /** In flight when the run ended: a part of `requests.inFlightAtEnd`. */
  atEnd: number;
  /** Of these, those with a status that is a success. */
  succeeding: number;
  /** Cut off by the time limit: a part of `requests.timeouts`. */
  timedOut: number;
  /** Mean time from the first byte of the request to the first of the response; `null` if there are none. */
  headMs: number | null;
  /** Bytes of them that had arrived. */
  bytes: number;
}

/** The requests of a run that have one name. */
export interface NamedResult {
  /** The name from `--targets` or `--name`, otherwise the method and the path with `:id` in place of the parts that vary. */
  name: string;
  /** sent = ok + statusErrors + transportErrors + timeouts + inFlightAtEnd. */
  requests: {
    sent: number;
    ok: number;
    statusErrors: number;
    transportErrors: number;
    timeouts: number;
    inFlightAtEnd: number;
    /** Requests that were due but never sent. */
    notSent: NotSent;
  };
  unfinished: UnfinishedResponses;
  /** Responses per second, without those to requests of the warm-up. */
  throughput: number;
  /** Share of the sum of all service times, from 0 to 1; `null` without a request. */
  timeShare: number | null;
  latencyMs: Distribution;
  serviceTimeMs: Distribution;
  /** Responses by status: of HTTP, or below 100 of gRPC. */
  statusCodes: Record<string, number>;
  /** Errors of requests that were sent, by kind, the most frequent first. */
  errors: { kind: ErrorKind; count: number }[];
  /** Bytes of HTTP of the requests that were sent and of the responses that ended. */
  bytes: { sent: number; received: number };
  /** The first response that was not a success, or that an error cut short. */
  failingResponse: FailingResponse | null;
  histograms: RequestHistograms;
  /** Exact sums, see `LoadResult.sums`. */
  sums: { unit: 'ns'; latency: string; serviceTime: string };
}

/** Histograms of one kind of requests, see `LoadResult.histograms`. */
export interface RequestHistograms {
  unit: 'ns';
  latency: string;
  latencyCensored: string;
  serviceTime: string;
  serviceTimeCensored: string;
}

/** The latencies of windows, see `LoadResult.histograms`: all and the censored ones; `null` without one. */
export interface WindowHistograms {
  unit: 'ns';
  latency: (string | null)[];
  latencyCensored: (string | null)[];
}

/** One window of the series, see `windowMs`; the last one may be shorter. */
export interface LoadWindow {
  /** Start of the window, from the start of the measurement. */
  tMs: number;
  /** Responses with any status. */
  completed: number;
  /** Status errors, transport errors and timeouts. */
  errors: number;
  p50Ms: number | null;
  p99Ms: number | null;
}

/** One sample of the server's processes. */
export interface ServerSample {
  tMs: number;
  /** CPU in cores: 1.0 is one core busy. */
  cpu: number;
  rssMb: number;
}

/** CPU and memory of the server's processes from `/proc`, if its pid is known. */
export interface ServerResult {
  pid: number;
  /** The command line, shortened. */
  command: string;
  /** How the pid was found. */
  source: 'command' | 'pid' | 'port-owner';
  /** Number of processes sampled: the pid and its descendants. */
  processes: number;
  /** Mean CPU in cores over the measurement per group of threads; `main` are the main threads (JavaScript in Node). */
  threads: { group: string; threads: number; cpu: number }[];
  cpuMean: number;
  rssMaxMb: number;
  series: ServerSample[];
}

/** A reason to doubt the measurement, with advice. */
export interface LoadWarning {
  id: string;
  message: string;
}

/** A condition of `--fail-on` and whether the run fulfilled it. */
export interface ConditionResult {
  /** The condition as the user wrote it, such as `p99<50ms`. */
  condition: string;
  /** The measured value in milliseconds, as a number, as a share from 0 to 1, or in responses per second; `null` without a sample. */
  value: number | null;
  /** Whether the condition holds. A maximum does not hold if `value` is only a lower bound (`atLeast`). */
  holds: boolean;
}

/** The result of a run; JSON of schemaVersion 2. Times are in milliseconds. */
export interface LoadResult extends ScenarioFigures, MergedFigures {
  schemaVersion: 2;
  tool: { name: 'millrace'; version: string };
  plan: PlanSummary;
  /** When the measurement started (after set-up and warm-up), ISO 8601. */
  startedAt: string;
  /** The same in milliseconds of Unix time, with a fraction: a window of `series` begins `tMs` later. */
  startedAtMs: number;
  /**
   * The commit that was checked out when the run began: what CI says (`GITHUB_SHA`, `CI_COMMIT_SHA` and others), otherwise
   * the repository of the folder in which the command or Millrace ran. Absent where neither says it.
   */
  commit?: string;
  /** When the load was to begin (`startAt`), and how late it began. Absent if that was not planned. */
  start?: StartResult;
  /** Length of the measurement. */
  durationMs: number;
  /** Time to open the first connections, before the clock starts. */
  setupMs: number;
  /** Whether the caller ended the run early: by its signal or Ctrl-C. */
  interrupted: boolean;
  /** The condition that could no longer hold and ended the run (`abortOnFail`). Absent if none did. */
  abortedBy?: string;
  /** The conditions of `--fail-on` or of the option `failOn`, in the user's order. Absent without them. */
  conditions?: ConditionResult[];
  /** Load before the measurement, as long as planned unless the run ended in it. */
  warmup: {
    durationMs: number;
    requests: number;
    /** Responses to requests of the warm-up that arrived in the measurement: part of `throughput` and `series` only. */
    completedLater: number;
  };
  /** sent = ok + statusErrors + transportErrors + timeouts + inFlightAtEnd; `notSent` counts requests that were due but never sent. */
  requests: {
    sent: number;
    /** Requests that followed a redirection (`follow`); not part of `sent`. */
    followed: number;
    /** Responses with a status of `plan.expect`; by default 100-399. */
    ok: number;
    /** Responses with another status. */
    statusErrors: number;
    transportErrors: number;
    timeouts: number;
    inFlightAtEnd: number;
    notSent: NotSent;
  };
  unfinished: UnfinishedResponses;
  /** Completed requests per second; `stdev` over whole seconds, `null` with fewer than two. */
  throughput: { mean: number; stdev: number | null };
  latencyMs: Distribution;
  serviceTimeMs: Distribution;
  /**
   * Time from the first byte of a response to its last, of the responses that did not arrive in one read. An interim
   * response (1xx) is part of the final response that follows it. `count` is the number of these responses, `censored` the
   * number of those that were cut short.
   */
  gapMs: Distribution;
  connectMs: Distribution;
  tlsMs: Distribution;
  connections: {
    opened: number;
    /** Requests that were sent on a connection that had already carried a request. */
    reused: number;
    tlsFull: number;
    tlsResumed: number;
    /** Attempts to connect that failed. */
    failed: number;
    /** Connections that failed while no request was in flight on them: bytes after a complete response, a TLS alert. */
    broken: number;
    /** Kept connections that the server closed, with or without a request in flight. */
    closedByServer: number;
    /**
     * Of `requests.transportErrors`: requests on connections that had answered before, and that ended without a byte of the
     * response. As a rule the server's keep-alive limit met the request on its way; clients repeat such requests.
     */
    unansweredOnReuse: number;
    /** Of `opened`: connections that speak HTTP/1.1, and HTTP/2. */
    http1: number;
    http2: number;
    /** Connections on which the server announced their end (GOAWAY of HTTP/2). */
    goaway: number;
    /** The smallest number of streams that a server allows on a connection (SETTINGS_MAX_CONCURRENT_STREAMS); `null`: no limit, or HTTP/1.1. */
    maxConcurrentStreams: number | null;
  };
  /** Requests of HTTP/2 whose bodies waited for a flow-control window of the server, and for how long in all. */
  windowWaits: { requests: number; totalMs: number };
  /** Messages of gRPC in responses; 0 without gRPC. */
  messages: number;
  statusCodes: Record<string, number>;
  /** Errors by kind, the most frequent first. Failed connects and broken connections count here and in `connections`, not in `requests`. */
  errors: {
    kind: ErrorKind;
    count: number;
    /** The message of one of these errors, as the system wrote it. */
    example: string | null;
  }[];
  /**
   * The first response of each status that is not a success, and for each kind of error the first response that it cut
   * short, as far as it arrived. Secrets are masked.
   */
  failingResponses: FailingResponse[];
  /** The ten slowest requests that carried a trace context (`traceparent`), the slowest first. Absent without that option. */
  slowest?: SlowRequest[];
  bytes: { sent: number; received: number };
  generator: {
    /** Share of the measurement in which the busiest worker was not waiting. */
    busy: number;
    /** Share in which the most starved worker was ready to run and had no core; `null` where the system does not report it. */
    starved: number | null;
    /** Time from the intended time to the generator's attempt to send; `null` in a closed run without think time. */
    latenessMs: { p50: number; p99: number; max: number } | null;
    /**
     * Times in which the generator stood still, as it was stopped, was suspended or had no core; `null` if it never did. A
     * sample that contains such a time does not describe the server.
     */
    stalled: Stalled | null;
    /** Deviation from Little's law, |N - X·R| / N; `null` where it does not apply. */
    littleResidual: number | null;
    clientBound: boolean;
    /** Why the generator was the limit, in words; empty if it was not. */
    reasons: string[];
    workers: { busy: number; starved: number | null; requests: number }[];
  };
  /** Mean number of requests in flight, as measured. */
  meanInFlight: number;
  /** Length of the windows of `series`: 100 ms, doubled until there are at most 36,000 (100 ms: a run of an hour). */
  windowMs: number;
  series: LoadWindow[];
  /** The latencies of each window of `series`. Absent unless the run is a share of one, as they are large. */
  windowHistograms?: WindowHistograms;
  /**
   * Histograms in HdrHistogram's V2 compressed form, base64; values in nanoseconds, 3 significant digits. `latency` and
   * `serviceTime` contain all samples, the censored ones at their age; the other two contain the censored ones alone.
   * Histograms of several runs can be added up (`mergeResults`). Those of `connect`, `tls` and `lateness` have no censored
   * samples; `lateness` is `null` where no request had an intended time.
   */
  histograms: RequestHistograms & {
    gap: string;
    gapCensored: string;
    connect: string;
    tls: string;
    lateness: string | null;
  };
  /** Exact sums of all samples, the censored ones at their age: decimal digits, as they may exceed 2^53 nanoseconds. */
  sums: {
    unit: 'ns';
    latency: string;
    serviceTime: string;
    gap: string;
    connect: string;
    tls: string;
  };
  /** Points of the estimated distributions for plots over the percentile: [percentile, ms]. They end where the estimate ends. */
  percentiles: {
    latency: [percentile: number, ms: number][];
    serviceTime: [percentile: number, ms: number][];
  };
  /** Results by request name, the largest share of the time first. */
  byName: NamedResult[];
  server?: ServerResult;
  /** Absent where the system does not report it. */
  machine?: MachineResult;
  warnings: LoadWarning[];
}

/** One of the runs that a merged result consists of: what cannot be added up. */
export interface GeneratorResult {
  /** The name under which it was merged; `null` without one. */
  name: string | null;
  /** Absent if it is not a share of a run. */
  segment?: SegmentSummary;
  version: string;
  /** Its part of the plan. */
  share: PlanShare;
  seed: number;
  /** When its measurement began, ISO 8601. */
  startedAt: string;
  /** The same in milliseconds of Unix time, with a fraction. */
  startedAtMs: number;
  durationMs: number;
  /** Absent without a start at an instant. */
  start?: StartResult;
  /** By how much its machine's clock was ahead of the one that the times are by. Absent where that was not measured. */
  clock?: ClockResult;
  interrupted: boolean;
  /** Absent if no condition ended its run. */
  abortedBy?: string;
  requests: LoadResult['requests'];
  throughput: { mean: number };
  latencyMs: Pick<Distribution, 'p50' | 'p99' | 'max' | 'atLeast' | 'imprecise'>;
  busy: number;
  starved: number | null;
  clientBound: boolean;
  reasons: string[];
  workers: LoadResult['generator']['workers'];
  stalled: Stalled | null;
  meanInFlight: number;
  /** Sums and moments of the scenarios' own metrics, by name. Absent without one. */
  metrics?: Record<string, Pick<OwnMetric, 'count' | 'sum' | 'mean' | 'stdev'>>;
  /** Absent where its processes are not known. */
  server?: Omit<ServerResult, 'series'>;
  /** Absent where the system does not report it. */
  machine?: MachineResult;
  warnings: LoadWarning[];
  /** Length of the windows of `series`. */
  windowMs: number;
  /**
   * At most some hundred windows: of joined ones the highest percentiles. `tMs` counts from the start of the merged
   * measurement.
   */
  series: LoadWindow[];
}

/** A setting in which merged results differ. */
export interface PlanDifference {
  /** The field of the plan, such as `timeoutMs`. */
  field: string;
  /** Its values as JSON, in order. */
  values: string[];
}

/** What only a merged result has. */
export interface MergedFigures {
  /** The runs that were merged. */
  generators?: GeneratorResult[];
  /** Settings in which they differ, where this was allowed. */
  differences?: PlanDifference[];
  /** Shares of the run that are missing, from 1 on, where this was allowed. */
  missing?: number[];
}

/** The result of several runs that were merged. */
export interface MergedResult extends LoadResult {
  generators: GeneratorResult[];
}

/** Times in which the generator stood still: at least 100 ms each. */
export interface Stalled {
  /** In order and without overlaps, the first thousand. `atMs` is from the start of the measurement. */
  times: { atMs: number; durationMs: number }[];
  /** Samples of `latencyMs` that contain such a time. */
  samples: number;
  /** The longest of them; 0 without one. */
  maxMs: number;
}

/** CPU of this machine over the measurement, of all its processes, in cores. */
export interface MachineResult {
  /** CPU that was used, plus the stolen part. */
  wantedCores: number;
  /** The part that the machine's host gave to other machines (steal). */
  stolenCores: number;
}

/** The state of a run in progress; there are ten a second. */
export interface LoadSnapshot {
  /** What the run is doing. */
  phase: 'wait' | 'setup' | 'warmup' | 'measure';
  /** Time since the start of the phase; while it waits for `startAt`, the time that is left. */
  elapsedMs: number;
  /** Responses of the measurement with any status; in the warm-up, requests sent in it. */
  completed: number;
  /** Status errors, transport errors and timeouts of the measurement. */
  errors: number;
  /** Requests in flight now. */
  inFlight: number;
  /** Responses per second over the last second of the measurement; 0 before it. */
  throughput: number;
  /** Median latency of the measurement so far; `null` without a sample. */
  p50Ms: number | null;
  /** 99th percentile of the latency of the measurement so far; `null` without a sample. */
  p99Ms: number | null;
  /** With the option `buckets`: the measurement so far by request name. */
  byName?: NamedSnapshot[];
  /** Iterations of the measurement so far. Absent without scenarios. */
  iterations?: IterationSnapshot;
}

/** Numbers of iterations in a run in progress. */
export interface IterationSnapshot
  extends Pick<IterationResult, 'started' | 'completed' | 'failed' | 'notStarted'> {
  /** In progress now: users that are at work, or pause between their requests. */
  inProgress: number;
  /** Completed per second over the last second of the measurement; 0 before it. */
  rate: number;
}

/** Numbers of the requests with one name in a run in progress. */
export interface NamedSnapshot {
  /** The name, as in the result's `byName`. */
  name: string;
  /** Requests that were sent: all of the following, and those in flight. */
  sent: number;
  /** Responses with a status that is a success. */
  ok: number;
  /** Responses with another status. */
  statusErrors: number;
  /** Requests whose connection failed or ended before the response was complete. */
  transportErrors: number;
  /** Requests without a complete response within the time limit. */
  timeouts: number;
  /** Requests that were due but never sent. */
  notSent: NotSent;
  /** Responses by status: of HTTP, or below 100 of gRPC. */
  statusCodes: Record<string, number>;
  /** Errors of requests that were sent, by kind. */
  errors: { kind: ErrorKind; count: number }[];
  /** Bytes of the requests. */
  bytesSent: number;
  /** Bytes of the responses. */
  bytesReceived: number;
  /** Requests that have ended, with a response or an error. */
  ended: number;
  /** Sum of their latencies. */
  latencySumMs: number;
  /** Number of them with a latency up to each bound of the option `buckets`. */
  buckets: number[];
}
