import type { SecureContext } from 'node:tls';
import { usageError } from '../errors.js';
import { parseDurationWithUnit } from '../outbound/duration.js';
import { completeLimits } from '../outbound/limits.js';
import { parseCount } from '../units.js';
import {
  checkOptions,
  count,
  objectOf,
  type Shape,
  type Shapes,
  shape,
  shown,
} from '../validation/shape.js';
import { bodyShape, type GivenBody } from './body.js';
import { type GivenHeaders, headersShape } from './headers.js';
import { buildSecureContext, pathShape, pemShape, type TlsOptions } from './tls-options.js';

/** How long a call may take: milliseconds, or text such as `3s`. 0: no limit. */
export interface ClientLimits {
  /** Until a connection is open, with looking up its host and the TLS handshake. Default 2 s. */
  connect?: number | string;
  /** Until the first byte of the answer. Default: as `total`. */
  headers?: number | string;
  /** Between two bytes of the answer. Default: as `total`. */
  idle?: number | string;
  /** From the call to the last byte of its answer, with all tries and waits. Default 3 s. */
  total?: number | string;
}

/** How many calls are tried again. */
export interface RetryOptions {
  /** Of all calls, the share that may be tried again. Default 0.1. */
  budgetRatio?: number;
  /** So many a second may be in any case. Default 1. */
  minPerSecond?: number;
  /** Of one call. Default 2. */
  maxRetries?: number;
  /** Before the first one, at most; twice as long before each further one. Default 100 ms. */
  baseDelay?: number | string;
}

/** What `createClient` takes. */
export interface ClientOptions extends TlsOptions {
  /** Calls are for this origin alone, and may be paths. */
  origin?: string | URL;
  /** How long calls may take; 0: no limit. */
  limits?: ClientLimits;
  /** To each origin, at most. Default 100. */
  connections?: number | string;
  /** Requests of GET on a connection at once; what ends one of them may end the others. Default 1. */
  pipelining?: number | string;
  /** How many calls are tried again; `false`: none. */
  retries?: RetryOptions | false;
}

/** What a call may have. */
export interface RequestOptions {
  /** Default GET. */
  method?: string;
  /** By name, or pairs of name and value. */
  headers?: GivenHeaders;
  /** What `fetch` takes, and streams of Node.js. A call with a stream is not tried again. */
  body?: GivenBody;
  /** Ends the call. */
  signal?: AbortSignal | null;
  /** In place of the client's. */
  limits?: Omit<ClientLimits, 'connect'>;
}

/** All limits, in milliseconds. */
export type Limits = Record<keyof ClientLimits, number>;

/** Options with every default filled in. */
export interface Settings {
  origin: string | null;
  limits: Limits;
  /** Those that were set: a call may set others, and what follows from them follows. */
  givenLimits: ClientLimits;
  connections: number;
  pipelining: number;
  /** Certificates and key; `null`: Node's defaults. */
  secureContext: SecureContext | null;
  retries: { budgetRatio: number; minPerSecond: number; maxRetries: number; baseDelay: number };
}

/** Refuses what is neither milliseconds nor text with a unit. */
const timeout: Shape = (value, name) => {
  if (Number.isFinite(toMilliseconds(value))) return;
  throw usageError(
    `${name} must be milliseconds, or text with a unit such as '500ms' or '3s' (got ${shown(value)})`,
  );
};

/** Converts a number of milliseconds, or text with a unit; `NaN` or infinite where it is neither. */
function toMilliseconds(value: unknown): number {
  if (typeof value === 'string') return parseDurationWithUnit(value);
  return typeof value === 'number' && value >= 0 ? value : Number.NaN;
}

const NO_RETRIES = { budgetRatio: 0, minPerSecond: 0, maxRetries: 0, baseDelay: 0 };

const callLimits: Shapes<Required<Omit<ClientLimits, 'connect'>>> = {
  headers: timeout,
  idle: timeout,
  total: timeout,
};
const atLeastZero = shape(
  'a number, 0 or more',
  (value) => typeof value === 'number' && value >= 0,
);
const retries = objectOf<Required<RetryOptions>>(
  'an object, or false',
  {
    budgetRatio: atLeastZero,
    minPerSecond: atLeastZero,
    maxRetries: atLeastZero,
    baseDelay: timeout,
  },
  [],
);

const shapes: Shapes<Required<ClientOptions>> = {
  origin: shape('a URL', (value) => typeof value === 'string' || value instanceof URL),
  limits: objectOf('an object', { connect: timeout, ...callLimits }, []),
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

const requestShapes: Shapes<Required<RequestOptions>> = {
  method: shape('a method, such as GET', isToken),
  headers: headersShape,
  body: bodyShape,
  signal: shape('an AbortSignal', (value) => value === null || value instanceof AbortSignal),
  limits: objectOf('an object', callLimits, []),
};

/** Reads what `createClient` is given. */
export function settingsOf(options: ClientOptions): Settings {
  checkOptions(options, shapes);
  const { origin, limits = {}, connections = 100, pipelining = 1, retries = {} } = options;
  return {
    origin: origin === undefined ? null : originOf(origin),
    limits: limitsOf(limits),
    givenLimits: limits,
    connections: parseCount(connections, 'connections', { min: 1, max: 100_000 }),
    pipelining: parseCount(pipelining, 'pipelining', { min: 1, max: 1000 }),
    secureContext: buildSecureContext(options),
    retries: retries === false ? NO_RETRIES : retriesOf(retries),
  };
}

function retriesOf(options: RetryOptions): Settings['retries'] {
  const { budgetRatio = 0.1, minPerSecond = 1, maxRetries = 2, baseDelay = 100 } = options;
  return {
    budgetRatio,
    minPerSecond,
    maxRetries,
    baseDelay: toMilliseconds(baseDelay),
  };
}

/** The limits given, the first that is; for the others the defaults. */
function limitsOf(...given: ClientLimits[]): Limits {
  const ms: Partial<Limits> = {};
  for (const name of ['connect', 'headers', 'idle', 'total'] as const) {
    const value = given.find((limits) => limits[name] !== undefined)?.[name];
    if (value !== undefined) ms[name] = toMilliseconds(value);
  }
  const { connect, headers, idle, total } = completeLimits(ms);
  return { connect, headers, idle, total };
}

/** The limits of one call. */
export function limitsOfCall({ limits }: RequestOptions, ofClient: Settings): Limits {
  return limits === undefined ? ofClient.limits : limitsOf(limits, ofClient.givenLimits);
}

/** Where a call goes to. */
export function targetOf(target: string | URL, origin: string | null): URL {
  checkTarget(target, 'url');
  if (origin === null) return httpUrl(target, 'url');
  if (!URL.canParse(String(target), origin))
    throw usageError(`url: ${shown(target)} given; accepted: a path or a URL`);
  const url = new URL(target, origin);
  if (url.origin !== origin) {
    throw usageError(
      `url: ${shown(String(target))} given; accepted: what is at ${origin}, the client's origin`,
    );
  }
  refuseCredentials(url, 'url');
  return url;
}

export function checkRequest(options: RequestOptions): void {
  checkOptions(options, requestShapes);
}

const checkTarget = shape(
  'a path or a URL',
  (value) => typeof value === 'string' || value instanceof URL,
);

function originOf(given: string | URL): string {
  const url = httpUrl(given, 'origin');
  if (url.pathname === '/' && url.search === '' && url.hash === '') return url.origin;
  throw usageError(
    `origin: ${shown(String(given))} given; accepted: a URL without a path, such as ${url.origin}`,
  );
}

function httpUrl(given: string | URL, name: string): URL {
  const url = URL.canParse(String(given)) ? new URL(given) : null;
  if (url?.protocol === 'http:' || url?.protocol === 'https:') {
    refuseCredentials(url, name);
    return url;
  }
  throw usageError(
    `${name}: ${shown(String(given))} given; accepted: a URL with http:// or https://`,
  );
}

/** They would not be sent, as `fetch` does not send them either; the message does not tell them. */
function refuseCredentials({ username, password, host }: URL, name: string): void {
  if (username === '' && password === '') return;
  throw usageError(
    `${name}: a URL of ${host} with a user or password given; accepted: a URL without them, and the header Authorization`,
  );
}

/** A token (RFC 9110, 5.6.2). */
function isToken(value: unknown): boolean {
  return typeof value === 'string' && /^[\w!#$%&'*+.^`|~-]+$/.test(value);
}
