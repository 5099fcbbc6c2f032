import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname } from 'node:path';
import { usageError } from '../errors/millrace-error.js';
import {
  checkOptions,
  count,
  duration,
  flag,
  isObject,
  number,
  objectOf,
  type Shape,
  type Shapes,
  shape,
  size,
  text,
} from '../validation/shape.js';
import type { Duration } from '../validation/units.js';
import { parseBytes, parseCount, parseDuration } from '../validation/units.js';
import { type PlannedTls, planTls, type TestServerTls, tlsShape } from './certificate.js';

/**
 * The delay of responses: the same for all, uniformly random between two bounds, or for every n-th request only. The timer is
 * Node's, with a resolution of 1 ms. Each process counts for itself.
 */
export type Delay = Duration | { from: Duration; to: Duration } | { ms: Duration; every: number };

/** Options of `startTestServer()`; each has a default. */
export interface TestServerOptions {
  /** Port to listen on. Default 0: a free port. */
  port?: number;
  /** The address to listen on. Default `'127.0.0.1'`. */
  host?: string;
  /** Path of a Unix socket to listen on instead; not with `tls`. */
  path?: string;
  /** Number of processes that answer, on one port; 0: the calling process. Default: one per core. */
  processes?: number;
  /** Time from a request to its response. Default 0. */
  delay?: Delay;
  /** Status of the responses, 200 to 599. Default 200. */
  status?: number;
  /** Bytes of content in a response: a number or text such as `'16k'`. Default: a short text of 13 bytes. */
  size?: number | string;
  /** Sends the content in four chunks (fewer if it has fewer bytes), each in a turn of the event loop of its own, without a Content-Length. Default `false`. */
  chunked?: boolean;
  /** Closes the connection after each response. Default `false`. */
  close?: boolean;
  /** Share of the requests, 0 to 1, that are answered with status 500: at 0.25 every fourth. Default 0. */
  errorRate?: number;
  /** `true`: HTTPS with a generated certificate for `localhost`, `127.0.0.1`, `::1` and the host; or `{ cert, key }`: PEM text, Buffers or lists of them, as in Node's `tls`; `certFile` and `keyFile` are paths in place of them. Default `false`. */
  tls?: boolean | TestServerTls;
  /** HTTP/2: in cleartext with prior knowledge alone, with `tls` beside HTTP/1.1, as clients choose. Default `false`. */
  http2?: boolean;
  /** Streams that a client may have open at once on a connection of HTTP/2. Default: no limit. */
  maxStreams?: number;
  /** Ends the server when it is aborted, as `close()` does; a start that it interrupts rejects with its reason. */
  signal?: AbortSignal;
}

/** The checked options with all defaults; sent as JSON to the processes that serve. */
export interface TestServerPlan {
  listen: { host: string; port: number } | { path: string };
  processes: number;
  /** Every n-th request takes a time between the two bounds. */
  delay: { fromMs: number; toMs: number; every: number };
  status: number;
  /** `null`: the default text. */
  size: number | null;
  chunked: boolean;
  close: boolean;
  errorRate: number;
  tls: PlannedTls | null;
  http2: boolean;
  /** `null`: no limit. */
  maxStreams: number | null;
}

const delay: Shape = (value, name) => {
  const fields = 'an object with from and to, or with ms and every';
  if (!isObject(value)) duration(value, name);
  else if ('from' in value)
    objectOf(fields, { from: duration, to: duration }, ['from', 'to'])(value, name);
  else objectOf(fields, { ms: duration, every: count }, ['ms', 'every'])(value, name);
};
const OPTIONS: Shapes<TestServerOptions> = {
  port: count,
  host: text,
  path: text,
  processes: count,
  delay,
  status: count,
  size,
  chunked: flag,
  close: flag,
  errorRate: number,
  tls: (value, name) => (isObject(value) ? tlsShape : flag)(value, name),
  http2: flag,
  maxStreams: count,
  signal: shape('an AbortSignal', (value) => value instanceof AbortSignal),
};

/**
 * Checks the options and fills in the defaults.
 *
 * @throws {MillraceError} `ERR_MILLRACE_USAGE` that names the option, its value and the accepted values.
 */
export async function planTestServer(options: TestServerOptions): Promise<TestServerPlan> {
  checkOptions(options, OPTIONS);
  const { host = '127.0.0.1', path, errorRate = 0 } = options;
  if (!(errorRate >= 0 && errorRate <= 1)) {
    throw usageError(`errorRate must be a number from 0 to 1 (got ${errorRate})`);
  }
  if (host === '') throw usageError("host must be an address or a name of this machine (got '')");
  if (path !== undefined) checkPath(path);
  if (path !== undefined && options.tls) {
    throw usageError('tls cannot be used on a Unix socket: leave out tls or path');
  }
  const processes = options.processes ?? availableParallelism();
  return {
    listen:
      path === undefined
        ? { host, port: parseCount(options.port ?? 0, 'port', { min: 0, max: 65535 }) }
        : { path },
    processes: parseCount(processes, 'processes', { min: 0, max: 1024 }),
    delay: planDelay(options.delay ?? 0),
    status: parseStatus(options.status ?? 200),
    size: options.size === undefined ? null : parseSize(options.size),
    chunked: options.chunked ?? false,
    close: options.close ?? false,
    errorRate,
    tls: await planTls(options.tls ?? false, host),
    http2: options.http2 ?? false,
    maxStreams: planMaxStreams(options),
  };
}

function planMaxStreams({ http2 = false, maxStreams }: TestServerOptions): number | null {
  if (maxStreams === undefined) return null;
  if (!http2) throw usageError('maxStreams is a limit of HTTP/2: add http2');
  return parseCount(maxStreams, 'maxStreams', { min: 1, max: MAX_SETTING });
}

/** The largest value of a setting of HTTP/2 (RFC 9113, section 6.5.1). */
const MAX_SETTING = 2 ** 32 - 1;

/** Maximum length of a socket path in bytes: unix(7) allows 107, macOS 103. Node may truncate a longer one. */
const MAX_PATH_BYTES = 103;

function checkPath(path: string): void {
  const bytes = Buffer.byteLength(path);
  if (bytes > 0 && bytes <= MAX_PATH_BYTES) {
    if (existsSync(dirname(path))) return;
    throw usageError(`cannot listen on ${path}: no such folder`);
  }
  throw usageError(`path must have 1 to ${MAX_PATH_BYTES} bytes (got ${bytes})`);
}

/** Parses a final status code. */
export function parseStatus(status: number | string): number {
  return parseCount(status, 'status', { min: 200, max: 599 });
}

/** Parses a size of content in bytes. */
export function parseSize(size: number | string): number {
  const max = 256 * 1024 ** 2;
  return parseCount(parseBytes(size, 'size'), 'size', { min: 0, max });
}

/** Parses a delay that a timer can wait for, in milliseconds. */
export function parseDelay(delay: Duration): number {
  const ms = parseDuration(delay, 'delay');
  if (ms > MAX_TIMER_MS)
    throw usageError(`delay must be at most 24 days (got ${formatGiven(delay)})`);
  return ms;
}

/** Formats a duration as it was given. */
function formatGiven(value: Duration): string {
  return typeof value === 'number' ? `${value}ms` : value;
}

const MAX_TIMER_MS = 2 ** 31 - 1;

function planDelay(delay: Delay): TestServerPlan['delay'] {
  if (typeof delay !== 'object') {
    const ms = parseDelay(delay);
    return { fromMs: ms, toMs: ms, every: 1 };
  }
  if ('every' in delay) {
    const ms = parseDelay(delay.ms);
    const range = { min: 1, max: Number.MAX_SAFE_INTEGER };
    return { fromMs: ms, toMs: ms, every: parseCount(delay.every, 'delay.every', range) };
  }
  const [fromMs, toMs] = [parseDelay(delay.from), parseDelay(delay.to)];
  if (fromMs > toMs) {
    throw usageError(
      `delay.from must not exceed delay.to (got ${formatGiven(delay.from)} and ${formatGiven(delay.to)})`,
    );
  }
  return { fromMs, toMs, every: 1 };
}
