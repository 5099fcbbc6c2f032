import { constants } from 'node:os';
import timers from 'node:timers';
import { listConnections } from '../connection/handle/active-handles.js';
import { fallBackWithRequest, onRaw, onUnparsed } from '../fallback/unparsed-bytes.js';
import { drainTicks } from '../node/node-internals.js';
import { beforeProcessEnds } from '../node/process-end.js';
import { systemError } from '../node/socket-errors.js';
import { callBack, guarded } from '../reactor/contexts.js';
import type { ConnectionEvents } from '../reactor/dispatch.js';
import {
  ACCEPT_FAILED,
  ANSWERED,
  BODY,
  BODY_READABLE,
  CLOSED,
  DRAINED,
  END,
  EOF,
  EVENT_LENGTH,
  IDLE,
  NEEDS_NODE_PARSER,
  NONE,
  OPEN,
  RAW,
  REQUEST,
} from '../reactor/events.js';
import { METHODS } from '../reactor/methods.js';
import { events, functions, input, native } from '../reactor/native.js';
import { connections, servers } from '../reactor/registry.js';
import { countBodyBytes } from '../reactor/young-collection.js';
import { completeRequest } from '../request/exchange.js';
import { copyPart, parseTrailers } from '../request/request-head.js';
import {
  appendedBytes,
  flush,
  flushAll,
  getBufferOwner,
  isNotifiedAfterTurn,
  notifyAfterTurn,
  notifySent,
  sendDue,
  setInTurn,
} from '../sending/output-buffer.js';
import type { Connection } from '../state/connection.js';

/** Node's functions, kept in case the application replaces the global ones. */
const { setImmediate } = timers;
const { allocUnsafeSlow } = Buffer;

/** Maximum number of bytes of pipelined responses that wait for later ones. */
const MAX_COLLECTED = 64 * 1024;
/** Number of bytes that wait for a client from which on a response behind them waits in JavaScript, with Node's own limits. */
const MAX_QUEUED = 256 * 1024;

/** Maximum number of bytes of a part of a body, as with Node. */
const PART_BYTES = 64 * 1024;

const { EMFILE, ENFILE, ENOBUFS, ENOMEM } = constants.errno;
const SHORTAGES = new Set([EMFILE, ENFILE, ENOBUFS, ENOMEM]);

/** What the stack does with each event of the reactor. */
export const connectionEvents: ConnectionEvents = {
  onStart() {
    // As in Node, everything that was written before the process ends is sent.
    beforeProcessEnds(() => {
      flushAll();
      functions.flush();
    });
    listConnections();
  },
  beginBatch() {
    setInTurn(true);
  },
  endBatch() {
    receiver = null;
    setInTurn(false);
  },
  onEvent(kind, id, at) {
    sendDue();
    dispatchEvent(kind, id, at);
  },
  isPipelined,
  sendAll,
  notifyAfterTurn,
  failBody: stopParsing,
};

/** Whether the next event is of the same connection, so that short responses to both are sent together. */
function isPipelined(at: number): boolean {
  const id = events[at + 1] as number;
  if (events[at + EVENT_LENGTH + 1] !== id) return false;
  const connection = connections[id];
  if (!connection || appendedBytes(connection) > MAX_COLLECTED || connection.queued > MAX_QUEUED)
    return false;
  if (isNotifiedAfterTurn(connection)) return false;
  const next = events[at + EVENT_LENGTH];
  if (next === BODY || next === END) {
    connection.nativeServer.endEarlyResponse(connection);
    return true;
  }
  if (next !== REQUEST || !connection.responseAwaitingSend || connection.callbacks) return false;
  // After the last response of a connection nothing is dispatched.
  if (connection.responseAwaitingSend._last) return false;
  connection.nativeServer.endResponse(connection);
  return true;
}

function sendAll(): void {
  while (getBufferOwner() !== null) {
    flush();
    if (notifySent()) drainTicks();
  }
  while (notifySent()) {
    drainTicks();
    flush();
  }
}

function dispatchEvent(kind: number, id: number, at: number): void {
  if (kind === OPEN) {
    const nativeServer = servers[events[at + 2] as number];
    const session = events[at + 3] as number;
    if (session > 0) {
      const connection = connections[session - 1];
      if (connection) connection.nativeServer.openStream(id, connection);
      else native.stackClose(id, true);
      return;
    }
    const connection = nativeServer?.open(id);
    if (!nativeServer) native.stackClose(id, true);
    else if (connection) nativeServer.connected(connection);
    return;
  }
  if (kind === NONE) return;
  if (kind === ACCEPT_FAILED) {
    const errno = events[at + 2] as number;
    // As with Node; but without descriptors or memory a connection waits until there are some.
    if (!SHORTAGES.has(errno)) {
      servers[events[at + 3] as number]?.server.emit('error', systemError('accept', -errno));
    }
    return;
  }
  const a = events[at + 2] as number;
  const b = events[at + 3] as number;
  const connection = connections[id];
  if (!connection) {
    dispatchRest(kind, at, a, b);
    return;
  }
  if (connection.isLastSent && isOfNextRequest(connection, kind)) return;
  switch (kind) {
    case REQUEST: {
      if (connection.fallsBackAtRequest && fallBackWithRequest(connection)) break;
      receivingAt = at;
      receiver = connection;
      packetLeft = PART_BYTES - b;
      const head = input.latin1Slice(a, a + b);
      const flags = events[at + 4] as number;
      const url = copyPart(head, events[at + 5] as number, events[at + 6] as number);
      const method = METHODS[events[at + 7] as number] as string;
      const { receive } = connection.nativeServer;
      connection.inContext(receive, connection, head, method, url, flags);
      break;
    }
    case BODY:
      packetLeft = (isNextOfReceiver(at) ? packetLeft : PART_BYTES) - b;
      receivingAt = at;
      receiver = connection;
      if (!callBack(connection.requestsContext, onBody, connection, a, b)) stopParsing(connection);
      break;
    case BODY_READABLE:
      if (!callBack(connection.requestsContext, onBodyReadable, connection, at))
        stopParsing(connection);
      break;
    case END:
      callBack(connection.requestsContext, onEnd, connection, a, b);
      break;
    case EOF:
      // As in Node, an end that arrives with a request is reported one turn later, so that a response by `setImmediate` is still
      // sent; over TLS in the same turn.
      if (isBehindRequest(connection, at)) {
        setImmediate(guarded, dispatchEnd, connection, a);
      } else callBack(connection.nativeContext, dispatchState, connection, kind, a);
      break;
    case DRAINED:
      callBack(
        connection.writeContext ?? connection.nativeContext,
        dispatchState,
        connection,
        kind,
        a,
      );
      break;
    case IDLE:
      callBack(
        connection.idleContext ?? connection.nativeContext,
        dispatchState,
        connection,
        kind,
        a,
      );
      break;
    case CLOSED:
      callBack(connection.nativeContext, dispatchState, connection, kind, a);
      break;
    case NEEDS_NODE_PARSER: {
      const reason = events[at + 4] as number;
      const start = events[at + 6] as number;
      const first = Math.min(a, start);
      const all = Buffer.from(input.subarray(first, a + b));
      const [bytes, packet] = [all.subarray(a - first), all.subarray(start - first)];
      const context = connection.requestsContext;
      const prelude = events[at + 5] as number;
      const isDone = callBack(context, onUnparsed, connection, bytes, packet, reason, prelude);
      if (!isDone && connection.fallbackParser?.expectsMore) stopParsing(connection);
      break;
    }
    case RAW: {
      const bytes = Buffer.from(input.subarray(a, a + b));
      const isDone = callBack(connection.requestsContext, onRaw, connection, bytes);
      if (!isDone && connection.fallbackParser?.expectsMore) stopParsing(connection);
      break;
    }
    case ANSWERED:
      connection.socket.destroySoon();
      break;
    default:
      callBack(connection.nativeContext, dispatchTlsEvent, connection, kind, at);
  }
}

/** A listener has thrown for a part of a request behind its head. */
function stopParsing(connection: Connection): void {
  connection.nativeServer.stopParsing(connection, 'rest');
}

function dispatchTlsEvent(connection: Connection, kind: number, at: number): void {
  const details = events.subarray(at + 2, at + EVENT_LENGTH);
  connection.nativeServer.onTlsEvent(connection, kind, details);
}

/** Whether an event is of a request behind the last one that is answered. */
function isOfNextRequest(connection: Connection, kind: number): boolean {
  return kind === REQUEST || (kind === NEEDS_NODE_PARSER && connection.receiving === null);
}

/** Whether the end arrived with an unanswered request of plain HTTP. */
function isBehindRequest(connection: Connection, at: number): boolean {
  return (
    Boolean(connection.socket._httpMessage) &&
    events[at - EVENT_LENGTH + 1] === connection.id &&
    !connection.nativeServer.isSecure
  );
}

/** The connection of the last event with a head or a part of a body, and the place of that event in the batch. */
let receiver: Connection | null = null;
let receivingAt = -1;
/** Number of bytes behind that event that Node would have read with it. */
let packetLeft = 0;

function isNextOfReceiver(at: number): boolean {
  return receivingAt === at - EVENT_LENGTH && events[receivingAt + 1] === events[at + 1];
}

/**
 * Dispatches an event of a connection that a handler has destroyed. As in Node, the request still gets what arrived in one packet
 * with its head.
 */
function dispatchRest(kind: number, at: number, offset: number, length: number): void {
  if (!isNextOfReceiver(at) || !receiver?.destroyed || !receiver.receiving) return;
  const context = receiver.requestsContext;
  const rest = packetLeft;
  packetLeft -= length;
  receivingAt = at;
  if (kind === BODY && rest > 0) {
    callBack(context, onBody, receiver, offset, Math.min(length, rest));
  } else if (kind === END && packetLeft >= 0) {
    callBack(context, onEnd, receiver, offset, length);
  }
}

function dispatchEnd(connection: Connection, detail: number): void {
  if (connections[connection.id] !== connection) return;
  callBack(connection.nativeContext, dispatchState, connection, EOF, detail);
}

/** Dispatches a change of a connection's state. */
function dispatchState(connection: Connection, kind: number, detail: number): void {
  const { nativeServer } = connection;
  if (kind === EOF) nativeServer.onEof(connection, detail === 1);
  else if (kind === CLOSED) nativeServer.onReset(connection, detail);
  else if (kind === IDLE) nativeServer.onIdle(connection);
  else {
    // More bytes may have been sent in the meantime.
    connection.countQueued();
    connection.refreshTimer();
    nativeServer.onBytesSent(connection);
  }
}

function onBody(connection: Connection, offset: number, length: number): void {
  pushBody(connection, input, offset, length);
}

/** Memory for the next part of a body, which becomes the application's if the part fills it. */
let part: Buffer | null = null;

function onBodyReadable(connection: Connection, at: number): void {
  const buffer = part ?? allocUnsafeSlow(PART_BYTES);
  part = buffer;
  const length = functions.receiveBody(connection.id, buffer);
  // Where an event with bytes has their number: an error says how many were parsed.
  events[at + 3] = length;
  if (length > 0) pushBody(connection, buffer, 0, length);
}

/** Gives the application a part of a body. */
function pushBody(connection: Connection, bytes: Buffer, offset: number, length: number): void {
  connection.refreshTimer();
  const request = connection.receiving;
  if (request === null || request._dumped) return;
  let chunk: Buffer;
  if (bytes === part && length === PART_BYTES) {
    chunk = bytes;
    part = null;
  } else {
    chunk = Buffer.allocUnsafe(length);
    chunk.set(bytes.subarray(offset, offset + length));
  }
  countBodyBytes(length);
  if (!request.push(chunk)) connection.socket.pause();
}

function onEnd(connection: Connection, offset: number, length: number): void {
  const request = connection.receiving;
  connection.receiving = null;
  if (request === null) return;
  if (length > 0) {
    request.complete = true;
    const trailers = parseTrailers(input.latin1Slice(offset, offset + length));
    request._addHeaderLines(trailers, trailers.length);
  }
  completeRequest(request);
  if (connection.isPaused && !connection.socket._paused) connection.socket.resume();
}
