import type http from 'node:http';
import { fromEnvironment } from '../../environment/variables.js';
import { type MillraceError, usageError } from '../../errors/millrace-error.js';
import type { NativeCacheEntry, NativeCacheStatistics } from '../../native/addon.js';
import { findNearest } from '../../validation/nearest.js';
import { describeValue } from '../../validation/shape.js';
import { warnOfValue } from '../node/added-properties.js';
import { native } from '../reactor/native.js';

/** Settings of a server's output cache, from its options or `MILLRACE_CACHE_DURATION`. */
export interface CacheOptions {
  /** Freshness lifetime of responses that do not set their own. 0: only responses with their own lifetime are stored, set by `res.cacheDuration`, `Cache-Control` or `Expires`. */
  duration: number;
  /** Maximum size of all entries together. The least recently used entries are evicted to make room. */
  maxBytes: number;
  /** Maximum size of one response, including its head. */
  maxEntryBytes: number;
  /** Maximum number of stored responses of one URI that differ by `Vary`. */
  maxVariants: number;
  /** Maximum time for which a request waits for the response to an identical request; once that response has begun, at most half a second. Then the request goes to the application. */
  maxWait: number;
  /** Whether one request in the last tenth of an entry's lifetime goes to the application to renew the entry. */
  earlyRefresh: boolean;
  /** Whether the cache obeys `Cache-Control` and `Pragma` of requests: a client's reload then reaches the application. */
  obeyRequests: boolean;
  /** Whether responses have a `Cache-Status` field (RFC 9211), which distinguishes hits from misses. */
  status: boolean;
}

type Key = keyof CacheOptions;

interface Setting<T> {
  unit: string;
  fallback: T;
  /** Minimum value of a number. */
  minimum?: number;
}

/** Accepted values and defaults. */
export const CACHE_SETTINGS: { [K in Key]: Setting<CacheOptions[K]> } = {
  duration: { unit: 's', fallback: 0, minimum: 0 },
  maxBytes: { unit: 'bytes', fallback: 64 * 1024 * 1024, minimum: 0 },
  maxEntryBytes: { unit: 'bytes', fallback: 256 * 1024, minimum: 0 },
  maxVariants: { unit: 'variants', fallback: 16, minimum: 1 },
  maxWait: { unit: 'ms', fallback: 5000, minimum: 0 },
  earlyRefresh: { unit: 'boolean', fallback: true },
  obeyRequests: { unit: 'boolean', fallback: false },
  status: { unit: 'boolean', fallback: false },
};

const KEYS = Object.keys(CACHE_SETTINGS) as Key[];

const DEFAULTS = Object.fromEntries(
  KEYS.map((key) => [key, CACHE_SETTINGS[key].fallback]),
) as unknown as CacheOptions;

const environmentOptions = fromEnvironment(readDuration);

const set = new WeakMap<http.Server, CacheOptions | null>();

/** Returns the settings of a server's cache; `null`: it is off. */
export function getCacheOptions(server: http.Server): Readonly<CacheOptions> | null {
  const own = set.get(server);
  return own === undefined ? environmentOptions : own;
}

/** Applies `cache` of a server's options, unless it is an option of the application's own. */
export function applyCacheOption(server: http.Server, options: unknown): void {
  if (typeof options !== 'object' || options === null) return;
  const read = readOption((options as { cache?: unknown }).cache);
  if (read !== undefined) set.set(server, read);
}

/** Values of the option `cache`: `true` for all defaults, `false` for no cache. */
export type CacheOption = boolean | Partial<CacheOptions>;

/** Returns the settings; `null`: no cache; `undefined`: the option is not the stack's. */
function readOption(input: unknown): CacheOptions | null | undefined {
  if (input === false) return null;
  const base = environmentOptions ?? DEFAULTS;
  if (input === true) return base;
  if (typeof input !== 'object' || input === null || !isPlain(input)) return undefined;
  const options: Record<string, unknown> = { ...base };
  const entries = Object.entries(input).filter(([, value]) => value !== undefined);
  const isOurs = entries.length === 0 || entries.some(([key, value]) => isAccepted(key, value));
  for (const [key, value] of entries) {
    const problem = findProblem(key, value);
    if (problem === null) options[key] = value;
    else if (isOurs || findNearest(key, KEYS) !== undefined) {
      warnOfValue(`cache.${key}`, `${problem}; the setting is ignored`);
    }
  }
  return isOurs ? (options as unknown as CacheOptions) : undefined;
}

/** Whether an object is a literal. A store of the application's is of a class. */
function isPlain(input: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(input);
  // That of another realm has no prototype either.
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

function isAccepted(key: string, value: unknown): boolean {
  return findProblem(key, value) === null;
}

/** Returns what is wrong with a setting. */
function findProblem(key: string, value: unknown): string | null {
  if (!Object.hasOwn(CACHE_SETTINGS, key)) {
    const near = findNearest(key, KEYS);
    const hint = near ? `did you mean ${near}?` : `the settings are ${KEYS.join(', ')}`;
    return `cache.${key} is an unknown setting; ${hint}`;
  }
  const { fallback, minimum, unit } = CACHE_SETTINGS[key as Key];
  if (typeof fallback === 'boolean') {
    if (typeof value === 'boolean') return null;
    return requirement(`cache.${key}`, 'true or false', value);
  }
  if (typeof value === 'number' && value >= (minimum ?? 0)) return null;
  const range = `a number of ${UNITS[unit] ?? unit}, ${minimum} or more`;
  return requirement(`cache.${key}`, range, value);
}

/** Units that are abbreviated in the table, in words. */
const UNITS: Record<string, string> = { s: 'seconds', ms: 'milliseconds' };

function requirement(name: string, accepted: string, value: unknown): string {
  return `${name} must be ${accepted} (got ${describeValue(value)})`;
}

function mustBe(name: string, accepted: string, value: unknown): MillraceError {
  return usageError(requirement(name, accepted, value));
}

function readDuration(): CacheOptions | null {
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

/** Converts the settings into those of the reactor. */
export function toNativeOptions(options: Readonly<CacheOptions> | null) {
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

/** Counters of a cache since the server was created; `entries` and the fields after it are current values. */
export type CacheStats = NativeCacheStatistics;
/** A stored response. */
export type CacheEntry = NativeCacheEntry;

/** A selection of entries to remove; a missing field matches all entries. */
export interface CacheSelection {
  /** Path and query, as the client sent them. */
  path?: string;
  /** Beginning of path and query. */
  prefix?: string;
  /** `Host` of the requests. */
  host?: string;
  /** Whether the requests came through TLS. */
  secure?: boolean;
}

/** The output cache of one server. It is empty if the cache is off or the server does not listen natively. */
export class ServerCache {
  private readonly id: () => number;

  constructor(id: () => number) {
    this.id = id;
  }

  /** Returns the counters; `null` if there is no cache. */
  stats(): CacheStats | null {
    const id = this.id();
    return id < 0 ? null : (native.stackCacheStatistics(id) ?? null);
  }

  /** Returns at most `maxEntries` of the stored entries, in no order. */
  entries(maxEntries = 1000): CacheEntry[] {
    if (!(typeof maxEntries === 'number' && maxEntries >= 0)) {
      throw mustBe('the argument of server.cache.entries', 'a number, 0 or more', maxEntries);
    }
    const id = this.id();
    return id < 0 ? [] : native.stackCacheEntries(id, Math.min(maxEntries, 0xffff_ffff));
  }

  /** Removes the entries of a path (with its query), an absolute URL or a selection; returns how many there were. */
  delete(what: string | URL | CacheSelection): number {
    const id = this.id();
    const selection = toSelection(what);
    return id < 0 ? 0 : native.stackCacheDelete(id, selection);
  }

  /** Removes all entries; returns how many there were. */
  clear(): number {
    const id = this.id();
    return id < 0 ? 0 : native.stackCacheDelete(id);
  }
}

const DELETE = 'the argument of server.cache.delete';

function toSelection(what: string | URL | CacheSelection): CacheSelection {
  if (typeof what === 'string' && what.startsWith('/')) return { path: what };
  if (typeof what === 'string' || what instanceof URL) {
    const url = URL.canParse(String(what)) ? new URL(what) : null;
    if (!url || !/^https?:$/.test(url.protocol)) {
      throw mustBe(DELETE, 'a path, an http or https URL, or a selection', what);
    }
    return { path: url.pathname + url.search, host: url.host, secure: url.protocol === 'https:' };
  }
  const entries = typeof what === 'object' && what !== null ? Object.entries(what) : [];
  const specified = entries.filter(([, value]) => value !== undefined);
  // A misspelled selection must not remove all entries.
  if (specified.length === 0 || specified.some(([key]) => !SELECTING.includes(key))) {
    const requirement = `a path, a URL, or an object with some of ${SELECTING.join(', ')}`;
    throw usageError(`${DELETE} must be ${requirement} (got ${JSON.stringify(what)})`);
  }
  const wrong = specified.find(([key, value]) => typeof value !== SELECTING_BY[key as Selecting]);
  if (wrong) {
    const [key, value] = wrong;
    throw mustBe(`${key} in ${DELETE}`, `a ${SELECTING_BY[key as Selecting]}`, value);
  }
  return Object.fromEntries(specified);
}

type Selecting = keyof CacheSelection;

const SELECTING_BY: Record<Selecting, 'string' | 'boolean'> = {
  path: 'string',
  prefix: 'string',
  host: 'string',
  secure: 'boolean',
};

const SELECTING = Object.keys(SELECTING_BY);
