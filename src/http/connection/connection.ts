import {
  type HttpSocket,
  type Incoming,
  kLastWriteQueueSize,
  kWritableFinished,
  type Listener,
  type Outgoing,
  type SocketEvents,
} from '../node/node-internals.js';
import { emit } from '../node/node-methods.js';
import { destroyedError, systemError } from '../node/socket-errors.js';
import { ConnectionContext, endContext, HTTPServerAsyncResource } from '../reactor/contexts.js';
import { reference } from '../reactor/loop-reference.js';
import { native } from '../reactor/native.js';
import {
  appendedBytes,
  discard,
  flushConnection,
  notifySentLater,
  reportSoon,
} from '../sending/output-buffer.js';
import { flushBatch } from '../sending/write-batch.js';
import type { NativeServer } from '../server/native-server.js';
import { NONE } from '../state/none.js';
import { type Callback, SendState } from '../state/send-state.js';
import { FINISHES_WHEN_CUT_OFF } from './cut-off-writes.js';
import { closeLater } from './deferred-close.js';
import { type KeepAliveOptions, setKeepAlive } from './keep-alive.js';
import { clearProgressTimer } from './progress.js';
import { createListeners } from './replaced-listeners.js';
import { becomeStream, type ListenerMethod } from './stream-socket.js';

/** Parses the rest of a connection in place of the reactor. */
export interface FallbackParser {
  /** The end of the stream is an error. */
  readonly expectsMore: boolean;
  /** Returns how many of these bytes belong to the body if it ends within them. */
  take(bytes: Buffer, packet: Buffer): number | null;
  close?(): void;
}

export type PeerAddress = ReturnType<typeof native.stackAddresses>['remote'];
type Addresses = ReturnType<typeof native.stackAddresses>;

/**
 * A connection that the reactor owns: what the stack knows of it. Applications have its `socket`, which finds it under
 * `kConnection`.
 */
export class Connection extends SendState {
  /** Number in the reactor; -1 after the end. */
  id: number;
  readonly nativeServer: NativeServer;
  /** A `NativeSocket`, until something else than its members is used: then the same object is a `net.Socket` of Node's own. */
  socket!: HttpSocket;
  isStream = false;
  /** The listeners of a native socket, once the application may have read them; until then Node's own are assumed. */
  events: SocketEvents | null = null;
  eventsCount = 0;
  /** The replacements of Node's own listeners among them. */
  replacedListeners: Record<string, Listener> | null = null;
  /** Whether Node's own code has the connection, and its listeners, by event. */
  isFallback = false;
  nodeListeners: Record<string, Listener> | null = null;
  /** The methods by which that code lets listeners be added. */
  nodeListenerMethods: Record<string, ListenerMethod> | null = null;
  /** Options that the application has set on a native socket; otherwise they are the server's. */
  noDelay: boolean | null = null;
  keepAlive: KeepAliveOptions | null = null;
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
  /** As Node's, for responses that Node's own code writes. */
  #onPendingData: ((delta: number) => void) | null = null;
  /** Whether the last response has been sent: what comes behind its request is no request. */
  isLastSent = false;
  /** Reads the rest of the connection in place of the reactor. */
  fallbackParser: FallbackParser | null = null;
  /** Whether bytes go to the socket as they come: Node's own code parses them. */
  isRaw = false;
  /** Whether the socket's timeout is the keep-alive time. */
  isKeepAliveTimeout = false;
  /** Whether the peer's side has ended within a message. */
  endedWithin = false;
  /** Handles an unusual request when the responses before it have been sent. */
  afterResponses: (() => void) | null = null;
  /** Whether the application, or a full request, has stopped the reading. */
  isPaused = false;
  /** Whether the peer's side has ended. */
  readableEnded = false;
  /** Our side of a native socket: `end()` was called, and it has taken effect. */
  writableEnded = false;
  writableFinished = false;
  destroysWhenFinished = false;
  /** Whether a native socket was destroyed; a stream keeps it itself. */
  isNativeDestroyed = false;
  isCloseEmitted = false;
  /** Whether the server has handled an error. */
  failed = false;
  isReferenced = true;
  readonly nativeContext = new ConnectionContext();
  #requests: HTTPServerAsyncResource | null = null;
  #addresses: Addresses | null = null;
  /** Address of the peer, if it was read before the end of the connection. */
  peer: PeerAddress = undefined;
  #bytesRead = 0;
  /** Stands for the bytes that waited to be sent when the socket became a stream. */
  backlog: Buffer | null = null;

  constructor(id: number, nativeServer: NativeServer) {
    super();
    this.id = id;
    this.nativeServer = nativeServer;
  }

  get destroyed(): boolean {
    return this.isStream ? this.socket.destroyed : this.isNativeDestroyed;
  }

  /** Whether our side ends behind what was written. */
  get endsSide(): boolean {
    return this.isStream ? this.socket.writableEnded : this.writableEnded;
  }

  /** Whether the application may have listeners on the socket, or has replaced its `emit`. */
  get isObserved(): boolean {
    return this.isStream || this.events !== null || this.socket.emit !== emit;
  }

  /** Whether a TLS handshake is in progress. */
  get isHandshaking(): boolean {
    return false;
  }

  /** Whether responses may go past the socket's stream: it has none yet, and our side is open. */
  get canBypassStream(): boolean {
    return !this.isStream && !this.isNativeDestroyed && !this.writableEnded;
  }

  getEvents(): SocketEvents {
    this.events ??= this.createListeners();
    return this.events;
  }
  /** Listeners that exist without the application. */
  protected createListeners(): SocketEvents {
    return createListeners(this);
  }

  /** What a response calls when bytes of it begin to wait for the socket, or no longer do. */
  get onPendingData(): (delta: number) => void {
    this.#onPendingData ??= (delta) => {
      this.outgoingData += delta;
      this.nativeServer.drain(this);
    };
    return this.#onPendingData;
  }

  // Contexts.

  /** The asynchronous context of what Node's parser reports. */
  get requestsContext(): HTTPServerAsyncResource {
    this.#requests ??= new HTTPServerAsyncResource(this.socket);
    return this.#requests;
  }

  /** Runs `action` in the asynchronous context of the connection's requests, as Node's parser does with all it reports. */
  inContext<A extends unknown[]>(action: (...args: A) => void, ...args: A): void {
    this.requestsContext.runInAsyncScope(action, undefined, ...args);
  }

  /** Sets the asynchronous context of further requests to the present one. */
  enterContext(): void {
    endContext(this.#requests);
    this.#requests = new HTTPServerAsyncResource(this.socket);
  }

  /** Puts the timers of the socket, and of the one below TLS, off: bytes have come or left. */
  refreshTimer(): void {
    const { socket } = this;
    if (socket.timeout || socket._parent) socket._unrefTimer();
  }

  /** Ends the asynchronous contexts: the connection is closed, or Node's. */
  endContexts(): void {
    endContext(this.writeContext);
    endContext(this.#requests);
    endContext(this.nativeContext);
  }

  // What the system knows of the connection.

  get bytesRead(): number {
    return this.id >= 0 ? native.stackBytesRead(this.id) : this.#bytesRead;
  }

  /** As in Node, a socket that is gone has its peer's address if it was asked for before, and none of its own. */
  get remote(): PeerAddress {
    if (this.id >= 0) this.peer ??= this.#ends().remote;
    return this.peer;
  }
  get local(): Addresses['local'] {
    return this.id >= 0 ? this.#ends().local : undefined;
  }
  #ends(): Addresses {
    this.#addresses ??= native.stackAddresses(this.id);
    return this.#addresses;
  }

  setNoDelay(on: boolean): void {
    if (this.id >= 0) native.stackSetNoDelay(this.id, on);
  }
  setKeepAlive(options: KeepAliveOptions): void {
    if (this.id >= 0) setKeepAlive(this.id, options);
  }

  setReferenced(isReferenced: boolean): void {
    if (this.id < 0 || this.isReferenced === isReferenced) return;
    this.isReferenced = isReferenced;
    reference(isReferenced ? 1 : -1);
  }

  setPaused(isPaused: boolean): void {
    this.isPaused = isPaused;
    if (this.id >= 0) native.stackPause(this.id, isPaused);
  }

  // Sending.

  get bytesWritten(): number {
    return this.sent + this.batchedBytes + appendedBytes(this);
  }

  cork(): void {
    if (this.corked++ === 0) this.corkedAt = this.bytesWritten;
  }
  uncork(): void {
    if (this.corked === 0 || --this.corked > 0) return;
    if (!this.flushesAtTurnEnd) flushConnection(this);
    this.flushesAtTurnEnd = false;
  }

  /** Counts what was written in this turn, as a stream does, even if it has been sent by now; `false`: wait for 'drain'. */
  recordWrite(bytes: number): boolean {
    this.bytesSinceDrain += bytes;
    if (this.bytesSinceDrain < this.nativeServer.highWaterMark) return true;
    this.needDrain = true;
    this.keepContext();
    notifySentLater(this);
    return false;
  }

  /** Reads the number of waiting bytes from the reactor, including responses from the cache. */
  countQueued(): void {
    if (this.batchedBytes > 0) flushBatch();
    if (this.id >= 0) this.queued = native.stackQueued(this.id);
  }

  /** Calls back when all bytes written so far have been sent. */
  afterWrite(callback: Callback): void {
    if (this.callbacks === null) this.callbacks = [callback];
    else this.callbacks.push(callback);
    if (this.queued === 0 || this.collectsPartialWrite) {
      this.partiallySentCallbacks = this.callbacks.length;
    }
    if (this.batchedBytes > 0) flushBatch();
    notifySentLater(this);
    reportSoon(this);
  }

  /** Handles the reactor's result for an entry of the batch. */
  onBatchSent(result: number, count: number): void {
    this.batchedBytes -= count;
    this.onSent(result, count);
    if (this.batchedBytes + this.queued + appendedBytes(this) === 0) this.bytesSinceDrain = 0;
  }

  /** Handles the reactor's result of a send: the number of waiting bytes, or a negative error number. */
  onSent(result: number, count: number): void {
    this.sent += count;
    if (result >= 0) {
      if (result > 0 && this.queued === 0) {
        this.collectsPartialWrite = true;
        this.keepContext();
        process.nextTick(endPartialWrite, this);
      }
      this.queued = result;
      if (result > 0) this.socket[kLastWriteQueueSize] = result;
    } else {
      this.broken = true;
      this.sendError = result;
      // A stream's own write reports it.
      if (!this.isStream && !this.destroyed) process.nextTick(failWrite, this, result);
    }
    this.refreshTimer();
  }

  /** Calls back those who waited for bytes that are not sent any more. */
  failCallbacks(error: Error | null): void {
    const { callbacks } = this;
    this.callbacks = null;
    if (callbacks !== null) {
      const cause = error ?? destroyedError();
      for (const callback of callbacks) callback(cause);
    }
    if (FINISHES_WHEN_CUT_OFF) this.nativeServer.conclude(this);
  }

  // The end of a connection that nobody observes; that of all others is Node's own code.

  /** Ends our side after the bytes that were written. */
  end(): void {
    if (this.writableEnded || this.isNativeDestroyed) return;
    this.corked = 0;
    this.writableEnded = true;
    if (this.nativeServer.caches) this.countQueued();
    this.afterWrite((error) => {
      // A socket that has become a stream ends itself.
      if (error || this.isStream || this.isNativeDestroyed) return;
      this.writableFinished = true;
      native.stackEnd(this.id);
      if (this.readableEnded || this.destroysWhenFinished) this.destroy();
    });
  }

  destroySoon(): void {
    this.end();
    if (this.writableFinished) this.destroy();
    else this.destroysWhenFinished = true;
  }

  destroy(): void {
    if (this.isNativeDestroyed) return;
    // What was written before has left unless it was corked.
    const corked = this.corked > 0;
    if (corked) discard(this, this.corkedAt - this.sent - this.batchedBytes);
    this.#flushAtEnd(corked);
    // Before it is destroyed: afterwards nothing is set any more.
    if (this.socket.timeout) this.socket.setTimeout(0);
    this.isNativeDestroyed = true;
    if (this.id >= 0) this.close(false);
    process.nextTick(concludeDestroyed, this, null);
    closeLater(this);
    this.nativeServer.released();
  }

  /** Closes the connection of a stream that is destroyed. */
  closeStream(reset: boolean, error: Error | null): void {
    // Node versions that have `kWritableFinished` take a response for unfinished that an error has overtaken.
    this.#flushAtEnd(error !== null && kWritableFinished !== undefined);
    this.close(reset);
    process.nextTick(concludeDestroyed, this, error);
  }

  /** Sends what was written; `isUnfinished`: what waits with it is not over, though nothing waits in the reactor. */
  #flushAtEnd(isUnfinished: boolean): void {
    flushConnection(this);
    this.wasFlushed = !isUnfinished && !this.broken && this.queued === 0;
    this.isCutOff = !(isUnfinished && this.corked > 0) && !this.broken && this.queued > 0;
  }

  /** Closes the connection in the reactor. */
  close(reset: boolean): void {
    this.#bytesRead = native.stackClose(this.id, reset);
    clearProgressTimer(this.socket);
    this.nativeServer.forget(this);
  }
}

function concludeDestroyed(connection: Connection, error: Error | null): void {
  if (connection.wasFlushed) connection.nativeServer.concludeAll(connection);
  if (!connection.isCutOff) connection.failCallbacks(error);
}

function endPartialWrite(connection: Connection): void {
  connection.collectsPartialWrite = false;
}

function failWrite(connection: Connection, result: number): void {
  becomeStream(connection).destroy(systemError('write', result));
}
