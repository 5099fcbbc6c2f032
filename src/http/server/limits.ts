import type http from 'node:http';
import { fromEnvironment } from '../../environment/variables.js';
import { usageError } from '../../errors/millrace-error.js';
import { describeValue } from '../../validation/shape.js';
import { hasDurationUnit, parseDuration } from '../../validation/units.js';
import { addProperty, warnOfValue } from '../node/added-properties.js';

/** Limits in addition to Node's own: properties of a server that can be read and set at any time, and options. */
export interface StackLimits {
  /** Maximum number of requests of one connection that the application handles at once. Later requests are not read until half of these are answered. Without effect over HTTP/2. */
  maxPipelinedRequests: number;
  /** Maximum number of streams of one HTTP/2 connection at once; a client waits with further requests. Applies to new connections. */
  maxConcurrentStreams: number;
  /** Time limit of each response, from the head of its request to its last byte. After it, a response with `responseTimeoutStatus` is sent in its turn and the connection is closed; a response that has begun is cut off. Over HTTP/2 only the stream ends: it is answered, or reset if its response has begun. */
  responseTimeout: number;
  /** Status of the responses that `responseTimeout` sends. */
  responseTimeoutStatus: number;
  /** Maximum number of requests of the server that the application handles at once. Further requests are answered 503 with `Connection: close`, and the server emits `dropRequest`. Over HTTP/2 only the stream is answered 503. */
  maxRequestsInFlight: number;
  /** Minimum rate at which a request's body must arrive, on average after five seconds. Time in which the application does not read is not counted. Below it, the server emits `clientError` (by default: 408) and the connection is closed. Over HTTP/2 only the stream ends. */
  minReceiveRate: number;
  /** Minimum rate at which a client must receive the bytes that wait for it, on average after five seconds. On Linux, bytes in the system's buffers do not count as received. Below it, the connection is closed. Over HTTP/2 only the stream is reset. */
  minSendRate: number;
}

interface Limit {
  unit: string;
  fallback: number;
  /** Units of whole numbers. */
  isWhole?: true;
  /** The minimum, or all accepted values. */
  accepted: number | readonly number[];
}

/** Accepted values and defaults. If 0 is accepted, it means no limit. */
export const LIMITS: Record<keyof StackLimits, Limit> = {
  maxPipelinedRequests: { unit: 'requests', fallback: 256, accepted: 1, isWhole: true },
  maxConcurrentStreams: { unit: 'streams', fallback: 100, accepted: 1, isWhole: true },
  responseTimeout: { unit: 'ms', fallback: 0, accepted: 0 },
  responseTimeoutStatus: { unit: 'status', fallback: 408, accepted: [408, 503, 504] },
  maxRequestsInFlight: { unit: 'requests', fallback: 0, accepted: 0, isWhole: true },
  minReceiveRate: { unit: 'bytes/s', fallback: 0, accepted: 0 },
  minSendRate: { unit: 'bytes/s', fallback: 0, accepted: 0 },
};

/** Returns the accepted values of a limit in words. */
export function acceptedText({ accepted }: Limit): string {
  return typeof accepted === 'number' ? `${accepted} or more` : oneOf(accepted);
}

const NAMES = Object.keys(LIMITS) as (keyof StackLimits)[];

const DEFAULTS: StackLimits = {
  ...(Object.fromEntries(NAMES.map((name) => [name, LIMITS[name].fallback])) as Record<
    keyof StackLimits,
    number
  >),
  responseTimeout: fromEnvironment(readResponseTimeout),
  responseTimeoutStatus: fromEnvironment(readResponseTimeoutStatus),
};

const set = new WeakMap<http.Server, StackLimits>();

/** Returns the limits of a server. */
export function getLimits(server: http.Server): Readonly<StackLimits> {
  return set.get(server) ?? DEFAULTS;
}

/** Makes the limits properties of servers with this prototype; `changed` is called at each change. */
export function installLimits(prototype: object, changed: (server: http.Server) => void): void {
  for (const name of NAMES) {
    addProperty<http.Server>(
      prototype,
      name,
      (server) => getLimits(server)[name],
      (server, value) => {
        if (typeof value !== 'number') return false;
        if (setLimit(server, name, value)) changed(server);
        return true;
      },
    );
  }
}

/** Sets the limits that a server's options contain; an option that is not a number is the application's own. */
export function applyLimits(server: http.Server, options: unknown): void {
  if (typeof options !== 'object' || options === null) return;
  const limits = options as Record<string, unknown>;
  for (const name of NAMES) {
    const value = limits[name];
    if (typeof value === 'number') setLimit(server, name, value);
  }
}

/** Sets a limit; returns whether the value is accepted. */
function setLimit(server: http.Server, name: keyof StackLimits, value: number): boolean {
  const limit = LIMITS[name];
  if (!isAccepted(limit, value)) {
    const must = `server.${name} must be ${requirement(limit)} (got ${describeValue(value)})`;
    warnOfValue(name, `${must}; the value is ignored`);
    return false;
  }
  set.set(server, { ...getLimits(server), [name]: value });
  return true;
}

function isAccepted({ accepted, isWhole }: Limit, value: unknown): boolean {
  if (typeof value !== 'number') return false;
  if (typeof accepted !== 'number') return accepted.includes(value);
  return value >= accepted && !(isWhole && value !== Infinity && !Number.isInteger(value));
}

/** The requirement of a limit, as a part of a sentence. */
function requirement(limit: Limit): string {
  const { accepted, unit, isWhole } = limit;
  if (typeof accepted !== 'number') return acceptedText(limit);
  if (isWhole) return `a whole number, ${acceptedText(limit)}`;
  return `a number of ${unit === 'ms' ? 'milliseconds' : 'bytes per second'}, ${acceptedText(limit)}`;
}

function oneOf(numbers: readonly number[]): string {
  return `${numbers.slice(0, -1).join(', ')} or ${numbers.at(-1)}`;
}

function readResponseTimeoutStatus(): number {
  const limit = LIMITS.responseTimeoutStatus;
  const text = process.env.MILLRACE_RESPONSE_TIMEOUT_STATUS;
  if (!text) return limit.fallback;
  if (/^\d+$/.test(text) && isAccepted(limit, Number(text))) return Number(text);
  throw usageError(
    `MILLRACE_RESPONSE_TIMEOUT_STATUS must be ${acceptedText(limit)} (got '${text}')`,
  );
}

function readResponseTimeout(): number {
  const text = process.env.MILLRACE_RESPONSE_TIMEOUT;
  if (!text) return LIMITS.responseTimeout.fallback;
  if (text === '0') return 0;
  if (hasDurationUnit(text)) return parseDuration(text, 'MILLRACE_RESPONSE_TIMEOUT');
  if (/^\d+$/.test(text)) {
    throw usageError(
      `MILLRACE_RESPONSE_TIMEOUT needs a unit, such as ${text}ms or ${text}s (got '${text}')`,
    );
  }
  throw usageError(
    `MILLRACE_RESPONSE_TIMEOUT must be a duration with a unit, such as 500ms, 3s or 1m30s (got '${text}')`,
  );
}
