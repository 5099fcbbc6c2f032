import diagnostics from 'node:diagnostics_channel';
import type http from 'node:http';
import { setFillRequest } from '../cache/cache-duration.js';
import { NONE } from '../connection/none.js';
import type { ServerSocket } from '../connection/socket.js';
import { nodeHttp } from '../install/node-http.js';
import {
  type Incoming,
  internalKey,
  kConnection,
  kEndCallbacks,
  kUniqueHeaders,
  kWritableFinished,
  type Outgoing,
  readsHeaders,
} from '../install/node-internals.js';
import {
  attachesAsNode,
  endsAsNode,
  isObserved,
  takesFieldsAsNode,
} from '../install/node-methods.js';
import {
  FIELDS_SHIFT,
  FLAG_BODY,
  FLAG_EXPECT,
  FLAG_HOST,
  FLAG_HTTP_1_0,
  FLAG_KEEP_ALIVE,
  FLAG_STORED,
} from '../reactor/events.js';
import { native } from '../reactor/native.js';
import { unpipeFinished } from '../response/fast-pipe.js';
import { collected, reportEnded } from '../response/output-buffer.js';
import type { NativeServer } from '../server/native-server.js';
import { failParsing } from './parser-failure.js';
import { setHead } from './request-head.js';

const started = diagnostics.channel('http.server.request.start');
const finished = diagnostics.channel('http.server.response.finish');

/**
 * Begins a request that has come. An exception is reported in its context. V8 inlines only so much into one function: what `begin` does not
 * need of the classes' constructors has its place here.
 */
export function receive(
  socket: ServerSocket,
  head: string,
  method: string,
  url: string,
  flags: number,
): void {
  const { nativeServer } = socket;
  try {
    if (nativeServer.isOutdated()) nativeServer.configure();
    const request = begin(socket, head, method, url, flags);
    if ((flags & FLAG_BODY) === 0) complete(request);
  } catch (error) {
    native.stackFatal(error);
    failParsing(socket, 'head');
  }
}

/** One request and its response: what Node does between the parser and the application. */
function begin(
  socket: ServerSocket,
  head: string,
  method: string,
  url: string,
  flags: number,
): Incoming {
  const { nativeServer } = socket;
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
  if (!takesFieldsAsNode(request)) addFields(request);
  nativeServer.requests++;
  nativeServer.inFlight++;
  const number = socket.requestIndex++;
  const keepAlive = (flags & FLAG_KEEP_ALIVE) !== 0;
  if (socket.timeout > 0) resetTimeout(socket);
  if (socket.incoming === NONE) socket.incoming = [request];
  else socket.incoming.push(request);
  if ((flags & FLAG_BODY) !== 0) socket.receiving = request;
  else if (nativeServer.optimizeEmpty && !('content-length' in request.headers))
    closeReadable(request);

  const response = new messages.Response(request, nativeServer.responseOptions);
  response._keepAliveTimeout = server.keepAliveTimeout;
  response._maxRequestsPerSocket = server.maxRequestsPerSocket as number;
  response.shouldKeepAlive = keepAlive;
  const keyed = response as unknown as Record<symbol, unknown>;
  keyed[kConnection] = socket;
  if (nativeServer.caches) {
    if ((flags & FLAG_STORED) !== 0) setFillRequest(response, socket, number);
    if (nativeServer.reportsCacheStatus) response.setHeader('Cache-Status', cacheStatus(flags));
  }
  if (nativeServer.uniqueHeaders !== null) keyed[kUniqueHeaders] = nativeServer.uniqueHeaders;
  if (started.hasSubscribers) started.publish({ request, response, socket, server });
  if (socket._httpMessage === null) {
    attach(response, socket);
  } else {
    enqueue(socket, response);
  }
  const { responseTimeout, maxRequestsInFlight } = nativeServer.limits;
  if (responseTimeout > 0) nativeServer.deadlines.add(response);
  if (maxRequestsInFlight > 0 && nativeServer.inFlight > maxRequestsInFlight) {
    refuse(nativeServer, socket, request, response);
  } else {
    answer(nativeServer, socket, request, response, flags);
  }
  return request;
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

/** For who has replaced the method by which Node gives a request its fields. */
function addFields(request: Incoming): void {
  const fields = request.rawHeaders;
  request.rawHeaders = [];
  request._addHeaderLines(fields, fields.length);
  if (readsHeaders) void request.headers;
}

/** Begins the turn of a response. */
function attach(response: Outgoing, socket: ServerSocket): void {
  if (!socket.isObserved && attachesAsNode(response)) {
    response.socket = socket as never;
    socket._httpMessage = response;
  } else {
    // Before there is a response that listens to it.
    socket._events;
    response.assignSocket(socket as never);
    (response as unknown as http.ServerResponse).on('finish', onFinish);
  }
}

/** Queues a response that waits for the responses before it. */
function enqueue(socket: ServerSocket, response: Outgoing): void {
  response._onPendingData = (delta) => {
    socket.outgoingData += delta;
    socket.nativeServer.drain(socket);
  };
  if (socket.outgoing === NONE) socket.outgoing = [response];
  else socket.outgoing.push(response);
  if (!socket._paused && socket.outgoingData >= socket.nativeServer.highWaterMark) {
    socket._paused = true;
    socket.pause();
  }
}

function answer(
  nativeServer: NativeServer,
  socket: ServerSocket,
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
      socket.requestsCount++;
      response.maxRequestsOnConnectionReached = limit <= socket.requestsCount;
      if (limit < socket.requestsCount) {
        server.emit('dropRequest', request as never, socket as never);
        response.writeHead(503);
        response.end();
        return;
      }
    }
    if ((flags & FLAG_EXPECT) !== 0) {
      expected(server, request, response);
      return;
    }
  }
  server.emit('request', request as never, response as never);
}

/** More requests are being handled than the server wants. */
function refuse(
  nativeServer: NativeServer,
  socket: ServerSocket,
  request: Incoming,
  response: Outgoing,
): void {
  nativeServer.stats.overloaded++;
  nativeServer.server.emit('dropRequest', request as never, socket as never);
  response.writeHead(503, ['Connection', 'close'] as never);
  response.end();
}

function expected(server: http.Server, request: Incoming, response: Outgoing): void {
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
export function complete(request: Incoming): void {
  request.complete = true;
  const state = request._readableState;
  if (state.flowing === null && !request._consuming && endsAsNode(request)) {
    // Nobody looks yet: whoever does finds a stream that has ended, without a tick spent on it.
    state.ended = true;
  } else {
    request.push(null);
  }
}

/** Node's own `end` has ended a response. */
export function onFinish(this: Outgoing): void {
  const { socket } = this;
  if (socket !== null) conclude(socket as never, this);
}

/** A response on the fast path has left. */
export function finish(socket: ServerSocket, response: Outgoing): void {
  if (kWritableFinished) {
    const keyed = response as unknown as Record<symbol, unknown>;
    keyed[kWritableFinished] = true;
    const callbacks = keyed[kEndCallbacks] as ((error: null) => void)[] | null;
    if (callbacks) {
      keyed[kEndCallbacks] = null;
      for (const callback of callbacks) callback(null);
    }
  }
  conclude(socket, response);
  if (isObserved(response)) response.emit('finish');
}

function conclude(socket: ServerSocket, response: Outgoing): void {
  const { nativeServer } = socket;
  const request = response.req as unknown as Incoming;
  if (finished.hasSubscribers) {
    finished.publish({ request, response, socket, server: nativeServer.server });
  }
  if (nativeServer.deadlines.size > 0) nativeServer.deadlines.delete(response);
  unpipeFinished(request, response);
  if (forget(request, socket)) nativeServer.inFlight--;
  dump(request);
  detachSignal?.call(request);
  // A connection that fell back to Node's code has listeners.
  if (socket.isObserved === false && attachesAsNode(response)) {
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
  socket.done++;
  if (response._last) {
    socket.destroySoon();
    return;
  }
  if (socket.outgoing === NONE) answered(socket);
  else assignNext(socket);
  if (collected(socket) === 0) reportEnded(socket);
}

/** Takes a request that is answered from those that are not; `false`: it went with its connection. */
function forget(request: Incoming, socket: ServerSocket): boolean {
  const { incoming } = socket;
  const at = incoming.indexOf(request);
  if (at < 0) return false;
  if (incoming.length === 1) socket.incoming = NONE;
  else if (at === 0) incoming.shift();
  else incoming.splice(at, 1);
  return true;
}

/** Gives the turn to the next response. */
function assignNext(socket: ServerSocket): void {
  const next = socket.outgoing.shift();
  if (socket.outgoing.length === 0) socket.outgoing = NONE;
  if (!next) return;
  attach(next, socket);
  if (socket.isObserved) return;
  if (next._eventsCount > 0) next.emit('socket', socket as never);
  next._flush();
}

/** No response is due. */
function answered(socket: ServerSocket): void {
  const { keepAliveMs } = socket.nativeServer;
  // As with Node, the keep-alive time takes the place of a timeout that was set.
  if (socket.timeout > 0 && keepAliveMs > 0) {
    socket.setTimeout(keepAliveMs);
    socket.waiting = true;
  }
  if (socket.incoming.length === 0 && socket.afterResponses !== null) {
    const continueReading = socket.afterResponses;
    socket.afterResponses = null;
    continueReading();
  }
}

/** As Node when a request comes: a timer that has waited for it is put off, or is the server's again. */
export function resetTimeout(socket: ServerSocket): void {
  if (socket.waiting) {
    socket.waiting = false;
    socket.setTimeout(socket.nativeServer.server.timeout || 0);
  } else {
    socket._unrefTimer();
  }
}

/** Drops the part of a request that the application has not read. */
function dump(request: Incoming): void {
  const state = request._readableState;
  if (request._consuming || state.resumeScheduled) return;
  if (request.complete && state.length === 0 && endsAsNode(request)) {
    // As if it had been read to its end and closed, with nobody to tell.
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

/** Emits 'close' once, whatever ended the response. */
export function emitClose(response: Outgoing): void {
  if (response._closed) return;
  response.destroyed = true;
  response._closed = true;
  response.emit('close');
}

/** Ends the unanswered requests of a connection. */
export function abandon(socket: ServerSocket): void {
  const { nativeServer, incoming, outgoing } = socket;
  socket.receiving = null;
  nativeServer.inFlight -= incoming.length;
  socket.incoming = NONE;
  if (nativeServer.deadlines.size === 0) return;
  if (socket._httpMessage) nativeServer.deadlines.delete(socket._httpMessage);
  for (const response of outgoing) nativeServer.deadlines.delete(response);
}

/** Aborts the requests of a connection that has ended before they were answered. */
export function abortIncoming(socket: ServerSocket): void {
  const { incoming, outgoing } = socket;
  abandon(socket);
  for (const request of incoming) {
    (request as unknown as http.IncomingMessage).destroy(aborted());
  }
  if (!ENDS_QUEUED) return;
  socket.outgoing = NONE;
  for (const next of outgoing) next.destroy(aborted());
}

/** From Node 24 on, responses that wait for their turn are destroyed when the connection is gone. */
const ENDS_QUEUED = Number.parseInt(process.versions.node, 10) >= 24;

function aborted(): Error {
  return Object.assign(new Error('aborted'), { code: 'ECONNRESET' });
}
