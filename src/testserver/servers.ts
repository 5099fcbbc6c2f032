import http from 'node:http';
import http2 from 'node:http2';
import https from 'node:https';
import type { Server, Socket } from 'node:net';
import type { TestServerPlan } from './options.js';
import type { Responder } from './responder.js';

/** A server that does not listen yet, and what ends its connections at once. */
interface CreatedServer {
  server: Server;
  endConnections(): void;
}

/** Without Node's time limits, so that idle connections of a load test stay open. */
const LIMITS = { keepAliveTimeout: 0, headersTimeout: 0, requestTimeout: 0 };

/** Without Node's limits of HTTP/2: a load test may reset as many streams as it likes, and have any number at once. */
const HTTP2_LIMITS = {
  maxSessionMemory: 1e6,
  streamResetBurst: 1e9,
  streamResetRate: 1e9,
};

/** Creates a server of HTTP/1.1. */
export function createHttp1Server(
  { tls }: TestServerPlan,
  listener: Responder['listener'],
): CreatedServer {
  const server =
    tls === null
      ? http.createServer(LIMITS, listener)
      : https.createServer({ ...LIMITS, ...tls }, listener);
  return { server, endConnections: () => server.closeAllConnections() };
}

/** Creates a server of HTTP/2; over TLS clients choose between it and HTTP/1.1. */
export function createHttp2Server(
  { tls, maxStreams }: TestServerPlan,
  listener: Responder['listener'],
): CreatedServer {
  const settings = maxStreams === null ? {} : { maxConcurrentStreams: maxStreams };
  const options = { ...HTTP2_LIMITS, settings };
  const server =
    tls === null
      ? http2.createServer(options, listener)
      : http2.createSecureServer({ ...options, allowHTTP1: true, ...tls }, listener);
  Object.assign(server, LIMITS);
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  const endConnections = () => {
    for (const socket of sockets) socket.destroy();
  };
  return { server, endConnections };
}
