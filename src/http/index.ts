/**
 * `node:http`, with servers on the native stack; everything else, the client above all, is Node's own.
 *
 * @module millrace/http
 */
import http from 'node:http';
import type {
  CacheEntry,
  CacheOptions,
  CacheSelection,
  CacheStats,
  ServerCache,
} from './cache/server-cache.js';
import type { StackOptions } from './install/options.js';
import type { StackLimits } from './server/limits.js';
import type { StackStats } from './server/stats.js';
import { install, installStack, isOff, packageVersion, serverClass } from './stack.js';

type Listener = http.RequestListener;
type Options = http.ServerOptions & StackOptions;

/** As `http.Server`, callable with and without `new`. */
const Server = serverClass<http.Server, http.ServerOptions>(http.Server, installStack);

/** As `http.createServer`; the options may hold those of the stack. */
function createServer(options?: Options | Listener, listener?: Listener): http.Server {
  return new Server(options, listener);
}

/** What Fastify gives to a `serverFactory` besides the handler, as far as it matters here. */
interface FactoryOptions {
  http?: Options | null;
  connectionTimeout?: number;
  keepAliveTimeout?: number;
  requestTimeout?: number;
  maxRequestsPerSocket?: number | null;
}

/** For Fastify: `Fastify({ serverFactory })`. Sets the timeouts that Fastify leaves to a factory. */
function serverFactory(handler: Listener, options: FactoryOptions = {}): http.Server {
  const server = createServer(options.http ?? {}, handler);
  const { connectionTimeout, keepAliveTimeout, requestTimeout, maxRequestsPerSocket } = options;
  if (connectionTimeout) server.setTimeout(connectionTimeout);
  if (keepAliveTimeout !== undefined) server.keepAliveTimeout = keepAliveTimeout;
  if (requestTimeout !== undefined) server.requestTimeout = requestTimeout;
  if (maxRequestsPerSocket) server.maxRequestsPerSocket = maxRequestsPerSocket;
  return server;
}

export * from 'node:http';
export type {
  CacheEntry,
  CacheOptions,
  CacheSelection,
  CacheStats,
  ServerCache,
  StackLimits,
  StackOptions,
  StackStats,
};
export { createServer, install, Server, serverFactory };
/** Set where the stack is on. */
export const millraceVersion: string | undefined = isOff ? undefined : packageVersion();
export default { ...http, createServer, Server, serverFactory, install, millraceVersion };

declare module 'node:http' {
  /** The version of Millrace if `millrace/register` or `install()` is in effect. */
  const millraceVersion: string | undefined;
  interface Server extends StackLimits {
    /** What this server has done so far; `null` if it does not listen natively. */
    stats(): StackStats | null;
    /** The output cache; empty if it is off. */
    readonly cache: ServerCache;
  }
  interface ServerOptions extends StackOptions {}
  interface ServerResponse {
    /**
     * Seconds for which the output cache keeps this response; 0: it is not stored. To be set before its head is sent.
     */
    cacheDuration?: number;
  }
}
