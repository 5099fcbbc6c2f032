import { EventEmitter } from 'node:events';
import net from 'node:net';
import { Writable } from 'node:stream';
import {
  type Events,
  nodeListeners,
  nodeTimeout,
  type StandIns,
} from '../fallback/node-listeners.js';
import { type Incoming, kWritableFinished, type Outgoing } from '../install/node-internals.js';
import { emit } from '../install/node-methods.js';
import { native } from '../reactor/native.js';
import {
  ConnectionContext,
  endContext,
  HTTPServerAsyncResource,
  WriteContext,
} from '../request/contexts.js';
import { receive } from '../request/exchange.js';
import {
  appendBytes,
  appendText,
  collected,
  discard,
  flushSocket,
  reportSoon,
  settleLater,
} from '../response/output-buffer.js';
import { flushBatch } from '../response/write-batch.js';
import type { NativeServer } from '../server/native-server.js';
import { FINISHES_WHEN_CUT_OFF } from './cut-off-writes.js';
import { closeLater } from './deferred-close.js';
import { type Handle, socketHandle } from './handle.js';
import { type KeepAliveOptions, seconds, setKeepAlive, TAKES_OPTIONS } from './keep-alive.js';
import { NONE } from './none.js';
import { afterEndError, destroyedError, endedByPeerError, systemError } from './socket-errors.js';
import { ReadableView, WritableView } from './stream-state.js';

/** Parses the rest of a connection in place of the reactor. */
interface ForeignParser {
  /** The end of the stream is an error. */
  readonly expectsMore: boolean;
  /** Returns how many of these bytes belong to the body if it ends within them. */
  take(bytes: Buffer, packet: Buffer): number | null;
  close?(): void;
}

export type PeerAddress = ReturnType<typeof native.stackAddresses>['remote'];

type Callback = (error?: Error | null) => void;

const kEvents = Symbol('millrace.events');

/**
 * The socket of a connection that the reactor owns: a `net.Socket` to look at (`instanceof`, the properties, calls and
 * events that servers use), without a handle and without stream buffers. What is written
 * goes to the reactor; what arrives is parsed there.
 *
 * Its constructor is not run; `fallBackToNode` runs it when the connection becomes an ordinary one. One file, though long: what a
 * `net.Socket` has, one method after the other.
 */
export interface ServerSocket extends Omit<EventEmitter, 'on' | 'prependListener' | 'emit'> {
  emit(event: string | symbol, ...args: unknown[]): boolean;
  _eventsCount: number;
  setTimeout(ms: number, callback?: () => void): this;
  _unrefTimer(): void;
}

// biome-ignore lint/suspicious/noUnsafeDeclarationMerging: see above
export class ServerSocket {
  /** Number of the connection in the reactor; -1 after its end. An application may set its own `id`. */
  nativeId: number;
  readonly nativeServer: NativeServer;
  server: net.Server;
  _server: net.Server | null;
  _httpMessage: Outgoing | null = null;
  _parent = null;
  /** The listeners, created when the application first reads them; until then Node's own are assumed. */
  [kEvents]: Events | null = null;
  /** The replacements of Node's own listeners among them. */
  standIns: StandIns | null = null;
  /** The request whose body is being received. */
  receiving: Incoming | null = null;
  /** Unanswered requests, the oldest first. */
  incoming: Incoming[] = NONE;
  /** Responses that wait for their turn, and their approximate size in bytes. */
  outgoing: Outgoing[] = NONE;
  outgoingData = 0;
  requestsCount = 0;
  /** Number of requests that the reactor has reported: the index of the next one. */
  requestIndex = 0;
  /** Responses that end with the bytes collected so far. */
  done = 0;
  /** A response whose last byte is among the collected bytes. */
  finishing: Outgoing | null = null;
  /** Callbacks for when the collected bytes have been sent. */
  callbacks: Callback[] | null = null;
  /** How many of these wait for what Node would have given to the system by now; the system has not taken all of it. */
  inFlight = 0;
  /** Whether bytes that are written now belong to that, too. */
  isGatheringFlight = false;
  /** Context in which callbacks, 'drain' and 'finish' come that do not come in a tick of the write: as with Node, of the first such write. */
  writeContext: WriteContext | null = null;
  /** Reads the rest of the connection in place of the reactor. */
  foreign: ForeignParser | null = null;
  /** Bytes in the batch of writes. */
  batchedBytes = 0;
  /** Bytes that the reactor could not send yet. */
  queued = 0;
  /** Calls of `cork` that `uncork` has not undone. */
  corked = 0;
  /** `bytesWritten` at the first of these calls. */
  corkedAt = 0;
  /** Whether corked bytes are sent with the other bytes of this turn. */
  gathers = false;
  /** Number of bytes written since all earlier ones were sent. */
  unsettled = 0;
  needDrain = false;
  settling = false;
  /** Whether the timeout is the keep-alive time. */
  waiting = false;
  /** Whether the peer's side has ended within a message. */
  endedWithin = false;
  /** Options that the application has set; otherwise they are the server's. */
  noDelay: boolean | null = null;
  keepAlive: { on: boolean; delayMs: number } | null = null;
  /** Handles an unusual request when the responses before it have been sent. */
  afterResponses: (() => void) | null = null;
  _paused = false;
  pausedReading = false;
  timeout = 0;
  /** Number of bytes passed to the reactor. */
  sent = 0;
  /** Our side: end() was called, and it has taken effect. */
  writableEnded = false;
  writableFinished = false;
  /** Whether the peer's side has ended. */
  readableEnded = false;
  /** Whether 'close' was emitted. */
  isCloseEmitted = false;
  _hadError = false;
  /** Whether no bytes waited to be sent when the socket was destroyed. */
  allLeft = false;
  /** Whether bytes that were passed to the reactor could not be sent. */
  broken = false;
  /** Whether the system had not accepted all bytes when the socket was destroyed. */
  isCutOff = false;
  /** Whether the server has handled an error. */
  failed = false;
  #destroyed = false;
  #destroyWhenFinished = false;
  readonly nativeContext = new ConnectionContext();
  #requests: HTTPServerAsyncResource | null = null;
  #writable: WritableView | null = null;
  #readable: ReadableView | null = null;
  #addresses: ReturnType<typeof native.stackAddresses> | null = null;
  #peer: PeerAddress;
  /** Address of the peer, if it was read before the end of the connection. */
  get knownPeer() {
    return this.#peer;
  }
  set knownPeer(peer: PeerAddress) {
    this.#peer = peer;
  }
  /** Number of bytes that were read of a connection that has ended. */
  #read = 0;
  /** As far as somebody has asked for one. */
  nativeHandle: Handle | null = null;

  constructor(id: number, nativeServer: NativeServer) {
    this._eventsCount = 0;
    this.nativeId = id;
    this.nativeServer = nativeServer;
    this.server = nativeServer.server;
    this._server = nativeServer.server;
  }

  // Listeners.

  get _events(): Events {
    this[kEvents] ??= this.nodeListeners();
    return this[kEvents];
  }
  set _events(events: Events) {
    this[kEvents] = events;
  }
  /** Listeners that exist without the application. */
  protected nodeListeners(): Events {
    return nodeListeners(this);
  }
  /** Whether the application may have listeners on this socket, or replaced its `emit`. */
  get isObserved(): boolean {
    return this[kEvents] !== null || this.emit !== emit;
  }

  // Properties of streams.

  get destroyed() {
    return this.#destroyed;
  }
  /** As with Node's own sockets, before 'close' tells of it. */
  get closed() {
    return this.destroyed;
  }
  get writable() {
    return !this.#destroyed && !this.writableEnded;
  }
  get readable() {
    return !this.#destroyed && !this.readableEnded;
  }
  get readyState() {
    if (this.readable) return this.writable ? 'open' : 'readOnly';
    return this.writable ? 'writeOnly' : 'closed';
  }
  // What was collected counts as sent, as small writes leave at once with Node, unless the socket is corked.
  get writableLength() {
    return this.corked > 0 ? this.unsettled : this.queued;
  }
  get bufferSize() {
    return this.writableLength;
  }
  get writableHighWaterMark() {
    return this.nativeServer.highWaterMark;
  }
  get readableHighWaterMark() {
    return this.nativeServer.highWaterMark;
  }
  get writableNeedDrain() {
    return this.needDrain;
  }
  get writableObjectMode() {
    return false;
  }
  get readableObjectMode() {
    return false;
  }
  get writableCorked() {
    return this.corked;
  }
  get writableAborted() {
    return this.#destroyed && !this.writableFinished;
  }
  get readableAborted() {
    return this.#destroyed && !this.readableEnded;
  }
  get readableFlowing() {
    return !this.pausedReading;
  }
  get readableLength() {
    return 0;
  }
  get readableEncoding() {
    return null;
  }
  get readableDidRead() {
    return true;
  }
  get errored() {
    return this._writableState.errored;
  }
  get allowHalfOpen(): boolean {
    return true;
  }
  get connecting() {
    return false;
  }
  get pending() {
    return this.#destroyed;
  }
  get bytesWritten() {
    return this.sent + this.batchedBytes + collected(this);
  }
  get _bytesDispatched() {
    return this.bytesWritten;
  }
  get bytesRead() {
    return this.nativeId >= 0 ? native.stackBytesRead(this.nativeId) : this.#read;
  }
  get _writableState(): WritableView {
    this.#writable ??= new WritableView(this);
    return this.#writable;
  }
  get _readableState(): ReadableView {
    this.#readable ??= new ReadableView(this);
    return this.#readable;
  }

  // Addresses.

  address() {
    const local = this.#local();
    return local ? { address: local.address, family: local.family, port: local.port } : {};
  }
  get remoteAddress() {
    return this.#remote()?.address;
  }
  get remotePort() {
    return this.#remote()?.port;
  }
  get remoteFamily() {
    return this.#remote()?.family;
  }
  get localAddress() {
    return this.#local()?.address;
  }
  get localPort() {
    return this.#local()?.port;
  }
  get localFamily() {
    return this.#local()?.family;
  }
  _getpeername() {
    return this.#remote() ?? {};
  }
  _getsockname() {
    return this.#local() ?? {};
  }
  // As in Node, a socket that is gone has its peer's address if it was asked for before, and none of its own.
  #remote() {
    if (this.nativeId >= 0) this.#peer ??= this.#ends().remote;
    return this.#peer;
  }
  #local() {
    return this.nativeId >= 0 ? this.#ends().local : undefined;
  }
  #ends() {
    this.#addresses ??= native.stackAddresses(this.nativeId);
    return this.#addresses;
  }

  /** As Node's, for who looks at it or sends it to another process; the reactor reads and writes past it. */
  get _handle(): Handle | null {
    if (this.nativeHandle === null && this.nativeId >= 0) {
      this.nativeHandle = socketHandle(native.stackDuplicateConnection(this.nativeId), this);
    }
    return this.nativeHandle;
  }
  set _handle(handle: Handle | null) {
    // Whoever takes it away has it from now on.
    if (handle === null && this.nativeId >= 0) this.nativeServer.detach(this);
    this.nativeHandle = handle;
  }

  // What is a stream's to know may be set with Node, too, though not to this effect.
  set writable(_value: boolean) {}
  set readable(_value: boolean) {}
  set destroyed(_value: boolean) {}
  set readableFlowing(_value: boolean) {}
  set allowHalfOpen(_value: boolean) {}

  /** Stands where Node has its parser: what is being received. */
  get parser(): { incoming: Incoming | null; socket: object } | null {
    if (this.nativeId < 0) return null;
    return { incoming: this.receiving ?? this.incoming.at(-1) ?? null, socket: this };
  }

  // Writing.

  cork() {
    if (this.corked++ === 0) this.corkedAt = this.bytesWritten;
  }
  uncork() {
    if (this.corked === 0 || --this.corked > 0) return;
    if (!this.gathers) flushSocket(this);
    this.gathers = false;
  }

  write(chunk: string | Uint8Array, encoding?: string | Callback | null, callback?: Callback) {
    let done = callback;
    let coding = encoding;
    if (typeof coding === 'function') {
      done = coding;
      coding = null;
    }
    if (this.writableEnded || this.#destroyed) {
      const error = this.#refusal();
      if (typeof done === 'function') process.nextTick(done, error);
      if (!this.#destroyed) this.destroy(error);
      return false;
    }
    if (!isUsual(chunk, coding)) validateWrite(chunk, coding);
    if (typeof chunk === 'string') {
      if (!coding || coding === 'utf8' || coding === 'utf-8') appendText(this, chunk, false);
      else if (coding === 'latin1' || coding === 'ascii' || coding === 'binary') {
        appendText(this, chunk, true);
      } else appendBytes(this, Buffer.from(chunk, coding as BufferEncoding));
    } else {
      appendBytes(this, chunk);
    }
    if (typeof done === 'function') this.afterWrite(done);
    const more = this.wrote(chunk.length);
    // As with Node, it is on its way before the caller goes on.
    if (this.corked === 0) flushSocket(this);
    return more;
  }

  /** Returns the error of a write that is no longer possible. */
  #refusal(): Error {
    if (this.writableEnded && this.readableEnded && !this.allowHalfOpen) return endedByPeerError();
    return this.#destroyed ? destroyedError() : afterEndError();
  }

  /** Counts what was written in this turn, as a stream does, even if it has left by now; `false`: wait for 'drain'. */
  wrote(bytes: number): boolean {
    this.unsettled += bytes;
    if (this.unsettled < this.nativeServer.highWaterMark) return true;
    this.needDrain = true;
    this.keepContext();
    settleLater(this);
    return false;
  }

  /** Keeps the current context for callbacks and events that report later that bytes have left. */
  keepContext(): void {
    this.writeContext ??= new WriteContext();
  }

  /** Reads the number of waiting bytes from the reactor, including responses from the cache. */
  countQueued(): void {
    if (this.batchedBytes > 0) flushBatch();
    if (this.nativeId >= 0) this.queued = native.stackQueued(this.nativeId);
  }

  /** Calls back when all bytes written so far have been sent. */
  afterWrite(callback: Callback): void {
    if (this.callbacks === null) this.callbacks = [callback];
    else this.callbacks.push(callback);
    if (this.queued === 0 || this.isGatheringFlight) this.inFlight = this.callbacks.length;
    if (this.batchedBytes > 0) flushBatch();
    settleLater(this);
    reportSoon(this);
  }

  /** Handles the reactor's result for an entry of the batch. */
  left(result: number, count: number): void {
    this.batchedBytes -= count;
    this.written(result, count);
    const all = this.batchedBytes + this.queued + collected(this) === 0;
    if (all) this.unsettled = 0;
  }

  /** Handles the reactor's result of a send: the number of waiting bytes, or a negative error number. */
  written(result: number, count: number): void {
    this.sent += count;
    if (result >= 0) {
      if (result > 0 && this.queued === 0) {
        this.isGatheringFlight = true;
        this.keepContext();
        process.nextTick(endFlight, this);
      }
      this.queued = result;
    } else {
      this.broken = true;
      if (!this.#destroyed) process.nextTick(failWrite, this, result);
    }
    if (this.timeout > 0) this._unrefTimer();
  }

  end(chunk?: unknown, encoding?: unknown, callback?: unknown): this {
    const done = [chunk, encoding, callback].find((value) => typeof value === 'function');
    if (chunk !== undefined && chunk !== null && typeof chunk !== 'function') {
      this.write(
        chunk as string | Uint8Array,
        typeof encoding === 'function' ? null : (encoding as string),
      );
    }
    if (typeof done === 'function') this.once('finish', done as () => void);
    if (this.writableEnded || this.#destroyed) return this;
    this.corked = 0;
    this.writableEnded = true;
    if (this.nativeServer.caches) this.countQueued();
    this.afterWrite((error) => {
      if (error || this.#destroyed) return;
      this.writableFinished = true;
      native.stackEnd(this.nativeId);
      this.emit('finish');
      if (this.readableEnded || this.#destroyWhenFinished) this.destroy();
    });
    return this;
  }

  destroySoon(): void {
    if (this.writable) this.end();
    if (this.writableFinished) this.destroy();
    else this.#destroyWhenFinished = true;
  }

  destroy(error?: Error | null): this {
    if (this.#destroyed) return this;
    // As with Node's own sockets, what was written before has left unless it was corked.
    const corked = this.corked > 0;
    if (corked) discard(this, this.corkedAt - this.sent - this.batchedBytes);
    flushSocket(this);
    // Before it is destroyed: afterwards nothing is set any more.
    if (this.timeout > 0) this.setTimeout(0);
    // Node versions that have `kWritableFinished` take a response for unfinished that an error has overtaken.
    const overtaken = error && kWritableFinished !== undefined;
    this.allLeft = !overtaken && !corked && !this.broken && this.queued === 0;
    this.isCutOff = !corked && !this.broken && this.queued > 0;
    this.#destroyed = true;
    if (error) {
      this._hadError = true;
      this._writableState.errored = error;
      this._readableState.errored = error;
    }
    // A client that is still sending gets what was written.
    if (error && this.failed && this.nativeId >= 0) native.stackEnd(this.nativeId);
    if (this.nativeId >= 0) this.close(false);
    process.nextTick(failCallbacks, this, error ?? null);
    closeLater(this);
    this.nativeServer.released();
    return this;
  }

  _destroy(error: Error | null, callback: Callback): void {
    this.destroy(error);
    callback(error);
  }

  /** Closes the connection; its handle may have another owner. */
  close(reset: boolean, keepHandle = false): void {
    this.#read = native.stackClose(this.nativeId, reset);
    this.nativeServer.forget(this);
    if (!keepHandle) this.nativeHandle?.close();
    this.nativeHandle = null;
  }

  resetAndDestroy(): this {
    if (this.nativeId >= 0) {
      flushSocket(this);
      this.close(true);
    }
    return this.destroy();
  }

  // Reading: the reactor's, not this object's.

  resume() {
    if (this.pausedReading) {
      this.pausedReading = false;
      if (this.nativeId >= 0) native.stackPause(this.nativeId, false);
      process.nextTick(emitResume, this);
    }
    return this;
  }
  pause() {
    if (!this.pausedReading) {
      this.pausedReading = true;
      if (this.nativeId >= 0) native.stackPause(this.nativeId, true);
      this.emit('pause');
    }
    return this;
  }
  isPaused() {
    return this.pausedReading;
  }
  read() {
    return null;
  }
  push(chunk: string | Uint8Array | null, encoding?: BufferEncoding) {
    if (chunk !== null) this.nativeServer.wantsBytes(this, Buffer.from(chunk as string, encoding));
    return true;
  }
  setEncoding(): never {
    throw Object.assign(
      new Error('Changing the socket encoding is not allowed per RFC7230 Section 3.'),
      { code: 'ERR_HTTP_SOCKET_ENCODING' },
    );
  }

  // Options.

  setNoDelay(on = true) {
    this.noDelay = Boolean(on);
    if (this.nativeId >= 0) native.stackSetNoDelay(this.nativeId, this.noDelay);
    return this;
  }
  setKeepAlive(
    enable: boolean | KeepAliveOptions = false,
    initialDelay = 0,
    interval?: number,
    count?: number,
  ) {
    let options: KeepAliveOptions = { enable: enable as boolean, initialDelay, interval, count };
    if (TAKES_OPTIONS && enable !== null && typeof enable === 'object') options = enable;
    const delayMs = seconds(options.initialDelay) * 1000;
    this.keepAlive = { on: Boolean(options.enable), delayMs };
    if (this.nativeId >= 0) setKeepAlive(this.nativeId, options);
    return this;
  }
  ref() {
    this.nativeServer.reference(this, true);
    return this;
  }
  unref() {
    this.nativeServer.reference(this, false);
    return this;
  }
  _onTimeout() {
    // A timer that was set before the connection became Node's goes on as Node's.
    if (!(this instanceof ServerSocket)) {
      (net.Socket.prototype as unknown as ServerSocket)._onTimeout.call(this);
    } else if (this.nativeServer.isInactive(this)) this.emitTimeout();
  }
  /** Emits 'timeout' after the time without activity. */
  emitTimeout(): void {
    if (this.isObserved) this.emit('timeout');
    else nodeTimeout(this);
  }

  /** A request, in the connection's own asynchronous context. */
  run(head: string, method: string, url: string, flags: number): void {
    this.requestsContext.runInAsyncScope(receive, undefined, this, head, method, url, flags);
  }

  /** The asynchronous context of what Node's parser tells. */
  get requestsContext(): HTTPServerAsyncResource {
    this.#requests ??= new HTTPServerAsyncResource(this);
    return this.#requests;
  }

  /** Runs `action` in the asynchronous context of the connection's requests, as Node's parser does with all it tells. */
  inContext<A extends unknown[]>(action: (...args: A) => void, ...args: A): void {
    this.#requests ??= new HTTPServerAsyncResource(this);
    this.#requests.runInAsyncScope(action, undefined, ...args);
  }

  /** Sets the asynchronous context of further requests to the present one. */
  enterContext(): void {
    endContext(this.#requests);
    this.#requests = new HTTPServerAsyncResource(this);
  }

  /** Ends the asynchronous contexts: the connection is closed, or Node's. */
  endContexts(): void {
    endContext(this.writeContext);
    endContext(this.#requests);
    endContext(this.nativeContext);
  }

  // The stream's own `on` starts reading; this socket has nothing to read.
  on(event: string | symbol, listener: (...args: unknown[]) => void): this {
    // Handed over, it is another's: Node's `on` for it stops its parser from reading past the listener.
    if (isOfBytes(event) && this.nativeServer.wantsBytes(this)) return this.on(event, listener);
    return EventEmitter.prototype.on.call(this, event, listener) as this;
  }
  prependListener(event: string | symbol, listener: (...args: unknown[]) => void): this {
    if (isOfBytes(event) && this.nativeServer.wantsBytes(this)) {
      return this.prependListener(event, listener);
    }
    return EventEmitter.prototype.prependListener.call(this, event, listener) as this;
  }
}

Object.setPrototypeOf(ServerSocket.prototype, net.Socket.prototype);
for (const name of ['removeListener', 'removeAllListeners', 'off'] as const) {
  Object.defineProperty(ServerSocket.prototype, name, {
    value: EventEmitter.prototype[name],
    writable: true,
    configurable: true,
  });
}
Object.defineProperty(ServerSocket.prototype, 'addListener', {
  value: ServerSocket.prototype.on,
  writable: true,
  configurable: true,
});

Object.defineProperty(ServerSocket.prototype, 'eventNames', {
  value: function eventNames(this: ServerSocket) {
    // Node's own would trust the count, which comes with the listeners.
    const events = this._events;
    return Reflect.ownKeys(events).filter((event) => events[event] !== undefined);
  },
  writable: true,
  configurable: true,
});

/** As it is named where applications look. */
Object.defineProperty(ServerSocket.prototype, 'constructor', {
  value: net.Socket,
  writable: true,
  configurable: true,
});

function isOfBytes(event: string | symbol): boolean {
  return event === 'data' || event === 'readable';
}

/** Calls back those who waited for bytes that do not leave any more; where the connection was cut off, when it is closed. */
function failCallbacks(socket: ServerSocket, error: Error | null): void {
  if (socket.allLeft) socket.nativeServer.concludeAll(socket);
  if (!socket.isCutOff) {
    const { callbacks } = socket;
    socket.callbacks = null;
    if (callbacks !== null) {
      const cause = error ?? destroyedError();
      for (const callback of callbacks) callback(cause);
    }
    if (FINISHES_WHEN_CUT_OFF) socket.nativeServer.conclude(socket);
  }
  if (error) socket.nativeServer.onSocketError(socket, error);
}

function endFlight(socket: ServerSocket): void {
  socket.isGatheringFlight = false;
}

function emitResume(socket: ServerSocket): void {
  socket.emit('resume');
}

function failWrite(socket: ServerSocket, result: number): void {
  socket.destroy(systemError('write', result));
}

function isUsual(chunk: unknown, encoding: unknown): boolean {
  // An empty one may be detached, which streams refuse.
  if (chunk instanceof Uint8Array) return chunk.length > 0;
  return typeof chunk === 'string' && (!encoding || Buffer.isEncoding(encoding as string));
}

/** Throws the error of Node's streams for a chunk that cannot be written. */
function validateWrite(chunk: unknown, encoding: unknown): void {
  new Writable({ write() {} }).write(chunk, encoding as BufferEncoding);
}
