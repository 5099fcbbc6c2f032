import type http from 'node:http';
import { fromEnvironment } from '../../environment.js';
import { type MillraceError, usageError } from '../../errors.js';
import { findNearest } from '../../validation/nearest.js';
import { describeValue } from '../../validation/shape.js';
import { native } from '../reactor/native.js';

/** The output cache of a server: what its options, or `MILLRACE_CACHE_DURATION`, say. */
export interface CacheOptions {
  /** For how long responses are fresh that do not say so themselves. 0: only those are stored that do, by `res.cacheDuration`, `Cache-Control` or `Expires`. */
  duration: number;
  /** Of all entries together. Where one more would not fit, those that were used longest ago leave. */
  maxBytes: number;
  /** Of one response, its head included. */
  maxEntryBytes: number;
  /** Responses of one URI that `Vary` tells apart. */
  maxVariants: number;
  /** How long requests wait for the response to another request for the same: once it has begun, half a second at most. Then they go to the application. */
  maxWait: number;
  /** In the last tenth of an entry's life, one request goes to the application and renews it. */
  earlyRefresh: boolean;
  /** `Cache-Control` and `Pragma` of requests are heeded: a client's reload reaches the application. */
  obeyRequests: boolean;
  /** Responses have a `Cache-Status` field (RFC 9211), which tells hits from misses. */
  status: boolean;
}

type Key = keyof CacheOptions;

interface Setting<T> {
  unit: string;
  fallback: T;
  /** Of numbers: the least that is accepted. */
  least?: number;
}

/** What is accepted, and what holds where nothing is given. */
export const CACHE_SETTINGS: { [K in Key]: Setting<CacheOptions[K]> } = {
  duration: { unit: 's', fallback: 0, least: 0 },
  maxBytes: { unit: 'bytes', fallback: 64 * 1024 * 1024, least: 0 },
  maxEntryBytes: { unit: 'bytes', fallback: 256 * 1024, least: 0 },
  maxVariants: { unit: 'variants', fallback: 16, least: 1 },
  maxWait: { unit: 'ms', fallback: 5000, least: 0 },
  earlyRefresh: { unit: 'boolean', fallback: true },
  obeyRequests: { unit: 'boolean', fallback: false },
  status: { unit: 'boolean', fallback: false },
};

const KEYS = Object.keys(CACHE_SETTINGS) as Key[];

const DEFAULTS = Object.fromEntries(
  KEYS.map((key) => [key, CACHE_SETTINGS[key].fallback]),
) as unknown as CacheOptions;

const ofEnvironment = fromEnvironment(givenDuration);

const set = new WeakMap<http.Server, CacheOptions | null>();

/** What a server's cache is to do; `null`: it is off. */
export function cacheOf(server: http.Server): Readonly<CacheOptions> | null {
  const own = set.get(server);
  return own === undefined ? ofEnvironment : own;
}

/** Takes `cache` from among a server's options. */
export function takeCache(server: http.Server, options: unknown): void {
  if (typeof options !== 'object' || options === null) return;
  const { cache } = options as { cache?: unknown };
  if (cache === undefined) return;
  set.set(server, read(cache));
}

/** `cache` as it may be given: `true` is all defaults, `false` is off. */
export type CacheOption = boolean | Partial<CacheOptions>;

function read(given: unknown): CacheOptions | null {
  if (given === false) return null;
  const base = ofEnvironment ?? DEFAULTS;
  if (given === true) return base;
  if (typeof given !== 'object' || given === null) {
    throw mustBe('cache', 'true, false or an object', given);
  }
  const options: Record<string, unknown> = { ...base };
  for (const [key, value] of Object.entries(given)) {
    if (!Object.hasOwn(CACHE_SETTINGS, key)) {
      const near = findNearest(key, KEYS);
      const hint = near ? `did you mean ${near}?` : `the settings are ${KEYS.join(', ')}`;
      throw usageError(`cache.${key} is an unknown setting; ${hint}`);
    }
    if (value === undefined) continue;
    const { fallback, least, unit } = CACHE_SETTINGS[key as Key];
    if (typeof fallback === 'boolean' && typeof value !== 'boolean') {
      throw mustBe(`cache.${key}`, 'true or false', value);
    }
    if (typeof fallback === 'number' && !(typeof value === 'number' && value >= (least ?? 0))) {
      throw mustBe(`cache.${key}`, `a number of ${UNITS[unit] ?? unit}, ${least} or more`, value);
    }
    options[key] = value;
  }
  return options as unknown as CacheOptions;
}

/** Units that are abbreviated in the table, in words. */
const UNITS: Record<string, string> = { s: 'seconds', ms: 'milliseconds' };

function mustBe(name: string, requirement: string, value: unknown): MillraceError {
  return usageError(`${name} must be ${requirement} (got ${describeValue(value)})`);
}

function givenDuration(): CacheOptions | null {
  const text = process.env.MILLRACE_CACHE_DURATION;
  if (!text) return null;
  const duration = Number(text);
  if (!/^\d+(\.\d+)?$/.test(text)) {
    throw usageError(
      `MILLRACE_CACHE_DURATION must be seconds, such as 10 or 0.5, or 0 to store only responses that say for how long (got '${text}')`,
    );
  }
  return { ...DEFAULTS, duration };
}

/** For the reactor. */
export function nativeCache(options: Readonly<CacheOptions> | null) {
  if (options === null) return {};
  const { duration, maxBytes, maxEntryBytes, maxVariants, maxWait } = options;
  return {
    cache: {
      ...(duration > 0 && { durationMs: duration * 1000 }),
      maxBytes,
      maxEntryBytes,
      maxVariants: Math.min(maxVariants, 0xffff),
      maxWaitMs: maxWait,
      earlyRefresh: options.earlyRefresh,
      obeyRequests: options.obeyRequests,
      tellsHits: options.status,
    },
  };
}

/** What a cache has done since the server was made; from `entries` on as of now. */
export type CacheStats = NonNullable<ReturnType<typeof native.stackCacheStatistics>>;
/** A stored response. */
export type CacheEntry = ReturnType<typeof native.stackCacheEntries>[number];

/** Entries to be removed: what is not given is the same for all. */
export interface CacheSelection {
  /** Path and query, as they were sent. */
  path?: string;
  /** What path and query begin with. */
  prefix?: string;
  /** `Host` of the requests. */
  host?: string;
  /** Through TLS or not. */
  secure?: boolean;
}

/** The output cache of one server. Without one (it is off, or the server does not listen natively) there is nothing in it. */
export class ServerCache {
  readonly #id: () => number;

  constructor(id: () => number) {
    this.#id = id;
  }

  /** What it has done; `null` where there is none. */
  stats(): CacheStats | null {
    const id = this.#id();
    return id < 0 ? null : (native.stackCacheStatistics(id) ?? null);
  }

  /** What is stored, in no order, at most so many entries. */
  entries(most = 1000): CacheEntry[] {
    if (!(typeof most === 'number' && most >= 0)) {
      throw mustBe('the argument of server.cache.entries', 'a number, 0 or more', most);
    }
    const id = this.#id();
    return id < 0 ? [] : native.stackCacheEntries(id, Math.min(most, 0xffff_ffff));
  }

  /** Removes what is stored for a path (with its query), an absolute URL, or a selection; gives how many entries there were. */
  delete(what: string | URL | CacheSelection): number {
    const id = this.#id();
    const selection = selectionOf(what);
    return id < 0 ? 0 : native.stackCacheDelete(id, selection);
  }

  /** Removes everything; gives how many entries there were. */
  clear(): number {
    const id = this.#id();
    return id < 0 ? 0 : native.stackCacheDelete(id);
  }
}

const DELETE = 'the argument of server.cache.delete';

function selectionOf(what: string | URL | CacheSelection): CacheSelection {
  if (typeof what === 'string' && what.startsWith('/')) return { path: what };
  if (typeof what === 'string' || what instanceof URL) {
    const url = URL.canParse(String(what)) ? new URL(what) : null;
    if (!url || !/^https?:$/.test(url.protocol)) {
      throw mustBe(DELETE, 'a path, an http or https URL, or a selection', what);
    }
    return { path: url.pathname + url.search, host: url.host, secure: url.protocol === 'https:' };
  }
  const entries = typeof what === 'object' && what !== null ? Object.entries(what) : [];
  const given = entries.filter(([, value]) => value !== undefined);
  // A mistyped selection must not be taken for "all".
  if (given.length === 0 || given.some(([key]) => !SELECTING.includes(key))) {
    const requirement = `a path, a URL, or an object with some of ${SELECTING.join(', ')}`;
    throw usageError(`${DELETE} must be ${requirement} (got ${JSON.stringify(what)})`);
  }
  const wrong = given.find(([key, value]) => typeof value !== SELECTING_BY[key as Selecting]);
  if (wrong) {
    const [key, value] = wrong;
    throw mustBe(`${key} in ${DELETE}`, `a ${SELECTING_BY[key as Selecting]}`, value);
  }
  return Object.fromEntries(given);
}

type Selecting = keyof CacheSelection;

const SELECTING_BY: Record<Selecting, 'string' | 'boolean'> = {
  path: 'string',
  prefix: 'string',
  host: 'string',
  secure: 'boolean',
};

const SELECTING = Object.keys(SELECTING_BY);
