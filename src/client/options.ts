import type { Readable } from 'node:stream';
import { completed } from '../deadlines/limits.js';
import { usageError } from '../errors.js';
import { checkOptions, count, duration, type Shapes, shape, shown, text } from '../shape.js';
import { parseCount, parseDuration } from '../units.js';

/** How long a call may take: milliseconds, or text such as `3s`. 0: no limit. */
export interface ClientLimits {
  /** Until a connection is open, with looking up its host and the TLS handshake. Default 2 s. */
  connect?: number | string;
  /** Until the first byte of the answer. Default: as `total`. */
  firstByte?: number | string;
  /** Between two bytes of the answer. Default: as `total`. */
  silence?: number | string;
  /** From the call to the last byte of its answer, with all tries and waits. Default 3 s. */
  total?: number | string;
}

/** How many calls are tried again. */
export interface RetryOptions {
  /** Of all calls, the share that may be tried again. Default 0.1. */
  share?: number;
  /** So many a second may be in any case. Default 1. */
  floor?: number;
  /** Of one call. Default 2. */
  most?: number;
  /** Before the first one, at most; twice as long before each further one. Default 100 ms. */
  backoff?: number | string;
}

/** What `createClient` takes. */
export interface ClientOptions {
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
  /** By name. */
  headers?: Record<string, string | string[]>;
  /** A call with a stream is not tried again. */
  body?: string | Uint8Array | Readable | null;
  /** Ends the call. */
  signal?: AbortSignal;
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
  retries: { share: number; floor: number; most: number; backoff: number };
}

const NO_RETRIES = { share: 0, floor: 0, most: 0, backoff: 0 };

const callLimits: Shapes<Required<Omit<ClientLimits, 'connect'>>> = {
  firstByte: duration,
  silence: duration,
  total: duration,
};
const object = shape('an object', (value) => typeof value === 'object' && value !== null);
const atLeastZero = shape(
  'a number, 0 or more',
  (value) => typeof value === 'number' && value >= 0,
);

const shapes: Shapes<Required<ClientOptions>> = {
  origin: shape('a URL', (value) => typeof value === 'string' || value instanceof URL),
  limits: object,
  connections: count,
  pipelining: count,
  retries: shape('an object, or false', (value) => value === false || typeof value === 'object'),
};

const requestShapes: Shapes<Required<RequestOptions>> = {
  method: text,
  headers: object,
  body: () => {},
  signal: shape('an AbortSignal', (value) => value instanceof AbortSignal),
  limits: object,
};

/** Reads what `createClient` is given. */
export function settingsOf(options: ClientOptions): Settings {
  checkOptions(options, shapes);
  const { origin, limits = {}, connections = 100, pipelining = 1, retries = {} } = options;
  checkOptions(limits, { connect: duration, ...callLimits });
  return {
    origin: origin === undefined ? null : httpUrl(origin, 'origin').origin,
    limits: limitsOf(limits),
    givenLimits: limits,
    connections: parseCount(connections, 'connections', { min: 1, max: 100_000 }),
    pipelining: parseCount(pipelining, 'pipelining', { min: 1, max: 1000 }),
    retries: retries === false ? NO_RETRIES : retriesOf(retries),
  };
}

function retriesOf(options: RetryOptions): Settings['retries'] {
  checkOptions(options, {
    share: atLeastZero,
    floor: atLeastZero,
    most: atLeastZero,
    backoff: duration,
  });
  const { share = 0.1, floor = 1, most = 2, backoff = 100 } = options;
  return { share, floor, most, backoff: parseDuration(backoff, 'backoff') };
}

/** The limits given, and for the others the defaults, or those of the client. */
function limitsOf(given: ClientLimits): Limits {
  const ms: Partial<Limits> = {};
  for (const name of ['connect', 'firstByte', 'silence', 'total'] as const) {
    const value = given[name];
    if (value !== undefined) ms[name] = parseDuration(value, `limits.${name}`);
  }
  const { connect, firstByte, silence, total } = completed(ms);
  return { connect, firstByte, silence, total };
}

/** The limits of one call. */
export function limitsOfCall({ limits }: RequestOptions, ofClient: Settings): Limits {
  if (limits === undefined) return ofClient.limits;
  checkOptions(limits, callLimits);
  return limitsOf({ ...ofClient.givenLimits, ...limits });
}

/** Where a call goes to. */
export function targetOf(target: string | URL, origin: string | null): URL {
  if (origin === null) return httpUrl(target, 'url');
  if (!URL.canParse(String(target), origin))
    throw usageError(`url: ${shown(target)} given; accepted: a path or a URL`);
  const url = new URL(target, origin);
  if (url.origin !== origin) {
    throw usageError(
      `url: ${shown(String(target))} given; accepted: what is at ${origin}, the client's origin`,
    );
  }
  return url;
}

export function checkRequest(options: RequestOptions): void {
  checkOptions(options, requestShapes);
}

function httpUrl(given: string | URL, name: string): URL {
  const url = URL.canParse(String(given)) ? new URL(given) : null;
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return url;
  throw usageError(
    `${name}: ${shown(String(given))} given; accepted: a URL with http:// or https://`,
  );
}
