import type { Range } from '../validation/units.js';

/** All defaults of a run; times in milliseconds. */
export const DEFAULTS = {
  /** The second is the default with a body. */
  method: ['GET', 'POST'],
  connections: 10,
  /** In an open run: the maximum, and the number of connections that are opened before the clock starts. */
  openConnections: 1000,
  openInitialConnections: 10,
  users: 10,
  /** Iterations of scenarios at the same time in an open run, at most. */
  openUsers: 10_000,
  /** Bytes of a body that are kept for checks and saves. */
  maxBody: '1mib',
  threads: 1,
  pipelining: 1,
  follow: 0,
  placeholders: true,
  thinkTimeMs: 0,
  arrivals: 'constant',
  maxPending: 100_000,
  durationMs: 10_000,
  warmupMs: 0,
  http2: false,
  preferHttp2: false,
  h2c: false,
  /** Flow-control window of HTTP/2, in bytes: the largest. */
  window: 2_147_483_647,
  connection: 'keep-alive',
  handshake: 'full',
  insecure: false,
  /** Statuses that count as a success. */
  expect: ['1xx', '2xx', '3xx'],
  abortOnFail: false,
  timeoutMs: 10_000,
  connectTimeoutMs: 3_000,
  /** Time limit until a command listens. */
  commandTimeoutMs: 30_000,
} as const;

/** The accepted range of each number. */
export const LIMITS = {
  connections: { min: 1, max: 1_000_000 },
  threads: { min: 1, max: 1024 },
  pipelining: { min: 1, max: 1_000_000 },
  follow: { min: 0, max: 100 },
  maxPending: { min: 1, max: 100_000_000 },
  requests: { min: 1, max: Number.MAX_SAFE_INTEGER },
  rate: { min: 0, max: 100_000_000 },
} as const satisfies Record<string, Range>;
