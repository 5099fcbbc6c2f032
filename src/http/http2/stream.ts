import { Duplex } from 'node:stream';
import timers from 'node:timers';
import type { Outgoing } from '../node/node-internals.js';
import { emit } from '../node/node-methods.js';
import { guarded } from '../reactor/contexts.js';
import { native } from '../reactor/native.js';
import {
  appendBytes,
  appendedBytes,
  appendLineEnd,
  appendText,
  flushConnection,
  flushEnd,
  notifySentLater,
} from '../sending/output-buffer.js';
import type { Connection } from '../state/connection.js';
import * as errors from './errors.js';
import { IdleTimer } from './idle-timer.js';
import { CANCEL, INTERNAL_ERROR, NO_ERROR, nameOf } from './node-http2.js';
import { parseTrailerFields } from './request-fields.js';
import { type Fields, fieldLines, isBodiless, responseHead } from './response-text.js';
import type { Http2Session } from './session.js';
import type { StreamSocket } from './stream-socket.js';
import { trapMembers } from './unsupported.js';

const { setImmediate } = timers;

/** As Node's streams; an error is no reason to forget what was received. */
const OPTIONS = { allowHalfOpen: true, decodeStrings: false, autoDestroy: false };

/** The response whose last bytes are appended: nothing more is sent on its connection, and the stream hears when that has left. */
const LAST = { _last: true, _eventsCount: 0, emit } as unknown as Outgoing;

type Callback = (error?: Error | null) => void;

interface Chunk {
  chunk: string | Buffer;
  encoding: BufferEncoding;
}

interface RespondOptions {
  endStream?: boolean;
  waitForTrailers?: boolean;
  sendDate?: boolean;
}

/**
 * The stream of a request, as Node's `Http2ServerRequest` and `Http2ServerResponse` use one, over the text of its connection. It has
 * those members of `ServerHttp2Stream` that applications of these classes use; the first use of another throws.
 */
export class Http2Stream extends Duplex {
  readonly id: number;
  readonly headRequest: boolean;
  /** The request has no body. */
  readonly endAfterHeaders: boolean;
  readonly pending = false;
  readonly pushAllowed = false;
  rstCode = NO_ERROR;
  aborted = false;
  headersSent = false;
  sentHeaders: Fields | undefined;
  sentTrailers: Fields | undefined;
  sentInfoHeaders: Fields[] | undefined;
  #connection: Connection;
  #session: Http2Session | undefined;
  /** As `closed`. */
  #closed = false;
  /** Somebody has begun to read the request. */
  #didRead = false;
  /** All of the request has come. */
  #isReceived: boolean;
  /** All of the response has been sent. */
  #isSent = false;
  /** The response has no content. */
  #isBodiless = false;
  #waitsForTrailers = false;
  #trailersReady = false;
  /** The response to HEAD was ended, and its head is still to come. */
  #finalWaits = false;
  /** Called when the response has been sent. */
  #whenSent: Callback | null = null;
  /** Called when the part that was written last has been sent. */
  #writeCallback: Callback | null = null;
  #timer: IdleTimer | null = null;
  /** The stack takes a stream for the request whose body its connection receives. */
  readonly _dumped = false;
  complete = false;

  constructor(
    connection: Connection,
    session: Http2Session,
    id: number,
    method: string,
    hasBody: boolean,
  ) {
    super(OPTIONS);
    const state = readableState(this);
    // As Node does: nothing is read before somebody reads.
    state.readingMore = true;
    this.#connection = connection;
    this.#session = session;
    this.id = id;
    this.headRequest = method === 'HEAD';
    this.endAfterHeaders = !hasBody;
    this.#isReceived = !hasBody;
    if (hasBody) connection.receiving = this as never;
    // A later reader finds it ended.
    else state.ended = true;
    (connection.socket as unknown as StreamSocket).stream = this;
    if (this.headRequest) this.end();
  }

  get session(): Http2Session | undefined {
    return this.#session;
  }

  // Of Node's streams of HTTP/2, it says that `close()` was called or both sides are closed; of others, that 'close' was emitted.
  // @ts-expect-error: Node's types have a property
  override get closed(): boolean {
    return this.#closed;
  }

  get bufferSize(): number {
    return this.#connection.queued + this.writableLength;
  }

  // The request.

  override _read(): void {
    const connection = this.#connection;
    if (!this.#didRead) {
      this.#didRead = true;
      readableState(this).readingMore = false;
    }
    if (connection.isPaused) connection.setPaused(false);
  }

  /** Takes the trailers of the request. */
  _addHeaderLines(rawTrailers: string[]): void {
    // A listener that throws does not keep the body from its end.
    guarded(emitTrailers, this.#connection, this, rawTrailers);
  }

  /** Takes a part of the request; `null` is its end. */
  override push(chunk: unknown, encoding?: BufferEncoding): boolean {
    const more = super.push(chunk, encoding);
    if (chunk === null && this.complete && !this.#isReceived) {
      this.#isReceived = true;
      if (this.#isSent) this.#onClosed(NO_ERROR, false);
    }
    return more;
  }

  // The response.

  respond(fields: Fields = {}, options: RespondOptions = {}): void {
    if (this.destroyed || this.#closed) throw errors.invalidStream();
    if (this.headersSent) throw errors.headersSent();
    const status = (fields[':status'] as number) | 0 || 200;
    if (status < 200 || status > 599) throw errors.invalidStatus(status);
    const head = responseHead(status, fields, options.sendDate ?? true);
    this.refresh();
    this.headersSent = true;
    this.sentHeaders = fields;
    // As with Node, what ends with its head has none.
    this.#waitsForTrailers = options.waitForTrailers === true && !options.endStream;
    this.#isBodiless = this.headRequest || isBodiless(status);
    appendText(this.#connection, head, true);
    if (options.endStream || this.#isBodiless || status === 205) this.end();
    if (this.#finalWaits) {
      this.#finalWaits = false;
      this.#endContent();
    }
  }

  additionalHeaders(fields: Fields): void {
    if (this.destroyed || this.#closed) throw errors.invalidStream();
    if (this.headersSent) throw errors.headersAfterRespond();
    const status = (fields[':status'] as number) | 0;
    if (status === 101) throw errors.switchingProtocols();
    if (status < 100 || status >= 200) throw errors.invalidInfoStatus(fields[':status']);
    this.refresh();
    this.sentInfoHeaders ??= [];
    this.sentInfoHeaders.push(fields);
    appendText(
      this.#connection,
      `HTTP/1.1 ${status} \r\n${fieldLines(fields, ':status')}\r\n`,
      true,
    );
    flushEnd();
  }

  sendTrailers(fields: Fields): void {
    if (this.destroyed || this.#closed) throw errors.invalidStream();
    if (this.sentTrailers !== undefined) throw errors.trailersSent();
    if (!this.#trailersReady) throw errors.trailersNotReady();
    const lines = fieldLines(fields);
    this.sentTrailers = fields;
    this.#sendEnd(lines);
  }

  pushStream(): never {
    throw errors.pushDisabled();
  }

  override _write(chunk: string | Buffer, encoding: BufferEncoding, callback: Callback): void {
    this._writev([{ chunk, encoding }], callback);
  }

  /** What waited together is one part. */
  override _writev(chunks: Chunk[], callback: Callback): void {
    const connection = this.#connection;
    if (connection.id < 0) return;
    if (!this.headersSent) this.respond();
    if (!this.#isBodiless) appendChunk(connection, chunks.map(toPart));
    this.refresh();
    // Small parts of a turn leave together, without a wait for each.
    if (connection.queued === 0 && appendedBytes(connection) < this.writableHighWaterMark) {
      process.nextTick(callback);
      return;
    }
    this.#writeCallback = callback;
    connection.afterWrite((error) => {
      this.#writeCallback = null;
      callback(error);
    });
    flushEnd();
  }

  override _final(callback: Callback): void {
    if (this.#connection.id < 0 || !this.headersSent) {
      // A request with HEAD has no content to end; or the stream is closed before a response.
      this.#finalWaits = this.headRequest && !this.#closed;
      if (this.#finalWaits) this.#whenSent = callback;
      else callback();
      return;
    }
    this.#whenSent = callback;
    this.#endContent();
  }

  #endContent(): void {
    if (this.#isBodiless || !this.#waitsForTrailers) this.#sendEnd('');
    else {
      this.#trailersReady = true;
      if (!this.emit('wantTrailers')) this.sendTrailers({});
    }
  }

  #sendEnd(trailers: string): void {
    const connection = this.#connection;
    if (!this.#isBodiless) appendText(connection, `0\r\n${trailers}\r\n`, true);
    connection.responseAwaitingSend = LAST;
    notifySentLater(connection);
    flushEnd();
  }

  /** All of the response has been sent. */
  onSent(): void {
    const callback = this.#whenSent;
    this.#whenSent = null;
    this.#isSent = true;
    callback?.();
    // After 'finish'.
    if (this.#isReceived) process.nextTick(closeReset, this, NO_ERROR);
    // Nobody reads the rest of the request.
    else if (!this.#didRead && this.readableFlowing === null) setImmediate(closeUnread, this);
  }

  // The end.

  close(code: number = NO_ERROR, callback?: () => void): void {
    if (typeof code !== 'number') throw errors.invalidArgument('code', 'of type number', code);
    if (!Number.isInteger(code) || code < 0 || code > 0xffff_ffff) {
      throw errors.outOfRange('code', '>= 0 && <= 4294967295', code);
    }
    if (callback !== undefined && typeof callback !== 'function') {
      throw errors.invalidArgument('callback', 'of type function', callback);
    }
    if (this.#closed) return;
    if (callback !== undefined) this.once('close', callback);
    const isEnding = this.writableEnded;
    this.#markClosed(code);
    if (!isEnding || this.writableFinished || code !== NO_ERROR) this.#reset(code);
    else this.once('finish', () => this.#reset(code));
  }

  #markClosed(code: number): void {
    this.#closed = true;
    this.rstCode = code;
    this.#timer?.stop();
    if (this.writableEnded) return;
    if (!this.aborted) {
      this.aborted = true;
      this.emit('aborted');
    }
    this.end();
  }

  /** Resets the stream if it is not over. */
  #reset(code: number): void {
    this.#leave(code);
    process.nextTick(closeReset, this, code);
  }

  /** Both sides of the stream are closed. */
  #onClosed(code: number, isPeers: boolean): void {
    if (this.destroyed) return;
    this.#leave(code);
    if (!this.#closed) this.#markClosed(code);
    if (!this.readable || code !== NO_ERROR || this.#isUnheard()) {
      this.destroy();
      return;
    }
    this.once('end', isPeers ? this.destroy : destroyFinished);
    super.push(null);
    if (!this.#didRead && this.readableFlowing === null) this.resume();
    else this.read(0);
  }

  /** Only Node's request listens for the end of a body that has no bytes left, and the stream's end tells it as much. */
  #isUnheard(): boolean {
    return (
      this.readableFlowing === null && this.readableLength === 0 && this.listenerCount('end') <= 1
    );
  }

  onReset(): void {
    this.#onClosed(native.stackResetCode(this.#connection.id) ?? CANCEL, true);
  }

  static closeReset(stream: Http2Stream, code: number): void {
    stream.#onClosed(code, false);
  }

  override _destroy(error: Error | null, callback: Callback): void {
    const sessionCode = this.#session?.code ?? NO_ERROR;
    let code = this.#closed ? this.rstCode : sessionCode;
    let cause = error;
    if (error !== null && error !== undefined) {
      if (sessionCode) code = sessionCode;
      else code = error.name === 'AbortError' ? CANCEL : INTERNAL_ERROR;
    }
    if (!this.#closed) this.#markClosed(code);
    super.push(null);
    this.#leave(code);
    if (!cause && code !== NO_ERROR && code !== CANCEL) {
      cause = errors.streamError(nameOf(code));
    }
    this.#session = undefined;
    this.#writeCallback?.(cause);
    this.#writeCallback = null;
    callback(cause);
  }

  /** The connection of the stream ends; if one of the messages has not, with this code. */
  #leave(code: number): void {
    const connection = this.#connection;
    if (connection.id < 0) return;
    connection.receiving = null;
    connection.callbacks = null;
    connection.nativeServer.inFlight--;
    if (connection.isForgotten) connection.nativeServer.unregister(connection);
    else {
      flushConnection(connection);
      if (!this.#isSent || !this.#isReceived) native.stackSetResetCode(connection.id, code);
      connection.close(false);
    }
    connection.isNativeDestroyed = true;
    connection.endContexts();
  }

  /** The session has ended, or the connection has to. */
  lose(): void {
    this.#onClosed(CANCEL, true);
  }

  // Timeouts.

  setTimeout(ms: number, callback?: () => void): this {
    if (this.destroyed) return this;
    this.#timer ??= new IdleTimer(this);
    this.#timer.set(ms, callback);
    return this;
  }

  get timeout(): number {
    return this.#timer?.ms ?? 0;
  }

  refresh(): void {
    this.#timer?.refresh();
    this.#session?.refresh();
  }

  static connectionOf(stream: Http2Stream): Connection {
    return stream.#connection;
  }
}

trapMembers(
  Http2Stream.prototype,
  'stream',
  ['priority', 'respondWithFD', 'respondWithFile', 'state'],
  Http2Stream.connectionOf,
);

const { closeReset } = Http2Stream;

interface ReadableState {
  readingMore: boolean;
  ended: boolean;
}

function readableState(stream: Duplex): ReadableState {
  return (stream as unknown as { _readableState: ReadableState })._readableState;
}

/** Bytes, or text of UTF-8. */
type Part = string | Buffer;

function toPart({ chunk, encoding }: Chunk): Part {
  const isText = typeof chunk === 'string' && encoding !== 'utf8' && encoding !== 'utf-8';
  return isText ? Buffer.from(chunk, encoding) : chunk;
}

/** Appends a chunk of HTTP/1.1 that consists of these parts; one without bytes would be the end. */
function appendChunk(connection: Connection, parts: Part[]): void {
  let length = 0;
  for (const part of parts) {
    length += typeof part === 'string' ? Buffer.byteLength(part) : part.length;
  }
  if (length === 0) return;
  appendText(connection, `${length.toString(16)}\r\n`, true);
  for (const part of parts) {
    if (typeof part === 'string') appendText(connection, part, false);
    else appendBytes(connection, part);
  }
  appendLineEnd(connection);
}

function emitTrailers(_connection: Connection, stream: Http2Stream, rawTrailers: string[]): void {
  stream.emit('trailers', parseTrailerFields(rawTrailers), 0, rawTrailers);
}

function closeUnread(stream: Http2Stream): void {
  stream.close();
}

function destroyFinished(this: Http2Stream): void {
  if (this.writableFinished && this.closed) this.destroy();
}
