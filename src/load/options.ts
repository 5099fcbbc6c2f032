import type { SecureContextOptions } from 'node:tls';
import type { Duration } from '../units.js';

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
  url: string | URL;
  /** Requests with the same name have their figures together. Default: method and path, `:id` in place of what varies. */
  name?: string;
  method?: string;
  headers?: HeaderFields;
  body?: string | Uint8Array;
  /** Share of the requests, relative to the other targets' weights. Without any weight the targets are requested in turn. */
  weight?: number;
}

/** Header fields: names with one value or several, or pairs of name and value, as a `Headers` or a `Map` has them. */
export type HeaderFields =
  | Record<string, string | string[]>
  | Iterable<readonly [name: string, value: string]>;

/** Options of `load()`. Only a target is required: `url`, `targets`, `targetsFile`, `command` or `socketPath`. */
export interface LoadOptions {
  /** `http://`, `https://` or `unix:/path/to.sock:/target`; the scheme may be omitted. Several are requested in turn. */
  url?: string | URL | (string | URL)[];
  /** Several requests, in turn or by weight. A URL that begins with `/` goes to the host of `url` or of `command`. */
  targets?: LoadTarget[];
  /** A file of targets in vegeta's text or JSON form. */
  targetsFile?: string;
  /** Addresses of a host: `'HOST:PORT:ADDRESS'`, several separated by commas; `*` is every host. */
  resolve?: string[];
  /** Other hosts to connect to: `'HOST1:PORT1:HOST2:PORT2'`. An empty HOST1 or PORT1 matches all, an empty HOST2 or PORT2 keeps the value. */
  connectTo?: string[];
  /** Connects to this Unix socket instead of the URLs' hosts. */
  socketPath?: string;
  /** IP address of this host that connections come from; of several each is used in turn. Default: the system chooses. */
  localAddress?: string | string[];
  /**
   * Starts this server first, waits for its port, and stops it afterwards: a program and its arguments, or text that the
   * shell runs. Without `url`, or if it begins with `/`, Millrace finds the port that the server listens on (a debugger's
   * port does not count).
   */
  command?: string | string[];
  /** Environment variables of the command, in addition to those of this process; `undefined` removes one. */
  env?: Record<string, string | undefined>;
  /** Folder that the command runs in. Default: that of this process. */
  cwd?: string;

  /** Name of a single request, see `LoadTarget`. */
  name?: string;
  method?: string;
  headers?: HeaderFields;
  body?: string | Uint8Array;
  /** Reads the body from a file. */
  bodyFile?: string;
  /** Maximum number of redirections of one request that are followed, within its server. Default 0. */
  follow?: number | string;
  /** Whether placeholders `{{...}}` are replaced. Default `true`. */
  placeholders?: boolean;

  /** Total number of connections. Default 10; in an open run the maximum, default 1000, opened as needed. */
  connections?: number | string;
  /** How the number of connections of a closed run changes, from `connections` or one per thread and server on. */
  connectionStages?: LoadConnectionStage[];
  /** Threads of the engine. Default 1. */
  threads?: number | string;
  /** Requests in flight per connection. Default 1. */
  pipelining?: number | string;
  /** Time between a response and the next request on the same slot of a closed run. Default 0. */
  thinkTime?: Duration;

  /** Arrivals per second over all threads: makes the run open. */
  rate?: number | string;
  /** Spacing of the arrivals: equal, or random as in a Poisson process. Default `'constant'`. */
  arrivals?: 'constant' | 'poisson';
  /** A rate that changes: makes the run open. It starts at `rate`, or at 0. */
  stages?: LoadStage[];
  /** Maximum number of arrivals that wait or are in flight in an open run; arrivals beyond it are counted and not sent. Default 100 000. */
  maxPending?: number | string;

  /** Length of the measurement. Default 10 s, or the sum of the stages of either kind, or unlimited if `requests` is given. */
  duration?: Duration;
  /** Ends after exactly this many requests (not counting the warm-up). */
  requests?: number | string;
  /** Load before the measurement, in an open run at `rate`; not part of the statistics. Default 0. */
  warmup?: Duration;

  /** Whether connections are reused. `'close'`: a new connection for each request. Default `'keep-alive'`. */
  connection?: 'keep-alive' | 'close';
  /** Handshake of new TLS connections: `'full'`, or `'resume'`, which resumes a session and needs `connection: 'close'`. Default `'full'`. */
  handshake?: 'full' | 'resume';
  /** Accepts any certificate. Default `false`. */
  insecure?: boolean;
  /** Certificates of authorities to trust instead of the system's: PEM text, or bytes (PEM, DER, PKCS #12), or a list of them. */
  ca?: SecureContextOptions['ca'];
  /** Client certificate, with its chain: PEM text, or bytes (PEM, DER, PKCS #12), or a list of them. */
  cert?: SecureContextOptions['cert'];
  /** The certificate's private key, unless `cert` contains both: PEM text, or bytes, or a list of them. */
  key?: SecureContextOptions['key'];
  /** Path of a file, in place of `ca`. */
  caFile?: string;
  /** Path of a file, in place of `cert`. */
  certFile?: string;
  /** Path of a file, in place of `key`. */
  keyFile?: string;
  /** Passphrase of an encrypted key or PKCS #12. */
  passphrase?: string;
  /** Server name for TLS, instead of the URL's host. */
  sni?: string;

  /** Time limit from the first byte of a request to the last byte of its response. Default 10 s. */
  timeout?: Duration;
  /** Time limit of the TCP connect and, separately, of the TLS handshake. Default 3 s. */
  connectTimeout?: Duration;

  /** Statuses that count as a success: a status, a class or a range, as in `'2xx'` or `[200, '3xx', 404]`. Default: all below 400. */
  expect?: string | number | (string | number)[];

  /** Conditions that the result is judged by, such as `'p99<50ms'` or `'list users: errors<1%'`: `conditions` of the result says which hold. */
  failOn?: string | string[];
  /** Ends the run as soon as a condition of `failOn` can no longer hold; `abortedBy` of the result names it. Default `false`. */
  abortOnFail?: boolean;

  /** Seed of random arrivals, weighted targets and placeholders: a whole number. Default: a random one, see `plan.seed`. */
  seed?: number;
  /** Bounds of latency buckets: snapshots count the requests up to each bound, by name, in `LoadSnapshot.byName`. */
  buckets?: Duration[];

  /** Process to sample CPU and memory of. Default: the command's, or the local owner of the target's port; `false`: none. */
  pid?: number | false;
  /** Ends the run early: the promise resolves with the result so far and `interrupted: true`, or rejects with the signal's reason if no request was sent yet. */
  signal?: AbortSignal;
}
