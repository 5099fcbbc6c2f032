import { endsUnused } from '../connection/idle-connections.js';
import type { HttpServer } from '../node/node-internals.js';
import { replaceMethod } from '../node/replace-method.js';
import { extractAccepted } from '../reactor/event-batch.js';
import { native } from '../reactor/native.js';
import { servers } from '../reactor/registry.js';
import { isReceiving } from '../request/exchange.js';
import { flushConnection } from '../sending/output-buffer.js';
import { cancelJoin } from '../sharing/listen-prefix.js';
import type { Connection } from '../state/connection.js';
import { getNativeServer, type NativeServer } from './native-server.js';
import { removeFromStats } from './stats-file.js';

/*
 * How a server on the stack closes. Node's own methods do it; they call the functions here for the native side. The listening
 * handle is Node's own, too: its `close` stops the reactor's accepting (`install/native-listener.ts`).
 */

type ServerMethod = (this: HttpServer, ...args: unknown[]) => unknown;

/** Lets the methods that close a server of this prototype close its native side. */
export function followClosing(prototype: object): void {
  const follow = (name: string, create: (original: ServerMethod) => ServerMethod) =>
    replaceMethod<ServerMethod>(prototype, name, create);
  follow(
    'close',
    (close) =>
      function (...args) {
        cancelJoin(this);
        const nativeServer = getNativeServer(this);
        if (nativeServer) {
          openAccepted(nativeServer);
          if (nativeServer.id >= 0) native.stackShutDown(nativeServer.id);
          nativeServer.watchdogs.stop();
        }
        return close.apply(this, args);
      },
  );
  follow(
    '_emitCloseIfDrained',
    (emitCloseIfDrained) =>
      function (...args) {
        const result = emitCloseIfDrained.apply(this, args);
        if (!this._handle && this._connections === 0) disposeNativeServer(this);
        return result;
      },
  );
  follow(
    'closeAllConnections',
    (closeAllConnections) =>
      function (...args) {
        closeAllConnections.apply(this, args);
        const nativeServer = getNativeServer(this);
        if (nativeServer) closeAll(nativeServer);
      },
  );
  follow(
    'closeIdleConnections',
    (closeIdleConnections) =>
      function (...args) {
        closeIdleConnections.apply(this, args);
        const nativeServer = getNativeServer(this);
        if (nativeServer) closeIdle(nativeServer);
      },
  );
}

/** Opens the connections that were accepted before the server closes, though their events are still to come in this batch. */
function openAccepted(nativeServer: NativeServer): void {
  for (const id of extractAccepted(nativeServer.id)) {
    const connection = nativeServer.open(id);
    if (connection) nativeServer.connected(connection);
  }
}

/** Ends the native side of a server that is closed and has no connection. The server may listen again. */
export function disposeNativeServer(server: object): void {
  const nativeServer = getNativeServer(server);
  if (!nativeServer) return;
  nativeServer.watchdogs.stop();
  if (nativeServer.id >= 0) {
    servers[nativeServer.id] = null;
    nativeServer.counters.keep();
    nativeServer.removeFromReactor();
  }
  removeFromStats(nativeServer);
}

/** As with Node, a connection is one of HTTP when its TLS handshake is done. */
function closeAll({ connections }: NativeServer): void {
  for (const connection of connections) {
    if (!connection.isHandshaking) connection.socket.destroy();
  }
}

function closeIdle({ id, connections }: NativeServer): void {
  const idle = new Map<number, number>();
  const pairs = native.stackIdle(id, endsUnused);
  for (let at = 0; at < pairs.length; at += 2)
    idle.set(pairs[at] as number, pairs[at + 1] as number);
  for (const connection of connections) {
    // The batch may still contain events of a request that was read.
    if (idle.get(connection.id) !== connection.requestIndex >>> 0 || isReceiving(connection))
      continue;
    const response = connection.socket._httpMessage;
    const answered = !response || response.finished;
    if (!answered || connection.outgoing.length > 0) continue;
    endSide(connection);
    connection.socket.destroy();
  }
}

/**
 * Ends the server's side of a connection, so that a client that is still sending receives what was written before it is
 * destroyed.
 */
function endSide(connection: Connection): void {
  flushConnection(connection);
  if (connection.id >= 0) native.stackEnd(connection.id);
}

/** Leaves the shared port: other processes may take its prefix; requests in progress are completed. */
export function unshare({ id, isShared }: NativeServer): void {
  if (isShared) native.stackUnshare(id);
}
