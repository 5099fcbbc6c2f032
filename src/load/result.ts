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
  | 'fd-limit'
  | 'other';

/**
 * A distribution of times in milliseconds; `null` where there is no sample. All figures but `min` and `max` are
 * product-limit (Kaplan-Meier) estimates of the times themselves.
 */
export interface Distribution {
  /** Samples in all, the censored ones included. */
  count: number;
  /**
   * Samples of requests that timed out, failed, were in flight at the end, or (of `latencyMs`) still waited for a
   * connection then: of these only the age is known, the truth is at least that.
   */
  censored: number;
  /**
   * Figures of which only a bound is known, as censored samples are older than all that ended: the truth is at least as
   * given. `mean` and `stdev` are restricted then: what is longer than `max` counts as `max`.
   */
  atLeast: { [statistic in Statistic]?: true };
  /** Percentiles that fewer than ten samples lie above: chance decides what they are. */
  imprecise: { [statistic in Statistic]?: true };
  /** Of the uncensored samples. */
  min: number | null;
  mean: number | null;
  stdev: number | null;
  p50: number | null;
  p75: number | null;
  p90: number | null;
  p95: number | null;
  p99: number | null;
  p99_9: number | null;
  p99_99: number | null;
  /** The longest that was seen, ended or not. */
  max: number | null;
}

/** A figure of a distribution that is a time. */
export type Statistic =
  | 'mean'
  | 'stdev'
  | 'p50'
  | 'p75'
  | 'p90'
  | 'p95'
  | 'p99'
  | 'p99_9'
  | 'p99_99'
  | 'max';

/** The effective settings, every default spelled out. Durations in milliseconds, rates per second. */
export interface PlanSummary {
  model: 'closed' | 'open';
  /** The requests of the mix, before placeholders are filled in. */
  targets: { method: string; url: string; weight: number | null; bodyBytes: number }[];
  order: 'in-turn' | 'weighted';
  connections: number;
  /** Opened before the clock starts; fewer than `connections` only in an open run. */
  initialConnections: number;
  threads: number;
  pipelining: number;
  /** Redirections of one request that are followed at most. */
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
  connection: 'keep-alive' | 'close';
  tls: 'keep-alive' | 'resume' | 'full' | null;
  verifyCertificate: boolean | null;
  timeoutMs: number;
  connectTimeoutMs: number;
  /** Statuses of a success: statuses, classes (`2xx`) and ranges. */
  expect: string[];
  /** The addresses in use, `host:port` or a socket's path. */
  addresses: string[];
  command: string[] | null;
}

/** A response that was no success, as it came. */
export interface FailingResponse {
  /** Of a complete response, else `null`. */
  status: number | null;
  /** What broke the response off, else `null`. */
  error: ErrorKind | null;
  /** The request that it answers, before placeholders are filled in. */
  request: { method: string; url: string };
  /** Status line and header fields; empty where what came is no HTTP. */
  head: string;
  /** The first 1024 bytes of the content as text, chunks put together; what is no text is only counted. */
  body: string;
  /** There was more. */
  bodyTruncated: boolean;
}

/** The requests of a run that have one name. */
export interface NamedResult {
  /** Of `--targets` or `--name`, otherwise the method and the path with `:id` in place of what varies. */
  name: string;
  /** sent = ok + statusErrors + transportErrors + timeouts + inFlightAtEnd. */
  requests: {
    sent: number;
    ok: number;
    statusErrors: number;
    transportErrors: number;
    timeouts: number;
    inFlightAtEnd: number;
  };
  /** Responses per second, those of the warm-up's requests not included. */
  throughput: number;
  /** Share of the sum of all service times, from 0 to 1; `null` without a request. */
  timeShare: number | null;
  latencyMs: Distribution;
  serviceTimeMs: Distribution;
  statusCodes: Record<string, number>;
  /** By kind, most frequent first, of requests that were sent. */
  errors: { kind: ErrorKind; count: number }[];
  /** Bytes of HTTP of the requests that were sent and of the responses that ended. */
  bytes: { sent: number; received: number };
  /** The first response that was no success, or was broken off. */
  failingResponse: FailingResponse | null;
  histograms: LatencyHistograms;
}

/** Histograms of one kind of requests, see `LoadResult.histograms`. */
export interface LatencyHistograms {
  unit: 'ns';
  latency: string;
  latencyCensored: string;
  serviceTime: string;
  serviceTimeCensored: string;
}

/** One window of the series: 100 ms, the last one may be shorter. */
export interface Window {
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

/** The server as seen from `/proc`, when its pid is known. */
export interface ServerResult {
  pid: number;
  /** The command line, shortened. */
  command: string;
  /** How the pid was known. */
  source: 'command' | 'pid' | 'port-owner';
  /** Number of processes sampled: the pid and its descendants. */
  processes: number;
  /** Mean CPU in cores over the measurement per group of threads; `main` is the main threads' (JavaScript in Node). */
  threads: { group: string; threads: number; cpu: number }[];
  cpuMean: number;
  rssMaxMb: number;
  series: ServerSample[];
}

/** Something that makes the measurement doubtful, with advice. */
export interface Warning {
  id: string;
  message: string;
}

/** A condition that a run was to hold. */
export interface ConditionResult {
  /** As given, such as `p99<50ms`. */
  condition: string;
  /** Milliseconds, a number, a share from 0 to 1, or responses per second; `null` without a sample. */
  value: number | null;
  /** Whether it holds; not where `value` is only a lower bound, as its `atLeast` says. */
  holds: boolean;
}

/** The result of a run; JSON of schemaVersion 1. Times are in milliseconds, `series` in windows of 100 ms. */
export interface LoadResult {
  schemaVersion: 1;
  tool: { name: 'millrace'; version: string };
  plan: PlanSummary;
  /** When the measurement started (after set-up and warm-up), ISO 8601. */
  startedAt: string;
  /** Of the measurement. */
  durationMs: number;
  /** Time to open the first connections, before the clock. */
  setupMs: number;
  /** Ended early by the caller: its signal, Ctrl-C. */
  interrupted: boolean;
  /** The condition of `abortOnFail` that ended the run: it could not hold any more. Absent where none did. */
  abortedBy?: string;
  /** The conditions of `--fail-on`, in the order given. Absent without them, and of `load()`. */
  conditions?: ConditionResult[];
  /** Load before the measurement, as long as planned unless the run ended in it. */
  warmup: {
    durationMs: number;
    requests: number;
    /** Responses to them that came in the measurement: part of `throughput` and `series`, and of nothing else. */
    completedLater: number;
  };
  /** sent = ok + statusErrors + transportErrors + timeouts + inFlightAtEnd; what was due but never sent is in `notSent`. */
  requests: {
    sent: number;
    /** Redirections that were followed (`follow`), on top of those. */
    followed: number;
    /** A status of `plan.expect`; 100-399 unless told otherwise. */
    ok: number;
    /** Another status. */
    statusErrors: number;
    transportErrors: number;
    timeouts: number;
    inFlightAtEnd: number;
    notSent: {
      /** Arrivals over the bound of an open run. */
      overflow: number;
      /** Arrivals still waiting for a connection at the end. */
      queuedAtEnd: number;
      /** Requests that were due on a connection that could not be opened. */
      connectFailed: number;
    };
  };
  /** Completed requests per second; `stdev` over whole seconds, `null` with fewer than two. */
  throughput: { mean: number; stdev: number | null };
  latencyMs: Distribution;
  serviceTimeMs: Distribution;
  /**
   * First byte of a response to its last, of the responses that did not arrive in one read; interim responses (1xx) are
   * part of the one that follows. `count` is the number of those responses, `censored` of those that broke off.
   */
  gapMs: Distribution;
  connectMs: Distribution;
  tlsMs: Distribution;
  connections: {
    opened: number;
    /** Requests that were sent on a connection that had carried one before. */
    reused: number;
    tlsFull: number;
    tlsResumed: number;
    /** Attempts that failed. */
    failed: number;
    /** Failed while no request was under way on them: bytes after a complete response, a TLS alert. */
    broken: number;
    /** Were to be kept, and the server ended them, with or without a request under way. */
    closedByServer: number;
  };
  statusCodes: Record<string, number>;
  /** By kind, most frequent first. Failed connects and broken connections count here and in `connections`, not in `requests`. */
  errors: {
    kind: ErrorKind;
    count: number /** One of the system's own messages. */;
    example: string | null;
  }[];
  /**
   * The first response of each status that is no success, and what had come of the first one that each kind of error broke
   * off. Secrets are masked.
   */
  failingResponses: FailingResponse[];
  bytes: { sent: number; received: number };
  generator: {
    /** Share of the measurement in which the busiest worker was not waiting. */
    busy: number;
    /** Share in which the most starved worker was ready to run and was not given a core; `null` where the system does not tell. */
    starved: number | null;
    /** Intended time to the generator's own attempt to send; `null` in a closed run without think time. */
    latenessMs: { p50: number; p99: number; max: number } | null;
    /** |N - X·R| / N; `null` where it has no meaning. */
    littleResidual: number | null;
    clientBound: boolean;
    /** Why, in words; empty if not client-bound. */
    reasons: string[];
    workers: { busy: number; starved: number | null; requests: number }[];
  };
  /** Mean number of requests in flight, measured. */
  meanInFlight: number;
  series: Window[];
  /**
   * HdrHistogram V2 compressed, base64; values in nanoseconds, 3 significant digits. `latency` and `serviceTime` hold all
   * samples, the censored ones at their age; the other two hold these alone. Those of several runs may be added up.
   */
  histograms: {
    unit: 'ns';
    latency: string;
    latencyCensored: string;
    serviceTime: string;
    serviceTimeCensored: string;
  };
  /** Points of the estimated distributions on the percentile axis, for plots: [percentile, ms]. They end where the estimate does. */
  percentiles: {
    latency: [percentile: number, ms: number][];
    serviceTime: [percentile: number, ms: number][];
  };
  /** By name, those with the largest share of the time first. */
  byName?: NamedResult[];
  server?: ServerResult;
  /** Absent where the system does not tell. */
  machine?: MachineResult;
  warnings: Warning[];
}

/** The CPU of this machine over the measurement, in cores, all that ran on it. */
export interface MachineResult {
  /** Used, or it would have been. */
  wantedCores: number;
  /** Of that what the machine's host kept for others (steal). */
  stolenCores: number;
}

/** The state of a run in progress; ten a second. */
export interface Snapshot {
  phase: 'setup' | 'warmup' | 'measure';
  /** Since the start of the phase. */
  elapsedMs: number;
  /** Responses with any status; in the warm-up, requests sent. */
  completed: number;
  /** Status errors, transport errors and timeouts of the measurement. */
  errors: number;
  inFlight: number;
  /** Over the last second of the measurement; 0 before it. */
  throughput: number;
  /** Of the measurement so far; `null` without a sample. */
  p50Ms: number | null;
  p99Ms: number | null;
}
