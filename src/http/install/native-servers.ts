import type http from 'node:http';
import type net from 'node:net';
import { countRequests } from '../fallback/node-handoff.js';
import { isSecureHttp2 } from '../http2/prototypes.js';
import { type ConnectionListener, Http2Server, SecureHttp2Server } from '../http2/server.js';
import { getSessionOptions } from '../http2/session-options.js';
import { type HttpServer, kConnection, nodeConnection } from '../node/node-internals.js';
import { applyHttp2Option } from '../server/http2.js';
import { getNativeServer, NativeServer, setNativeServer } from '../server/native-server.js';
import { addToStats } from '../server/stats-file.js';
import type { HttpSocket } from '../state/connection.js';
import {
  getNodeTlsConnection,
  isSecure,
  type SecureHttpServer,
  SecureServer,
} from '../tls/secure-server.js';

/** Starts the native side of a server that begins to listen; creates it the first time. */
export function startNativeServer(server: HttpServer): NativeServer {
  const nativeServer = getNativeServer(server) ?? attachNative(server);
  nativeServer.start();
  addToStats(nativeServer);
  return nativeServer;
}

function attachNative(server: HttpServer): NativeServer {
  if (getSessionOptions(server) !== undefined) return attachHttp2(server);
  const secure = isSecure(server);
  const nativeServer = secure ? new SecureServer(server) : new NativeServer(server);
  setNativeServer(server, nativeServer);
  const { replacedListeners } = nativeServer;
  if (secure) {
    const original = getNodeTlsConnection();
    replacedListeners.replace('connection', original, actAs(original, onTlsConnection));
    replacedListeners.replace('secureConnection', nodeConnection, onSecureConnection);
  } else {
    replacedListeners.replace('connection', nodeConnection, actAs(nodeConnection, onConnection));
  }
  return nativeServer;
}

function attachHttp2(server: HttpServer): NativeServer {
  const isSecure = isSecureHttp2(server);
  const event = isSecure ? 'secureConnection' : 'connection';
  const nodeListener = server.listeners(event)[0] as ConnectionListener;
  applyHttp2Option(server, { http2: true });
  const nativeServer = isSecure
    ? new SecureHttp2Server(server as SecureHttpServer, nodeListener)
    : new Http2Server(server);
  setNativeServer(server, nativeServer);
  const { replacedListeners } = nativeServer;
  if (isSecure) {
    const original = getNodeTlsConnection();
    replacedListeners.replace('connection', original, actAs(original, onTlsConnection));
  }
  const replacement = actAs(nodeListener, function (this: net.Server, socket: net.Socket) {
    const connection = (socket as unknown as Partial<HttpSocket>)[kConnection];
    if (connection === undefined || connection.isFallback) nodeListener.call(this, socket);
    else if (nativeServer instanceof SecureHttp2Server) nativeServer.secured(connection);
    else connection.enterContext();
  });
  replacedListeners.replace(event, nodeListener, replacement);
  return nativeServer;
}

/**
 * Makes a replacement of Node's own listener look like a listener of `once`: `listeners()` lists Node's own function, and `off()`
 * with that function removes the replacement.
 */
function actAs<F extends object>(original: object, replacement: F): F {
  return Object.assign(replacement, { listener: original });
}

/** Replaces Node's own listener: this server's native connections need nothing, others go the usual way. */
function onConnection(this: http.Server, socket: net.Socket): void {
  const connection = (socket as unknown as Partial<HttpSocket>)[kConnection];
  if (connection !== undefined && !connection.isFallback) {
    if (connection.nativeServer.server === this) {
      connection.enterContext();
      return;
    }
    // Another server's: it has two from now on.
    connection.nativeServer.fallBackForRawData(connection);
  }
  nodeConnection.call(this, socket);
  const nativeServer = getNativeServer(this);
  if (nativeServer?.isSecure) countRequests(nativeServer, socket as unknown as HttpSocket);
}

/** As `onConnection`. `listeners()` lists it: Node's own function cannot serve a connection after a native handshake. */
function onSecureConnection(this: http.Server, socket: net.Socket): void {
  onConnection.call(this, socket);
}

/** Replaces Node's own listener, which puts TLS over a socket: that of a native connection has it. */
function onTlsConnection(this: http.Server, socket: net.Socket): void {
  if (!(kConnection in socket)) getNodeTlsConnection().call(this, socket);
}
