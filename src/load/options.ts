import type { SecureContextOptions } from 'node:tls';
import type { ScenarioOption } from '../scenario/module.js';
import type { RequestHeaders } from '../validation/headers.js';
import type { Duration } from '../validation/units.js';

/** A stage of an open run's schedule: the rate changes linearly to `rate` within `duration`. */
export interface LoadStage {
  duration: Duration;
  /** Arrivals per second at the stage's end. */
  rate: number | string;
}

/** A stage of a closed run: the number of connections changes evenly to `connections` within `duration`. */
export interface LoadConnectionStage {
  duration: Duration;
  /** Connections in use at the stage's end. */
  connections: number | string;
}

/** One request of the mix. Absent fields default to the run's options. */
export interface LoadTarget {
  /** A URL that begins with `/` goes to the host of the option `url`, or to the server of `command`. */
  url: string | URL;
  /** Requests with the same name have their figures together. Default: method and path, `:id` in place of what varies. */
  name?: string;
  /** Request method. Default: that of the run. */
  method?: string;
  /** Header fields, in addition to those of the run. */
  headers?: RequestHeaders;
  /** Body of the request. Default: that of the run. */
  body?: string | Uint8Array;
  /** Share of the requests, relative to the other targets' weights. Without any weight the targets are requested in turn. */
  weight?: number;
}

/** Options of `load()`. Only a target is required: `url`, `targets`, `targetsFile`, `scenario`, `command` or `socketPath`. */
export interface LoadOptions {
  // What is loaded

  /** `http://`, `https://` or `unix:/path/to.sock:/target`; without a scheme `http`. Several are requested in turn. A `URL` escapes `{`, so placeholders need text. */
  url?: string | URL | (string | URL)[];
  /** Several requests, in turn or by weight. A URL that begins with `/` goes to the host of `url` or of `command`. */
  targets?: LoadTarget[];
  /** A file of targets in vegeta's text or JSON format. */
  targetsFile?: string;
  /**
   * What users do, step by step: a scenario of `millrace/scenario`, several, what a module of
   * them exports, or its path. Rates, `requests`
   * and `stages` are then those of iterations, and `connectionStages` are those of users.
   */
  scenario?: ScenarioOption;
  /**
   * Number of users of scenarios: in a closed run they repeat their iterations, in an open run it is the largest number of
   * iterations at the same time. Without `connections` each has connections of its own. Default 10; in an open run 10000.
   */
  users?: number | string;
  /** Bytes of a body that are kept for checks and saves of scenarios: a longer one fails its step. Default `'1mib'`. */
  maxBody?: number | string;
  /** Addresses of a host: `'HOST:PORT:ADDRESS'`, several separated by commas; `*` is every host. */
  resolve?: readonly string[];
  /** Other hosts to connect to: `'HOST1:PORT1:HOST2:PORT2'`. An empty HOST1 or PORT1 matches all, an empty HOST2 or PORT2 keeps the value. */
  connectTo?: readonly string[];
  /** Connects to this Unix socket instead of the URLs' hosts. */
  socketPath?: string;
  /** IP address of this host that connections come from; of several each is used in turn. Default: the system chooses. */
  localAddress?: string | readonly string[];
  /**
   * A server to start before the run and to stop after it: a program and its arguments, or text that the shell runs.
   * Without `url`, or with one that begins with `/`, its port is found (Linux), debuggers apart; if it listens on several
   * ports, a warning lists the others.
   */
  command?: string | readonly string[];
  /** Environment variables of the command, in addition to those of this process; `undefined` removes one. */
  env?: Record<string, string | undefined>;
  /** Folder that the command runs in. Default: that of this process. */
  cwd?: string;

  // The request

  /** Name of a single request, by which `byName` of the result, conditions and reports call it. Default: method and path, `:id` in place of what varies. */
  name?: string;
  /** Request method. Default `'GET'`, with a body `'POST'`. */
  method?: string;
  /** Header fields, such as `{ accept: 'text/html' }`, `{ cookie: ['a=1', 'b=2'] }` or `[['accept', 'text/html']]`. */
  headers?: RequestHeaders;
  /** Body of the request. No Content-Type is sent unless `headers` has one. */
  body?: string | Uint8Array;
  /** A file with the body. */
  bodyFile?: string;
  /** Maximum number of redirections of one request that are followed, within its server. Default 0. */
  follow?: number | string;
  /** Whether placeholders `{{...}}` are replaced; `false` sends them unchanged. Default `true`. */
  placeholders?: boolean;

  // Amount and schedule

  /** Total number of connections; in an open run the maximum, opened as needed. Default 10; in an open run 1000. */
  connections?: number | string;
  /** The number of connections of a closed run changes evenly to `connections` within `duration`. The first stage starts from the option `connections`, or from one per thread and server. */
  connectionStages?: LoadConnectionStage[];
  /** Threads of the engine. Default 1. */
  threads?: number | string;
  /** Requests in flight per connection: pipelined, or streams of HTTP/2. Default 1. */
  pipelining?: number | string;
  /** Time between a response and the next request of its connection, in a closed run. Default 0. */
  thinkTime?: Duration;

  /** Arrivals per second over all threads: makes the run open. */
  rate?: number | string;
  /** Spacing of the arrivals: equal, or random as in a Poisson process. Default `'constant'`. */
  arrivals?: 'constant' | 'poisson';
  /** The rate changes linearly to `rate` within `duration`: makes the run open. The first stage starts from the option `rate`, or from 0. */
  stages?: LoadStage[];
  /** Maximum number of arrivals that wait or are in flight in an open run; arrivals beyond it are counted and not sent. Default 100 000. */
  maxPending?: number | string;

  /** Length of the measurement. Default 10 s, the sum of the stages of either kind, or none with `requests`. */
  duration?: Duration;
  /** Ends after exactly this many requests (not counting the warm-up). */
  requests?: number | string;
  /** Load before the measurement, in an open run at `rate`; not part of the statistics. Default 0. */
  warmup?: Duration;

  // Version of HTTP

  /** Speaks HTTP/2 alone with `https` servers. Default `false`. */
  http2?: boolean;
  /** Speaks HTTP/2 with `https` servers that have it, otherwise HTTP/1.1. Default `false`. */
  preferHttp2?: boolean;
  /** Speaks HTTP/2 with `http` servers, with prior knowledge, over TCP and Unix sockets. Default `false`. */
  h2c?: boolean;
  /** Flow-control window of each HTTP/2 stream and of a connection, in bytes; that of a connection is at least 65,535. Default 2147483647. */
  window?: number | string;

  // gRPC

  /** A method of gRPC, `'package.Service/Method'`: each request is a call of it, unary or with a stream of responses. `body` or `bodyFile` is the message: bytes, or JSON with `proto`. HTTP/2 is spoken, and `url` is the server, without a path. The status of a response is that of the call. */
  grpc?: string;
  /** A .proto file that describes the messages: `body` is JSON. Needs the package protobufjs. */
  proto?: string;

  // Connections and TLS

  /** Whether connections are reused. `'close'`: a new connection for each request. Default `'keep-alive'`. */
  connection?: 'keep-alive' | 'close';
  /** Handshake of new TLS connections: `'full'`, or `'resume'`, which resumes a session and needs `connection: 'close'`. Default `'full'`. */
  handshake?: 'full' | 'resume';
  /** Accepts any certificate. Default `false`. */
  insecure?: boolean;
  /** Certificates of authorities to trust in place of the system's: PEM text, or bytes (PEM, DER, PKCS #12), or a list of them. */
  ca?: SecureContextOptions['ca'];
  /** Client certificate, with its chain: PEM text, or bytes (PEM, DER, PKCS #12), or a list of them. */
  cert?: SecureContextOptions['cert'];
  /** The certificate's private key, unless `cert` contains both: PEM text, or bytes, or a list of them; a list may have `{ pem, passphrase }`. */
  key?: SecureContextOptions['key'];
  /** Path of a file, in place of `ca`. */
  caFile?: string;
  /** Path of a file, in place of `cert`. */
  certFile?: string;
  /** Path of a file, in place of `key`. */
  keyFile?: string;
  /** Passphrase of an encrypted key or PKCS #12. */
  passphrase?: string;
  /** Server name for TLS. Default: the URL's host. */
  sni?: string;

  // Time limits, conditions, measurement

  /** Time limit from the first byte of a request to the last byte of its response. Default 10 s. */
  timeout?: Duration;
  /** Time limit of the TCP connect and, separately, of the TLS handshake. Default 3 s. */
  connectTimeout?: Duration;

  /** Statuses that count as a success: a status, a class or a range, as in `'2xx'` or `[200, '3xx', 404]`; with `grpc` a name or number of its statuses, as in `['OK', 'NOT_FOUND']`. Default: all below 400; with `grpc` OK. */
  expect?: string | number | (string | number)[];

  /** Conditions that the result is judged by, such as `'p99<50ms'`, `'list users: errors<1%'` or, of scenarios, `'checks>99%'`: `conditions` of the result says which hold. */
  failOn?: string | readonly string[];
  /** Ends the run as soon as a condition of `failOn` can no longer hold; `abortedBy` of the result names it. Default `false`. */
  abortOnFail?: boolean;

  /** Seed of random arrivals, weighted targets and placeholders: a whole number. Default: a random one, see `plan.seed`. */
  seed?: number;
  /**
   * Makes the run a share of a larger one, the second of three as `'2/3'`, or the one that Slurm, MPI or Kubernetes has given
   * this process (`'auto'`): `connections`, `requests` and `users` are divided, and the arrivals, numbers, rows and values of
   * requests are those that the larger run would have had. Needs `seed`. The results of all shares are merged by `mergeResults`.
   */
  segment?: string;
  /** When the load begins: a date, milliseconds of Unix time, or text such as `'2030-01-31T12:00:00Z'` or `'+10s'`. Connections are opened up to 2 s before. */
  startAt?: Date | number | string;
  /**
   * Share of the requests, above 0 and up to 1, that carry a W3C trace context (header `traceparent`, sampled). `slowest` of the
   * result has the trace ids of the ten slowest of them. The requests of an iteration of a scenario share a trace, so the share
   * is one of iterations.
   */
  traceparent?: number | string;
  /** Bounds of latency buckets: snapshots count the requests up to each bound, by name, in `LoadSnapshot.byName`. */
  buckets?: Duration[];

  /** Process to sample CPU and memory of; `false`: none. Default: the command's, or the local owner of the target's port. */
  pid?: number | false;
  /** Ends the run early: the promise resolves with the result so far and `interrupted: true`, or rejects with the signal's reason if no request was sent yet. */
  signal?: AbortSignal;
}
