import { EventEmitter } from 'node:events';
import type http from 'node:http';
import { nodeHttp } from '../node/node-http.js';
import {
  kChunkedLength,
  kConnection,
  kCorked,
  kNeedDrain,
  kRejectBody,
  type Outgoing,
} from '../node/node-internals.js';
import {
  isEndUnpatched,
  isObserved,
  isWriteUnpatched,
  usesNodeSend,
} from '../node/node-methods.js';
import { onFinish } from '../request/exchange.js';
import {
  appendBytes,
  appendLineEnd,
  appendText,
  flushEnd,
  notifySentLater,
  reportSoon,
} from '../sending/output-buffer.js';
import type { Connection } from '../state/connection.js';
import { appendKept, joinsChunks, keepChunk, keepsChunks } from './chunk-joining.js';

type End = (this: Outgoing, ...args: unknown[]) => Outgoing;
type Write = (this: Outgoing, ...args: unknown[]) => boolean;

interface Marked {
  [kConnection]?: Connection;
  [key: symbol]: unknown;
}

const prototype = nodeHttp.OutgoingMessage.prototype as unknown as { end: End; write: Write };
const { end: nodeEnd, write: nodeWrite } = prototype;
/** Not those of a response: tracers count the calls. */
const { listeners, prependListener } = EventEmitter.prototype;
const nodeFinish = (nodeHttp.ServerResponse.prototype as unknown as Outgoing)._finish;

/**
 * `end` for the usual case, a response on a native connection whose turn it is, without the detour over
 * `write`, `_send` and a stream: the bytes go to the output buffer of their connection. Everything else is Node's own `end`,
 * which must give the same bytes and the same events.
 */
function end(this: Outgoing & Marked, chunk?: unknown, encoding?: unknown, callback?: unknown) {
  const connection = this[kConnection];
  // biome-ignore lint/complexity/noArguments: Node tells a missing argument from an undefined one
  if (connection === undefined) return nodeEnd.apply(this, arguments as never);
  const text = typeof chunk === 'string';
  if (
    !hasTurn(this, connection) ||
    (callback !== undefined && callback !== null) ||
    (encoding !== undefined && encoding !== null && encoding !== 'utf8') ||
    !(text || chunk === undefined || chunk === null || isFilled(chunk)) ||
    !canUseFastPath(this, connection) ||
    (chunk && !this._hasBody && this[kRejectBody])
  ) {
    this._onPendingData = connection.onPendingData;
    // biome-ignore lint/complexity/noArguments: see above
    nodeEnd.apply(this, arguments as never);
    flushEnd();
    return this;
  }
  if (this._header === null) {
    this._contentLength = text
      ? Buffer.byteLength(chunk)
      : chunk
        ? (chunk as Uint8Array).byteLength
        : 0;
    this._implicitHeader();
    if (this._header === null || this.finished) {
      return nodeEnd.call(this, chunk);
    }
  }
  const head = this._headerSent ? '' : (this._header as string);
  this._headerSent = true;
  const body = chunk && this._hasBody ? (chunk as string | Uint8Array) : null;
  if (this._hasBody && this.chunkedEncoding) sendChunked(connection, this, head, body);
  else if (body === null) appendText(connection, head, true);
  else if (text) appendText(connection, head + body, false);
  else {
    appendText(connection, head, true);
    appendBytes(connection, body as Uint8Array);
  }
  this.finished = true;
  if (this[kCorked]) this[kCorked] = 0;
  connection.corked = 0;
  connection.flushesAtTurnEnd = false;
  connection.responseAwaitingSend = this;
  try {
    this._finish();
  } finally {
    // As with Node, a response whose 'prefinish' listener throws is sent nevertheless.
    notifySentLater(connection);
    if (isObserved(this)) reportSoon(connection);
    flushEnd();
  }
  return this;
}

/**
 * `write` for the usual case: as with Node, the bytes of a turn leave together, and what was written counts until they
 * have left.
 */
function write(this: Outgoing & Marked, chunk?: unknown, encoding?: unknown, callback?: unknown) {
  const connection = this[kConnection];
  const text = typeof chunk === 'string';
  if (
    connection === undefined ||
    !hasTurn(this, connection) ||
    callback !== undefined ||
    (encoding !== undefined && encoding !== null && encoding !== 'utf8') ||
    !(text || isFilled(chunk)) ||
    chunk.length === 0 ||
    !canUseFastPath(this, connection)
  ) {
    if (connection !== undefined) this._onPendingData = connection.onPendingData;
    // biome-ignore lint/complexity/noArguments: see above
    return nodeWrite.apply(this, arguments as never);
  }
  if (this._header === null) this._implicitHeader();
  const joins = joinsChunks && this.chunkedEncoding;
  if (
    this._header === null ||
    !this._hasBody ||
    (joins && connection.corked > 0 && !this[kCorked])
  ) {
    // biome-ignore lint/complexity/noArguments: see above
    return nodeWrite.apply(this, arguments as never);
  }
  if (joins) {
    const more = keepChunk(connection, this, chunk, sendKept);
    if (!more) (this as Record<symbol, unknown>)[kNeedDrain] = true;
    return more;
  }
  const head = this._headerSent ? '' : (this._header as string);
  this._headerSent = true;
  if (connection.corked === 0) {
    connection.cork();
    if (joinsChunks) {
      (this as Record<symbol, unknown>)[kCorked] = ((this[kCorked] as number) || 0) + 1;
      process.nextTick(sendKept, this);
    } else process.nextTick(uncork, connection);
  }
  if (this.chunkedEncoding) {
    const length = text ? Buffer.byteLength(chunk) : chunk.byteLength;
    appendText(connection, `${head}${length.toString(16)}\r\n`, true);
    if (text) appendText(connection, chunk, false);
    else appendBytes(connection, chunk);
    appendLineEnd(connection);
  } else if (text) {
    appendText(connection, head + chunk, false);
  } else {
    if (head !== '') appendText(connection, head, true);
    appendBytes(connection, chunk);
  }
  const more = connection.recordWrite(head.length + chunk.length + (this.chunkedEncoding ? 5 : 0));
  if (!more) (this as Record<symbol, unknown>)[kNeedDrain] = true;
  return more;
}

function uncork(connection: Connection): void {
  if (connection.isStream) connection.socket.uncork();
  else connection.uncork();
}

/** Whether what a response writes is what its connection sends next. */
function hasTurn(response: Outgoing, { socket }: Connection): boolean {
  return response.socket === (socket as unknown) && socket._httpMessage === response;
}

/** Sends the chunks of a turn, by Node's own `uncork` where there is more to do than that. */
function sendKept(kept: Outgoing): void {
  const response = kept as Outgoing & Marked;
  // It has ended, or the application has uncorked it.
  if (!response[kCorked]) return;
  const connection = response[kConnection];
  if (
    connection === undefined ||
    !hasTurn(response, connection) ||
    response[kCorked] !== 1 ||
    response[kNeedDrain] ||
    !keepsChunks(response) ||
    !canUseFastPath(response, connection)
  ) {
    (response as unknown as http.ServerResponse).uncork();
    return;
  }
  const head = response._headerSent ? '' : (response._header as string);
  response._headerSent = true;
  connection.recordWrite(head.length + appendKept(connection, response, head, null) + 4);
  connection.uncork();
}

/** Whether a chunk has bytes. Without, there is no chunk to frame, and one may be detached, which Node's own code refuses. */
function isFilled(chunk: unknown): chunk is Uint8Array {
  return chunk instanceof Uint8Array && chunk.length > 0;
}

/** Nothing waits, nothing is over, nothing is counted. */
function canUseFastPath(response: Outgoing & Marked, connection: Connection): boolean {
  return (
    !response.finished &&
    !response.destroyed &&
    response.outputData.length === 0 &&
    connection.canBypassStream &&
    connection.responseAwaitingSend === null &&
    connection.socket.write === connection.nativeServer.nativeWrite &&
    usesNodeSend(response) &&
    !(response as unknown as http.ServerResponse).strictContentLength &&
    (!response[kCorked] || keepsOn(response))
  );
}

/** Whether what is written to a corked response may be kept with the rest. */
function keepsOn(response: Outgoing & Marked): boolean {
  if (!joinsChunks || (response[kCorked] as number) < 0) return false;
  return !response.chunkedEncoding || keepsChunks(response);
}

function sendChunked(
  connection: Connection,
  response: Outgoing & Marked,
  head: string,
  body: string | Uint8Array | null,
): void {
  const last = `0\r\n${response._trailer}\r\n`;
  if (joinsChunks && (response[kChunkedLength as symbol] as number) > 0) {
    appendKept(connection, response, head, body);
    appendText(connection, last, true);
    return;
  }
  if (body === null) {
    appendText(connection, head + last, true);
    return;
  }
  const length = typeof body === 'string' ? Buffer.byteLength(body) : body.byteLength;
  appendText(connection, `${head}${length.toString(16)}\r\n`, true);
  // Each of these is a call into V8, and trailers are rare.
  if (typeof body === 'string' && response._trailer === '') {
    appendText(connection, `${body}\r\n${last}`, false);
    return;
  }
  if (typeof body === 'string') appendText(connection, body, false);
  else appendBytes(connection, body);
  appendText(connection, `\r\n${last}`, true);
}

/**
 * All ways to end a response come here: where Node's own `end` has ended it, the last step follows its 'finish', before
 * the application's listeners, as with Node.
 */
function finish(this: Outgoing & Marked): void {
  const connection = this[kConnection];
  if (connection !== undefined && connection.responseAwaitingSend !== this) {
    const emitter = this as unknown as http.ServerResponse;
    if (!listeners.call(emitter, 'finish').includes(onFinish))
      prependListener.call(emitter, 'finish', onFinish as never);
  }
  nodeFinish.call(this);
}

/** Puts the short paths into the prototypes, for responses of native connections alone. */
export function installResponse(): void {
  if (isEndUnpatched) prototype.end = end as End;
  if (isWriteUnpatched) prototype.write = write as Write;
  (nodeHttp.ServerResponse.prototype as unknown as Outgoing)._finish = finish;
}
