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
import type { StackListener, StackMembers, StackResponse } from './server/stack-members.js';
import type { StackStats } from './server/stats.js';
import {
  getStats,
  install,
  installStack,
  isNative,
  isOff,
  packageVersion,
  serverClass,
} from './stack.js';

type Options = http.ServerOptions & StackOptions;

/** A server on the native stack. */
type Server = http.Server & StackMembers;

/** As `http.Server`, callable with and without `new`. */
const Server = serverClass<Server, http.ServerOptions>(http.Server, installStack);

/** As `http.createServer`; the options may hold those of the stack. */
function createServer(options?: Options | StackListener, listener?: StackListener): Server {
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
function serverFactory(handler: StackListener, options: FactoryOptions = {}): Server {
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
  StackListener,
  StackMembers,
  StackOptions,
  StackResponse,
  StackStats,
};
export { createServer, getStats, install, isNative, Server, serverFactory };
/** Set where the stack is on. */
export const millraceVersion: string | undefined = isOff ? undefined : packageVersion();
export default {
  ...http,
  createServer,
  Server,
  serverFactory,
  getStats,
  isNative,
  install,
  millraceVersion,
};
