import type { SecureContext } from 'node:tls';
import { usageError } from '../errors/millrace-error.js';
import { completeLimits } from '../outbound/limits.js';
import { headersShape, type RequestHeaders } from '../validation/headers.js';
import { pathShape, pemShape } from '../validation/pem.js';
import {
  checkOptions,
  count,
  duration,
  mustBe,
  objectOf,
  type Shapes,
  shape,
} from '../validation/shape.js';
import { parseCount, parseDuration } from '../validation/units.js';
import { bodyShape, type RequestBody } from './body.js';
import { buildSecureContext, type TlsOptions } from './tls-options.js';

/** Time limits of a call: milliseconds, or text with a unit such as `'3s'`. 0: no limit. */
export interface ClientTimeouts {
  /** Until a connection is open, including name lookup and TLS handshake. Default 2 s. */
  connect?: number | string;
  /** From sending the request until the response headers. Default: as `total`. */
  headers?: number | string;
  /** Between two bytes of the response body. Default: as `total`. */
  idle?: number | string;
  /** From the call to the last byte of its response, including all tries and waits. Default 3 s. */
  total?: number | string;
}

/** Which calls are retried. */
export interface RetryOptions {
  /** Maximum ratio of retries to calls. Default 0.1. */
  budgetRatio?: number;
  /** Number of retries allowed per second in any case. Default 1. */
  minPerSecond?: number;
  /** Maximum number of retries of one call. Default 2. */
  maxRetries?: number;
  /** Maximum delay before the first retry; doubled before each further one. Default 100 ms. */
  baseDelay?: number | string;
}

/** Options of `createClient`. */
export interface ClientOptions extends TlsOptions {
  /** The only origin of the client's calls, whose targets may then be paths. */
  origin?: string | URL;
  /** Time limits of calls; 0: no limit. */
  timeouts?: ClientTimeouts;
  /** Maximum number of connections to each origin. Default 100. */
  connections?: number | string;
  /** Maximum number of GET requests on a connection at once; ending one of them may end the others. Default 1. */
  pipelining?: number | string;
  /** Which calls are retried; `false`: none. */
  retries?: RetryOptions | false;
}

/** Options of a call. */
export interface RequestOptions {
  /** Request method; those that `fetch` knows and PATCH may be in any case. Default GET. */
  method?: string;
  /** Headers by name, or pairs of name and value. */
  headers?: RequestHeaders;
  /** Any body of `fetch`, or a stream of Node.js. A call with a stream is not retried. */
  body?: RequestBody;
  /** Aborts the call. */
  signal?: AbortSignal | null;
  /** Time limits in place of the client's. */
  timeouts?: Omit<ClientTimeouts, 'connect'>;
}

/** Time limits of a call, in milliseconds. */
export type ResolvedTimeouts = Record<keyof ClientTimeouts, number>;

/** The client's options with every default filled in. */
export interface ClientSettings {
  origin: string | null;
  timeouts: ResolvedTimeouts;
  /** As they were set: those that follow the total follow the total of a call. */
  timeoutOptions: ClientTimeouts;
  connections: number;
  pipelining: number;
  /** The TLS context of certificates and key; `null`: Node's default. */
  secureContext: SecureContext | null;
  retries: { budgetRatio: number; minPerSecond: number; maxRetries: number; baseDelay: number };
}

const NO_RETRIES = { budgetRatio: 0, minPerSecond: 0, maxRetries: 0, baseDelay: 0 };

const callTimeouts: Shapes<Required<Omit<ClientTimeouts, 'connect'>>> = {
  headers: duration,
  idle: duration,
  total: duration,
};
const nonNegative = shape(
  'a number, 0 or more',
  (value) => typeof value === 'number' && value >= 0,
);
const retries = objectOf<Required<RetryOptions>>(
  'an object, or false',
  {
    budgetRatio: nonNegative,
    minPerSecond: nonNegative,
    maxRetries: nonNegative,
    baseDelay: duration,
  },
  [],
);

const shapes: Shapes<Required<ClientOptions>> = {
  origin: shape('a URL', (value) => typeof value === 'string' || value instanceof URL),
  timeouts: objectOf('an object', { connect: duration, ...callTimeouts }, []),
  connections: count,
  pipelining: count,
  ca: pemShape,
  cert: pemShape,
  key: pemShape,
  caFile: pathShape,
  certFile: pathShape,
  keyFile: pathShape,
  retries: (value, name) => value === false || retries(value, name),
};

/** Another name of an option. */
const OTHER_NAMES = { limits: 'timeouts' } as const;

const requestShapes: Shapes<Required<RequestOptions>> = {
  method: shape('a method, such as GET', isToken),
  headers: headersShape,
  body: bodyShape,
  signal: shape('an AbortSignal', (value) => value === null || value instanceof AbortSignal),
  timeouts: objectOf('an object', callTimeouts, []),
};

/** Checks the options of `createClient`, and fills in the defaults. */
export function resolveOptions(options: ClientOptions): ClientSettings {
  checkOptions(options, shapes, OTHER_NAMES);
  const { origin, timeouts = {}, connections = 100, pipelining = 1, retries = {} } = options;
  return {
    origin: origin === undefined ? null : parseOrigin(origin),
    timeouts: resolveTimeouts(timeouts),
    timeoutOptions: timeouts,
    connections: parseCount(connections, 'connections', { min: 1, max: 100_000 }),
    pipelining: parseCount(pipelining, 'pipelining', { min: 1, max: 1000 }),
    secureContext: buildSecureContext(options),
    retries: retries === false ? NO_RETRIES : resolveRetries(retries),
  };
}

function resolveRetries(options: RetryOptions): ClientSettings['retries'] {
  const { budgetRatio = 0.1, minPerSecond = 1, maxRetries = 2, baseDelay = 100 } = options;
  return {
    budgetRatio,
    minPerSecond,
    maxRetries,
    baseDelay: parseDuration(baseDelay, 'retries.baseDelay'),
  };
}

/** Resolves each time limit from the first options that set it, or its default. */
function resolveTimeouts(...options: ClientTimeouts[]): ResolvedTimeouts {
  const ms: Partial<ResolvedTimeouts> = {};
  for (const name of ['connect', 'headers', 'idle', 'total'] as const) {
    const value = options.find((timeouts) => timeouts[name] !== undefined)?.[name];
    if (value !== undefined) ms[name] = parseDuration(value, `timeouts.${name}`);
  }
  const { connect, headers, idle, total } = completeLimits(ms);
  return { connect, headers, idle, total };
}

/** Returns the time limits of one call. */
export function resolveCallTimeouts(
  { timeouts }: RequestOptions,
  ofClient: ClientSettings,
): ResolvedTimeouts {
  return timeouts === undefined
    ? ofClient.timeouts
    : resolveTimeouts(timeouts, ofClient.timeoutOptions);
}

/** Resolves the target of a call against the client's origin. */
export function resolveTarget(target: string | URL, origin: string | null): URL {
  checkTarget(target, 'url');
  if (origin === null) return parseHttpUrl(target, 'url');
  if (!URL.canParse(String(target), origin)) throw mustBe('url', 'a path or a URL', target);
  const url = new URL(target, origin);
  if (url.origin !== origin) {
    throw mustBe('url', `at ${origin}, the client's origin`, String(target));
  }
  refuseCredentials(url, 'url');
  return url;
}

export function checkRequest(options: RequestOptions): void {
  checkOptions(options, requestShapes, OTHER_NAMES);
}

const checkTarget = shape(
  'a path or a URL',
  (value) => typeof value === 'string' || value instanceof URL,
);

function parseOrigin(origin: string | URL): string {
  const url = parseHttpUrl(origin, 'origin');
  if (url.pathname === '/' && url.search === '' && url.hash === '') return url.origin;
  throw mustBe('origin', `a URL without a path, such as ${url.origin}`, String(origin));
}

function parseHttpUrl(text: string | URL, name: string): URL {
  const url = URL.canParse(String(text)) ? new URL(text) : null;
  if (url?.protocol === 'http:' || url?.protocol === 'https:') {
    refuseCredentials(url, name);
    return url;
  }
  throw mustBe(name, 'a URL with http:// or https://', String(text));
}

/** Refuses a URL with credentials, which `fetch` does not send either. The message does not contain them. */
function refuseCredentials({ username, password, host }: URL, name: string): void {
  if (username === '' && password === '') return;
  throw usageError(
    `${name} must have no user and password; use the header Authorization (got a URL of ${host} with them)`,
  );
}

/** Whether a value is a token (RFC 9110, 5.6.2). */
function isToken(value: unknown): boolean {
  return typeof value === 'string' && /^[\w!#$%&'*+.^`|~-]+$/.test(value);
}
