import { AsyncResource } from 'node:async_hooks';
import {
  kLastWriteQueueSize,
  kWritableFinished,
  type SocketEvents,
} from '../node/node-internals.js';
import { emit } from '../node/node-methods.js';
import { destroyedError, systemError } from '../node/socket-errors.js';
import {
  ConnectionContext,
  endContext,
  guarded,
  HTTPServerAsyncResource,
  WriteContext,
} from '../reactor/contexts.js';
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
import {
  type Addresses,
  Connection,
  type KeepAliveOptions,
  type NativeServer,
  type PeerAddress,
} from '../state/connection.js';
import type { Callback } from '../state/send-state.js';
import { endCutOff, FINISHES_WHEN_CUT_OFF } from './handle/cut-off-writes.js';
import { closeLater } from './handle/deferred-close.js';
import { setKeepAlive } from './keep-alive.js';
import { clearProgressTimer } from './progress.js';
import { createListeners } from './replaced-listeners.js';
import { becomeStream } from './stream-socket.js';

/** A connection, with what the stack does with one. */
export class NativeConnection extends Connection {
  idleContext: AsyncResource | null = null;
  readonly nativeContext: ConnectionContext;
  #requests: HTTPServerAsyncResource | null = null;
  #addresses: Addresses | null = null;
  #bytesRead = 0;
  /** As Node's, for responses that Node's own code writes. */
  #onPendingData: ((delta: number) => void) | null = null;

  constructor(id: number, nativeServer: NativeServer, session: Connection | null = null) {
    super(id, nativeServer, session);
    const of = session?.nativeContext as ConnectionContext | undefined;
    this.nativeContext = of ?? new ConnectionContext();
  }

  get transportContext(): ConnectionContext {
    return this.nativeContext;
  }

  get destroyed(): boolean {
    return this.isStream ? this.socket.destroyed : this.isNativeDestroyed;
  }

  get endsSide(): boolean {
    return this.isStream ? this.socket.writableEnded : this.writableEnded;
  }

  get isObserved(): boolean {
    return this.isStream || this.events !== null || this.socket.emit !== emit;
  }

  get isHandshaking(): boolean {
    return false;
  }

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

  get onPendingData(): (delta: number) => void {
    this.#onPendingData ??= (delta) => {
      this.outgoingData += delta;
      this.nativeServer.drain(this);
    };
    return this.#onPendingData;
  }

  // Contexts.

  get requestsContext(): HTTPServerAsyncResource {
    this.#requests ??= new HTTPServerAsyncResource(this.socket);
    return this.#requests;
  }

  inContext<A extends unknown[]>(action: (...args: A) => void, ...args: A): void {
    this.requestsContext.runInAsyncScope(action, undefined, ...args);
  }

  enterContext(): void {
    endContext(this.#requests);
    this.#requests = new HTTPServerAsyncResource(this.socket);
  }

  refreshTimer(): void {
    const { socket } = this;
    if (socket.timeout || socket._parent) socket._unrefTimer();
  }

  endContexts(): void {
    endContext(this.writeContext);
    endContext(this.#requests);
    endContext(this.idleContext);
    if (this.session === null) endContext(this.nativeContext);
  }

  // What the system knows of the connection.

  get bytesRead(): number {
    return this.id >= 0 ? native.stackBytesRead(this.id) : this.#bytesRead;
  }

  get remote(): PeerAddress {
    this.peer ??= this.openRemote;
    return this.peer;
  }
  get openRemote(): PeerAddress {
    return this.id >= 0 ? this.#ends().remote : undefined;
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
    if (this.id < 0) return;
    this.isReferenced = isReferenced;
    this.#updateReference();
  }

  /** As in libuv, bytes that wait to be sent keep the process alive. */
  #updateReference(): void {
    const keepsAlive = this.isReferenced || this.queued > 0;
    if (this.keepsAlive === keepsAlive) return;
    this.keepsAlive = keepsAlive;
    reference(keepsAlive ? 1 : -1);
  }

  setPaused(isPaused: boolean): void {
    this.isPaused = isPaused;
    if (this.id >= 0) native.stackPause(this.id, isPaused);
  }

  keepIdleContext(): void {
    endContext(this.idleContext);
    this.idleContext = new AsyncResource('Timeout');
  }

  keepContext(): void {
    this.writeContext ??= new WriteContext();
  }

  // Sending.

  /** A session has written what its streams have. */
  get bytesWritten(): number {
    let bytes = this.sent + this.batchedBytes + appendedBytes(this);
    if (this.streams !== null) for (const stream of this.streams) bytes += stream.bytesWritten;
    return bytes;
  }

  cork(): void {
    if (this.corked++ === 0) this.corkedAt = this.bytesWritten;
  }
  uncork(): void {
    if (this.corked === 0 || --this.corked > 0) return;
    if (!this.flushesAtTurnEnd) flushConnection(this);
    this.flushesAtTurnEnd = false;
  }

  recordWrite(bytes: number): boolean {
    this.bytesSinceDrain += bytes;
    if (this.bytesSinceDrain < this.nativeServer.highWaterMark) {
      if (this.nativeServer.isSecure) {
        // What is written behind it waits for it, and reports in its context.
        this.keepContext();
        notifySentLater(this);
      }
      return true;
    }
    this.needDrain = true;
    this.keepContext();
    notifySentLater(this);
    return false;
  }

  resetWritten(): void {
    if (!this.nativeServer.isSecure) this.bytesSinceDrain = 0;
  }

  countQueued(): void {
    if (this.batchedBytes > 0) flushBatch();
    if (this.id < 0) return;
    this.queued = native.stackQueued(this.id);
    if (!this.isReferenced) this.#updateReference();
  }

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

  onBatchSent(result: number, count: number): void {
    this.batchedBytes -= count;
    this.onSent(result, count);
    if (this.batchedBytes + this.queued + appendedBytes(this) === 0) this.resetWritten();
  }

  onSent(result: number, count: number): void {
    this.sent += count;
    if (result >= 0) {
      if (result > 0 && this.queued === 0 && !this.isForgotten) {
        this.collectsPartialWrite = true;
        this.keepContext();
        process.nextTick(endPartialWrite, this);
      }
      // What waits of a forgotten stream is the reactor's alone, as what a system's buffer holds is the system's.
      this.queued = this.isForgotten ? 0 : result;
      if (result > 0) this.socket[kLastWriteQueueSize] = count;
      if (!this.isReferenced && this.id >= 0) this.#updateReference();
    } else {
      this.broken = true;
      this.sendError = result;
      // A stream's own write reports it.
      if (!this.isStream && !this.destroyed) process.nextTick(guarded, failWrite, this, result);
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
    if (FINISHES_WHEN_CUT_OFF) this.nativeServer.endResponse(this);
  }

  // The end of a connection without listeners; all others end by Node's own code.

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
    if (this.isForgotten) {
      this.#leave();
      return;
    }
    this.end();
    if (this.writableFinished) this.destroy();
    else this.destroysWhenFinished = true;
  }

  destroy(): void {
    if (this.isNativeDestroyed) return;
    // Everything that was written before is sent, unless it was corked.
    const corked = this.corked > 0;
    if (corked) discard(this, this.corkedAt - this.sent - this.batchedBytes);
    this.#flushAtEnd(corked);
    // Before it is destroyed: afterwards nothing is set any more.
    if (this.socket.timeout) this.socket.setTimeout(0);
    this.isNativeDestroyed = true;
    if (this.id >= 0) this.close(false);
    process.nextTick(guarded, concludeDestroyed, this, null);
    // The end of a stream comes before that of its connection, which may follow in this turn.
    if (this.session === null) closeLater(this);
    else process.nextTick(guarded, concludeClosed, this);
    this.closeBelow();
    this.nativeServer.onConnectionEnd(this);
  }

  /** Ends a stream that the reactor closes by itself. */
  #leave(): void {
    if (this.isNativeDestroyed) return;
    if (this.socket.timeout) this.socket.setTimeout(0);
    this.writableEnded = this.writableFinished = this.isNativeDestroyed = this.wasFlushed = true;
    clearProgressTimer(this.socket);
    this.nativeServer.unregister(this);
    process.nextTick(guarded, concludeForgotten, this);
  }

  closeStream(reset: boolean, error: Error | null): void {
    // Node versions that have `kWritableFinished` take a response for unfinished that an error has overtaken.
    this.#flushAtEnd(error !== null && kWritableFinished !== undefined);
    this.close(reset);
    process.nextTick(guarded, concludeDestroyed, this, error);
  }

  /** Sends what was written; `isUnfinished`: what waits with it is not over, though nothing waits in the reactor. */
  #flushAtEnd(isUnfinished: boolean): void {
    flushConnection(this);
    this.wasFlushed = !isUnfinished && !this.broken && this.queued === 0;
    this.isCutOff = !(isUnfinished && this.corked > 0) && !this.broken && this.queued > 0;
  }

  close(reset: boolean): void {
    this.#bytesRead = native.stackClose(this.id, reset);
    const { streams } = this;
    this.streams = null;
    if (streams !== null) for (const { socket } of streams) socket.destroy();
    clearProgressTimer(this.socket);
    this.nativeServer.unregister(this);
  }

  closeBelow(): void {}
}

function concludeDestroyed(connection: NativeConnection, error: Error | null): void {
  if (connection.wasFlushed) connection.nativeServer.onAllSent(connection);
  if (!connection.isCutOff) connection.failCallbacks(error);
}

function concludeClosed(connection: NativeConnection): void {
  if (connection.isCutOff) endCutOff(connection, null);
  connection.isCloseEmitted = true;
  connection.nativeServer.onClose(connection);
  connection.endContexts();
}

function concludeForgotten(connection: NativeConnection): void {
  connection.nativeServer.onAllSent(connection);
  connection.isCloseEmitted = true;
  connection.nativeServer.onClose(connection);
  connection.endContexts();
}

function endPartialWrite(connection: Connection): void {
  connection.collectsPartialWrite = false;
}

function failWrite(connection: Connection, result: number): void {
  if (connection.http2 !== null) connection.nativeServer.onReset(connection, -result);
  else becomeStream(connection).destroy(systemError('write', result));
}
