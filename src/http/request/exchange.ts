import diagnostics from 'node:diagnostics_channel';
import type http from 'node:http';
import { setFillRequest } from '../cache/cache-duration.js';
import { goAway } from '../connection/http2-session.js';
import { keepUntilEnd } from '../connection/lent-parser.js';
import { nodeHttp } from '../node/node-http.js';
import {
  type Incoming,
  internalKey,
  kConnection,
  kEndCallbacks,
  kUniqueHeaders,
  kWritableFinished,
  type Outgoing,
  readsHeaders,
} from '../node/node-internals.js';
import {
  isObserved,
  usesNodeAddHeaderLines,
  usesNodeAssignSocket,
  usesNodeRequestEnd,
} from '../node/node-methods.js';
import { emitClose } from '../node/response-close.js';
import {
  FIELDS_SHIFT,
  FLAG_BODY,
  FLAG_EXPECT,
  FLAG_HOST,
  FLAG_HTTP_1_0,
  FLAG_KEEP_ALIVE,
  FLAG_STORED,
} from '../reactor/events.js';
import { reportException } from '../reactor/internal-errors.js';
import { appendedBytes, reportEnded } from '../sending/output-buffer.js';
import type { Connection, NativeServer, Receive } from '../state/connection.js';
import { NONE } from '../state/none.js';
import { unpipeFinished } from './fast-pipe.js';
import { setHead } from './request-head.js';

const started = diagnostics.channel('http.server.request.start');
const finished = diagnostics.channel('http.server.response.finish');

/** The connection whose request is with its handler: the end of that request is still to be reported. */
let handling: Connection | null = null;

/** Whether the end of a request was not reported yet: as with Node, its connection is not idle, though it may be answered. */
export function isReceiving(connection: Connection): boolean {
  return connection.receiving !== null || connection === handling;
}

/**
 * Begins a request. An exception is reported in its context. V8 inlines a limited amount of code into one function, so code
 * that `begin` does not need beside the constructors of the messages is here.
 */
export const receive: Receive = (connection, head, method, url, flags) => {
  const { nativeServer } = connection;
  // A handler may run the event loop itself.
  const outer = handling;
  handling = connection;
  try {
    if (nativeServer.isOutdated()) nativeServer.configure();
    const request = begin(connection, head, method, url, flags);
    if ((flags & FLAG_BODY) === 0) completeRequest(request);
  } catch (error) {
    reportException(error, connection);
    nativeServer.stopParsing(connection, 'head');
  } finally {
    handling = outer;
  }
};

/** One request and its response: what Node does between the parser and the application. */
const begin: (...request: Parameters<Receive>) => Incoming = (
  connection,
  head,
  method,
  url,
  flags,
) => {
  const { nativeServer, socket } = connection;
  const { server, messages } = nativeServer;
  messages.fit(server._events.request);
  const request = new messages.Request(socket);
  const old = (flags & FLAG_HTTP_1_0) !== 0;
  request.httpVersionMajor = 1;
  request.httpVersionMinor = old ? 0 : 1;
  request.httpVersion = old ? '1.0' : '1.1';
  request.joinDuplicateHeaders = server.joinDuplicateHeaders || false;
  request.url = url;
  request.method = method;
  request.upgrade = false;
  setHead(request, head, flags >> FIELDS_SHIFT);
  if (!usesNodeAddHeaderLines(request)) addFields(request);
  nativeServer.requests++;
  nativeServer.inFlight++;
  const number = connection.requestIndex++;
  const keepAlive = (flags & FLAG_KEEP_ALIVE) !== 0;
  if (socket.timeout || socket._parent) resetTimeout(connection);
  if (connection.incoming === NONE) connection.incoming = [request];
  else connection.incoming.push(request);
  if ((flags & FLAG_BODY) !== 0) connection.receiving = request;
  else if (nativeServer.optimizeEmpty && !('content-length' in request.headers))
    closeReadable(request);

  const response = new messages.Response(request, nativeServer.responseOptions);
  response._keepAliveTimeout = server.keepAliveTimeout;
  response._maxRequestsPerSocket = server.maxRequestsPerSocket as number;
  response.shouldKeepAlive = keepAlive;
  const keyed = response as unknown as Record<symbol, unknown>;
  keyed[kConnection] = connection;
  if (connection.session !== null) setHttp2(request);
  if (nativeServer.caches) {
    if ((flags & FLAG_STORED) !== 0) setFillRequest(response, connection, number);
    if (nativeServer.reportsCacheStatus) response.setHeader('Cache-Status', cacheStatus(flags));
  }
  if (nativeServer.uniqueHeaders !== null) keyed[kUniqueHeaders] = nativeServer.uniqueHeaders;
  if (started.hasSubscribers) started.publish({ request, response, socket, server });
  if (!socket._httpMessage) {
    attach(response, connection);
  } else {
    enqueue(connection, response);
  }
  const { responseTimeout, maxRequestsInFlight } = nativeServer.limits;
  if (responseTimeout > 0) nativeServer.deadlines.add(response);
  if (maxRequestsInFlight > 0 && nativeServer.inFlight > maxRequestsInFlight) {
    refuse(nativeServer, connection, request, response);
  } else {
    answer(nativeServer, connection, request, response, flags);
  }
  return request;
};

/** Says that a request came over HTTP/2. Its response is made as one to HTTP/1.1, before this is known. */
export function setHttp2(request: Incoming): void {
  request.httpVersionMajor = 2;
  request.httpVersionMinor = 0;
  request.httpVersion = '2.0';
}

/** RFC 9211: the cache has forwarded the request. */
function cacheStatus(flags: number): string {
  return (flags & FLAG_STORED) !== 0 ? 'millrace; fwd=miss' : 'millrace; fwd=bypass';
}

function closeReadable(request: Incoming): void {
  const stream = request as unknown as { _dumpAndCloseReadable(): void; _read(): void };
  stream._dumpAndCloseReadable();
  stream._read();
}

/** Adds the fields by the method that the application has replaced. */
function addFields(request: Incoming): void {
  const fields = request.rawHeaders;
  request.rawHeaders = [];
  request._addHeaderLines(fields, fields.length);
  if (readsHeaders) void request.headers;
}

/** Begins the turn of a response. */
function attach(response: Outgoing, connection: Connection): void {
  const { socket } = connection;
  if (!connection.isObserved && usesNodeAssignSocket(response)) {
    response.socket = socket as never;
    socket._httpMessage = response;
  } else {
    // Before there is a response that listens to it.
    if (!connection.isStream) connection.getEvents();
    response.assignSocket(socket as never);
    (response as unknown as http.ServerResponse).on('finish', onFinish);
  }
}

/** Queues a response that waits for the responses before it. */
function enqueue(connection: Connection, response: Outgoing): void {
  response._onPendingData = connection.onPendingData;
  if (connection.outgoing === NONE) connection.outgoing = [response];
  else connection.outgoing.push(response);
  const { socket } = connection;
  if (!socket._paused && connection.outgoingData >= connection.nativeServer.highWaterMark) {
    socket._paused = true;
    socket.pause();
  }
}

function answer(
  nativeServer: NativeServer,
  connection: Connection,
  request: Incoming,
  response: Outgoing,
  flags: number,
): void {
  const { server } = nativeServer;
  if ((flags & FLAG_HTTP_1_0) === 0) {
    if ((flags & FLAG_HOST) === 0 && server.requireHostHeader) {
      // RFC 9112, section 3.2.
      response.writeHead(400, ['Connection', 'close'] as never);
      response.end();
      return;
    }
    const limit = server.maxRequestsPerSocket;
    if (typeof limit === 'number' && limit > 0) {
      connection.requestsCount++;
      response.maxRequestsOnConnectionReached = limit <= connection.requestsCount;
      if (limit < connection.requestsCount) {
        server.emit('dropRequest', request as never, connection.socket as never);
        response.writeHead(503);
        response.end();
        return;
      }
    }
    if ((flags & FLAG_EXPECT) !== 0) {
      handleExpectation(server, request, response);
      return;
    }
  }
  server.emit('request', request as never, response as never);
}

/** Rejects a request that exceeds `maxRequestsInFlight`. */
function refuse(
  nativeServer: NativeServer,
  connection: Connection,
  request: Incoming,
  response: Outgoing,
): void {
  nativeServer.stats.overloaded++;
  nativeServer.server.emit('dropRequest', request as never, connection.socket as never);
  response.writeHead(503, ['Connection', 'close'] as never);
  response.end();
}

function handleExpectation(server: http.Server, request: Incoming, response: Outgoing): void {
  if (CONTINUE.test(request.headers.expect ?? '')) {
    response._expect_continue = true;
    if (server.listenerCount('checkContinue') > 0) {
      server.emit('checkContinue', request as never, response as never);
    } else {
      response.writeContinue();
      server.emit('request', request as never, response as never);
    }
  } else if (server.listenerCount('checkExpectation') > 0) {
    server.emit('checkExpectation', request as never, response as never);
  } else {
    response.writeHead(417);
    response.end();
  }
}

const CONTINUE = /(?:^|\W)100-continue(?:$|\W)/i;

/** Ends a request whose last byte has arrived. */
export function completeRequest(request: Incoming): void {
  request.complete = true;
  const state = request._readableState;
  if (state.flowing === null && !request._consuming && usesNodeRequestEnd(request)) {
    // Nothing reads the stream yet: a later reader finds it ended, without the cost of a tick.
    state.ended = true;
  } else {
    request.push(null);
  }
}

/** Node's own `end` has ended a response. */
export function onFinish(this: Outgoing): void {
  const connection = (this as unknown as Record<symbol, Connection>)[kConnection];
  if (this.socket !== null && connection !== undefined) endExchange(connection, this);
}

/** Ends a response of the fast path whose bytes are sent. */
export function onResponseSent(connection: Connection, response: Outgoing): void {
  if (kWritableFinished) {
    const keyed = response as unknown as Record<symbol, unknown>;
    keyed[kWritableFinished] = true;
    const callbacks = keyed[kEndCallbacks] as ((error: null) => void)[] | null;
    if (callbacks) {
      keyed[kEndCallbacks] = null;
      for (const callback of callbacks) callback(null);
    }
  }
  endExchange(connection, response);
  if (isObserved(response)) response.emit('finish');
}

function endExchange(connection: Connection, response: Outgoing): void {
  const { nativeServer, socket } = connection;
  // Responses finish in the order of the requests; an application may have set `response.req` to something else.
  const request = connection.incoming[0] ?? (response.req as unknown as Incoming | undefined);
  if (finished.hasSubscribers) {
    finished.publish({ request, response, socket, server: nativeServer.server });
  }
  if (nativeServer.deadlines.size > 0) nativeServer.deadlines.delete(response);
  if (request) {
    unpipeFinished(request, response);
    if (removeAnswered(connection)) nativeServer.inFlight--;
    dump(request);
    if (!request._readableState.endEmitted) keepUntilEnd(connection, request);
    detachSignal?.call(request);
  }
  // A connection that fell back to Node's code has listeners.
  if (connection.isObserved === false && usesNodeAssignSocket(response)) {
    socket._httpMessage = null;
    response.socket = null;
  } else {
    response.detachSocket(socket as never);
  }
  if (isObserved(response)) process.nextTick(emitClose, response);
  else {
    response.destroyed = true;
    response._closed = true;
  }
  connection.endedResponses++;
  // A stream of HTTP/2 ends with its response, whatever `connection` says.
  if (response._last || connection.session !== null) {
    connection.isLastSent = true;
    socket.destroySoon();
    const { session } = connection;
    if (session?.endsByField && response.getHeader('connection') === 'close') goAway(session);
    return;
  }
  if (connection.outgoing === NONE) onQueueEmpty(connection);
  else assignNext(connection);
  if (appendedBytes(connection) === 0) reportEnded(connection);
}

/** Takes the request that is answered from those that are not; `false`: it went with its connection. */
function removeAnswered(connection: Connection): boolean {
  const { incoming } = connection;
  if (incoming.length === 0) return false;
  if (incoming.length === 1) connection.incoming = NONE;
  else incoming.shift();
  return true;
}

/** Gives the turn to the next response. */
function assignNext(connection: Connection): void {
  const next = connection.outgoing.shift();
  if (connection.outgoing.length === 0) connection.outgoing = NONE;
  if (!next) return;
  attach(next, connection);
  if (connection.isObserved) return;
  if (next._eventsCount > 0) next.emit('socket', connection.socket as never);
  next._flush();
}

/** Handles that no response is queued. */
function onQueueEmpty(connection: Connection): void {
  const { keepAliveMs, server } = connection.nativeServer;
  // As in Node, the keep-alive time replaces a timeout that was set.
  if (connection.socket.timeout && keepAliveMs > 0) {
    connection.socket.setTimeout(keepAliveMs);
    connection.isKeepAliveTimeout = true;
  } else if (connection.isObserved || server._events.timeout !== undefined) {
    // Node would set it now.
    connection.keepIdleContext();
  }
  if (connection.incoming.length === 0 && connection.afterResponses !== null) {
    const continueReading = connection.afterResponses;
    connection.afterResponses = null;
    continueReading();
  }
}

/** Restarts the timer of a socket when a request arrives, as Node does; after the keep-alive time it is the server's timeout again. */
export function resetTimeout(connection: Connection): void {
  if (connection.isKeepAliveTimeout) {
    connection.isKeepAliveTimeout = false;
    connection.socket.setTimeout(connection.nativeServer.server.timeout || 0);
  } else {
    connection.socket._unrefTimer();
  }
}

/** Drops the part of a request that the application has not read. */
function dump(request: Incoming): void {
  const state = request._readableState;
  if (request._consuming || state.resumeScheduled) return;
  if (request.complete && state.length === 0 && usesNodeRequestEnd(request)) {
    // The state of a request that was read to its end and closed, without listeners.
    request._dumped = true;
    request._consuming = true;
    state.ended = true;
    state.endEmitted = true;
    state.destroyed = true;
    state.closed = true;
    state.closeEmitted = true;
  } else {
    request._dump();
  }
}

const detachKey = internalKey(nodeHttp.IncomingMessage.prototype, 'kDetachAbortSignal');
const detachSignal = detachKey
  ? function (this: Incoming) {
      (this as unknown as Record<symbol, () => void>)[detachKey]?.();
    }
  : undefined;

/** Ends the unanswered requests of a connection. */
export function dropPending(connection: Connection): void {
  const { nativeServer, incoming, outgoing } = connection;
  connection.receiving = null;
  nativeServer.inFlight -= incoming.length;
  connection.incoming = NONE;
  if (nativeServer.deadlines.size === 0) return;
  const current = connection.socket._httpMessage;
  if (current) nativeServer.deadlines.delete(current);
  for (const response of outgoing) nativeServer.deadlines.delete(response);
}

/** Aborts the requests of a connection that has ended before they were answered. */
export function abortIncoming(connection: Connection): void {
  const { incoming, outgoing } = connection;
  dropPending(connection);
  for (const request of incoming) {
    (request as unknown as http.IncomingMessage).destroy(aborted());
  }
  if (!ENDS_QUEUED) return;
  connection.outgoing = NONE;
  for (const next of outgoing) next.destroy(aborted());
}

/** From Node 24 on, responses that wait for their turn are destroyed when the connection is gone. */
const ENDS_QUEUED = Number.parseInt(process.versions.node, 10) >= 24;

function aborted(): Error {
  return Object.assign(new Error('aborted'), { code: 'ECONNRESET' });
}
