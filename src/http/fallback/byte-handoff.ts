import { becomeStream } from '../connection/stream-socket.js';
import { nodeHttp } from '../node/node-http.js';
import type { HttpServer } from '../node/node-internals.js';
import { unreadOffset } from '../reactor/event-batch.js';
import { native } from '../reactor/native.js';
import { resetTimeout, setHttp2 } from '../request/exchange.js';
import { flushAll } from '../sending/output-buffer.js';
import type { Bytes, Connection, NativeServer } from '../state/connection.js';
import type { FallbackReason } from '../state/fallback-reason.js';
import {
  abortWithin,
  attachParser,
  countingFrom,
  countRequests,
  deliver,
  leavesHttp,
} from './node-handoff.js';
import { inPackets } from './node-parser.js';

/** What a server does with a connection whose bytes go to Node's parser, while the reactor keeps the transport. */
interface HandoffServer extends NativeServer {
  fallBack(
    connection: Connection,
    bytes: Bytes | null,
    reason: FallbackReason,
    injected?: Buffer,
  ): void;
  readonly connections: Set<Connection>;
}

/**
 * Hands the bytes of a connection to Node's parser, where its descriptor cannot be given away: TLS and streams of HTTP/2 stay in the
 * reactor. This happens after an upgrade, and for a request that is not judged here.
 */
export function fallBackByBytes(
  nativeServer: HandoffServer,
  connection: Connection,
  bytes: Bytes | null,
  reason: FallbackReason,
  injected?: Buffer,
): void {
  // Requests that the batch contains cannot be read as bytes any more.
  if (connection.id < 0 || unreadOffset(connection.id) !== -1) return;
  flushAll();
  if (connection.queued > 0) {
    // What has been sent leaves first.
    connection.afterWrite(() => nativeServer.fallBack(connection, bytes, reason, injected));
    return;
  }
  const socket = becomeStream(connection);
  if (connection.isKeepAliveTimeout || (bytes !== null && socket.timeout)) {
    resetTimeout(connection);
  }
  nativeServer.inParser(connection, leavesHttp(reason, bytes?.bytes), () => {
    nativeServer.countFallback(reason, connection);
    nativeServer.connections.delete(connection);
    // Errors are the stream's.
    connection.isFallback = connection.isRaw = connection.failed = true;
    // Bytes that the reactor did not parse come from here.
    if (bytes) native.stackProceedRaw(connection.id);
    else native.stackRaw(connection.id);
    const { server } = nativeServer;
    attachParser(
      connection,
      connection.session === null
        ? countingFrom(server, connection.requestsCount)
        : overHttp2(server),
    );
    socket.prependListener('error', onSocketTLSError);
    countRequests(nativeServer, socket);
    abortWithin(connection, reason);
    // The parser's alone, as where there is no TLS.
    if (bytes) deliver(socket, inPackets(bytes.bytes, bytes.packet));
    else if (injected) deliver(socket, [injected]);
  });
}

/** Returns the server as seen by a stream of HTTP/2, whose requests come over HTTP/2, though Node's parser reads them. */
function overHttp2(server: HttpServer): HttpServer {
  return Object.create(server, {
    emit: {
      value(event: string, ...args: unknown[]) {
        const [request] = args;
        if (request instanceof nodeHttp.IncomingMessage) setHttp2(request as never);
        return server.emit(event, ...args);
      },
    },
  });
}

/**
 * Does nothing, as the one of this name that Node adds to each connection: it alone is left behind an upgrade or CONNECT, where an
 * error that the application does not listen for would otherwise end the process.
 */
function onSocketTLSError(): void {}
