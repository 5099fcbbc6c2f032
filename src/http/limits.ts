import type http from 'node:http';
import { MillraceError, usageError } from '../errors.js';
import { hasDurationUnit, parseDuration } from '../units.js';

/** Limits beyond Node's own. They may be read and set at any time, as properties of a server or in its options. */
export interface StackLimits {
  /** Requests of one connection that are handled at once; those that follow wait unread. Default 256. */
  maxPipelinedRequests: number;
  /** Milliseconds for each response, from its request's head to its last byte; then 408, in order, and the connection is closed. 0, the default: no limit. */
  responseTimeout: number;
  /** Requests of a server that are handled at once; those beyond are answered 503. 0, the default: no limit. */
  maxRequestsInFlight: number;
  /** Bytes per second at which a request's body has to arrive, on average after five seconds. 0, the default: no limit. */
  minReceiveRate: number;
  /** Bytes per second that a client has to take of what waits for it, on average after five seconds. 0, the default: no limit. */
  minSendRate: number;
}

const DEFAULTS: StackLimits = {
  maxPipelinedRequests: 256,
  responseTimeout: responseTimeoutFromEnvironment(),
  maxRequestsInFlight: 0,
  minReceiveRate: 0,
  minSendRate: 0,
};

const NAMES = Object.keys(DEFAULTS) as (keyof StackLimits)[];

const set = new WeakMap<http.Server, StackLimits>();

/** The limits of a server. */
export function limitsOf(server: http.Server): Readonly<StackLimits> {
  return set.get(server) ?? DEFAULTS;
}

/** Makes the limits properties of servers with this prototype; `changed` hears of each change. */
export function installLimits(prototype: object, changed: (server: http.Server) => void): void {
  for (const name of NAMES) {
    Object.defineProperty(prototype, name, {
      configurable: true,
      enumerable: true,
      get(this: http.Server): number {
        return limitsOf(this)[name];
      },
      set(this: http.Server, value: number) {
        setLimit(this, name, value);
        changed(this);
      },
    });
  }
}

/** Takes the limits that are among a server's options. */
export function takeLimits(server: http.Server, options: unknown): void {
  if (typeof options !== 'object' || options === null) return;
  const given = options as Partial<StackLimits>;
  for (const name of NAMES) {
    if (given[name] !== undefined) setLimit(server, name, given[name]);
  }
}

function setLimit(server: http.Server, name: keyof StackLimits, value: number): void {
  const least = name === 'maxPipelinedRequests' ? 1 : 0;
  if (typeof value !== 'number' || !(value >= least)) {
    throw new MillraceError(
      'ERR_MILLRACE_USAGE',
      `server.${name} = ${String(value)}: accepted is a number, ${least} or more`,
    );
  }
  set.set(server, { ...limitsOf(server), [name]: value });
}

function responseTimeoutFromEnvironment(): number {
  const text = process.env.MILLRACE_RESPONSE_TIMEOUT;
  if (!text) return 0;
  if (/^\d+$/.test(text)) return Number(text);
  if (hasDurationUnit(text)) return parseDuration(text, 'MILLRACE_RESPONSE_TIMEOUT');
  throw usageError(
    `MILLRACE_RESPONSE_TIMEOUT: '${text}' given; accepted: milliseconds, or 500ms, 3s, 1m30s`,
  );
}
