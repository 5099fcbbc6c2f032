import { AsyncLocalStorage } from 'node:async_hooks';
import { constants } from 'node:os';
import { getDefaultHighWaterMark } from 'node:stream';
import { announce, announceDrop } from '../connection/announce.js';
import { atTurnEnd } from '../connection/handle/handle.js';
import { readNewConnection } from '../connection/handle/new-connection.js';
import { showResponse } from '../connection/http2-session.js';
import { freeParser } from '../connection/lent-parser.js';
import { NativeConnection } from '../connection/native-connection.js';
import type { NativeSocketClass } from '../connection/native-socket.js';
import { isWithinTimeout } from '../connection/progress.js';
import {
  hasRemovedDataListener,
  nodeError,
  nodeTimeout,
} from '../connection/replaced-listeners.js';
import { getPlainSockets, type SocketKind } from '../connection/socket-kinds.js';
import { becomeStream } from '../connection/stream-socket.js';
import { fallBackByBytes } from '../fallback/byte-handoff.js';
import { fallBackToNode, fallBackUnread } from '../fallback/node-handoff.js';
import { parseWithNode } from '../fallback/node-parser.js';
import { fallBackForRawData } from '../fallback/unparsed-bytes.js';
import {
  type HttpServer,
  internalKey,
  kNeedDrain,
  kWritableFinished,
  type Outgoing,
} from '../node/node-internals.js';
import { MAJOR } from '../node/node-version.js';
import { emitClose } from '../node/response-close.js';
import { systemError } from '../node/socket-errors.js';
import { endContext, guarded, NO_CONTEXT } from '../reactor/contexts.js';
import { reference } from '../reactor/loop-reference.js';
import { native } from '../reactor/native.js';
import { connections, servers } from '../reactor/registry.js';
import { eofError, requestTimeoutError } from '../request/error-responses.js';
import { abortIncoming, dropPending, onResponseSent, receive } from '../request/exchange.js';
import { MessageClasses } from '../request/message-classes.js';
import { failParsing } from '../request/parser-failure.js';
import { appendedBytes, flushAll } from '../sending/output-buffer.js';
import type * as state from '../state/connection.js';
import type { Connection } from '../state/connection.js';
import type { FallbackReason } from '../state/fallback-reason.js';
import { ServerConfiguration } from './configuration.js';
import { Counters } from './counters.js';
import { speaksHttp2 } from './http2.js';
import { Deadlines } from './response-timeouts.js';
import type { CountedHere } from './stats.js';
import { endLateResponse, Watchdogs } from './watchdogs.js';

const { EPIPE } = constants.errno;

/** The native side of one `http.Server`: a method for each event of its connections (documented where it is declared). */
export class NativeServer extends ServerConfiguration implements state.NativeServer {
  readonly stats: CountedHere = {
    connections: { native: 0, fallback: 0 },
    requests: { fallback: 0 },
    fallbackReasons: {},
    responseTimeouts: 0,
    overloaded: 0,
    tooSlow: 0,
    internalErrors: 0,
  };
  /** Counters of `server.stats()` that are kept in JavaScript. */
  requests = 0;
  inFlight = 0;
  readonly counters = new Counters(this);
  readonly deadlines = new Deadlines((response) => endLateResponse(this, response));
  readonly watchdogs = new Watchdogs(this);
  /** The prototype of sockets that are streams, and the class of those that are not. */
  readonly streamPrototype: object;
  readonly NativeSocket: NativeSocketClass;
  readonly nativeWrite: unknown;
  readonly isSecure: boolean = false;
  readonly receive: state.Receive = receive;
  isUnix = false;
  /** Connections whose timeout is that of their streams. */
  readonly #untimed = new WeakSet<Connection>();
  readonly connections = new Set<Connection>();
  readonly highWaterMark: number;
  readonly streamHighWaterMark: number;
  readonly messages: MessageClasses;
  readonly responseOptions: object;
  readonly uniqueHeaders: unknown;
  readonly optimizeEmpty: boolean;
  /** Calls in the asynchronous context in which the server began to listen, as Node does with a new connection. */
  protected inListenContext = AsyncLocalStorage.snapshot();

  constructor(server: HttpServer, sockets: SocketKind = getPlainSockets()) {
    super(server);
    this.streamPrototype = sockets.streamPrototype;
    this.NativeSocket = sockets.NativeSocket;
    this.nativeWrite = sockets.NativeSocket.prototype.write;
    this.highWaterMark = server.highWaterMark ?? getDefaultHighWaterMark(false);
    this.streamHighWaterMark = isWhole(server.highWaterMark)
      ? server.highWaterMark
      : getDefaultHighWaterMark(false);
    const own = (name: string) => {
      const key = internalKey(server, name);
      return key && server[key];
    };
    this.messages = new MessageClasses(
      own('IncomingMessage') as never,
      own('ServerResponse') as never,
    );
    this.optimizeEmpty = own('OptimizeEmptyRequestsOption') === true;
    this.uniqueHeaders = own('kUniqueHeaders') ?? null;
    this.responseOptions = {
      highWaterMark: this.highWaterMark,
      rejectNonStandardBodyWrites: server.rejectNonStandardBodyWrites,
    };
  }

  /** Begins to serve: the server listens. */
  start(): void {
    this.isUnix = listensToUnixSocket(this.server);
    if (this.id < 0) {
      this.addToReactor();
      servers[this.id] = this;
    }
    this.configure();
    this.inListenContext = AsyncLocalStorage.snapshot();
    // Properties that are set right after `listen` apply from the first connection on.
    process.nextTick(configure, this);
    atTurnEnd(() => configure(this));
    this.watchdogs.start();
  }

  override configure(): void {
    super.configure();
    this.deadlines.limit = this.limits.responseTimeout;
    this.watchdogs.followLimits();
  }

  /** Joins a shared port; `membership` is from `stackJoin`, `fd` is the listening connection. */
  share(membership: number, fd: number): void {
    native.stackShare(this.id, membership, fd);
    this.isShared = true;
    this.configure();
  }

  // A connection's life.

  protected create(id: number): Connection {
    const connection = this.isUnix
      ? NO_CONTEXT.runInAsyncScope(() => new NativeConnection(id, this))
      : new NativeConnection(id, this);
    connection.socket = new this.NativeSocket(connection);
    return connection;
  }

  open(id: number): Connection | null {
    const { server } = this;
    if (this.isOutdatedForConnections()) this.configure();
    if (server._connections >= this.maxConnections) {
      this.#drop(id);
      return null;
    }
    const connection = this.create(id);
    this.stats.connections.native++;
    connections[id] = connection;
    this.connections.add(connection);
    server._connections++;
    reference(1);
    return connection;
  }

  /** Rejects a connection; 'drop' reports it before it is closed. */
  #drop(id: number): void {
    try {
      this.inListenContext(announceDrop, this.server, native.stackAddresses(id));
    } finally {
      native.stackClose(id, false);
    }
  }

  openStream(id: number, session: Connection): Connection {
    const connection = this.createStream(id, session);
    // The connection of its session keeps the process alive, and counts.
    connection.isReferenced = connection.keepsAlive = false;
    connections[id] = connection;
    if (session.streams === null) {
      session.streams = new Set();
      showResponse(session);
    }
    session.streams.add(connection);
    if (this.server.timeout) this.startServerTimeout(connection);
    return connection;
  }

  protected createStream(id: number, session: Connection): Connection {
    const connection = new NativeConnection(id, this, session);
    connection.socket = new this.NativeSocket(connection);
    return connection;
  }

  connected(connection: Connection): void {
    const reason = this.findReasonForNode(connection);
    if (reason !== undefined) fallBackUnread(connection, reason);
    else if (this.server.timeout) this.startServerTimeout(connection);
    this.inListenContext(announce, this.server, connection.socket);
    readNewConnection(connection);
  }

  /** Why Node's own code serves a connection from its first byte on. */
  findReasonForNode(_connection: Connection): FallbackReason | undefined {
    return this.replacedListeners.isInstalled('connection') ? undefined : 'connection-listener';
  }

  /** Sets the timeout that the server has for its connections. */
  startServerTimeout({ socket, session }: Connection): void {
    const { timeout } = this.server;
    this.inListenContext(() => socket.setTimeout(timeout));
    // Of the session it is until there is a stream, which may get another timeout.
    if (session?.socket.timeout !== timeout) return;
    session.socket.setTimeout(0);
    this.#untimed.add(session);
  }

  inParser(connection: Connection, leaves: boolean, action: () => void): void {
    if (MAJOR < 24 && leaves) connection.transportContext.runInAsyncScope(action);
    else connection.inContext(action);
  }

  unregister(connection: Connection): void {
    if (connection.id < 0) return;
    connections[connection.id] = null;
    connection.id = -1;
    this.connections.delete(connection);
    if (connection.session) this.#leaveSession(connection, connection.session);
    if (connection.keepsAlive) reference(-1);
  }

  /**
   * Takes a stream from its session. Without a keep-alive time, the server's timeout is that of a connection without streams.
   */
  #leaveSession(stream: Connection, session: Connection): void {
    const { streams, socket } = session;
    session.sent += stream.bytesWritten;
    if (!streams?.delete(stream) || streams.size > 0 || session.id < 0) return;
    const { timeout, keepAliveTimeout } = this.server;
    if (!timeout || keepAliveTimeout || socket.timeout || !this.#untimed.delete(session)) return;
    this.startServerTimeout(session);
  }

  onConnectionEnd({ session }: Connection): void {
    if (session !== null) return;
    this.server._connections--;
    this.server._emitCloseIfDrained();
  }

  beforeClose(_connection: Connection): void {}

  onClose(connection: Connection): void {
    const { socket } = connection;
    this.beforeClose(connection);
    try {
      if (connection.isObserved) socket.emit('close', false);
      else {
        this.abort(connection);
        if (socket._httpMessage) emitClose(socket._httpMessage);
      }
    } finally {
      this.dropPending(connection);
    }
  }

  dropPending(connection: Connection): void {
    connection.fallbackParser?.close?.();
    connection.fallbackParser = null;
    dropPending(connection);
  }

  abort(connection: Connection): void {
    freeParser(connection);
    abortIncoming(connection);
  }

  detach(connection: Connection): void {
    flushAll();
    connection.close(false);
    connection.closeBelow();
    freeParser(connection);
    connection.socket._httpMessage?.detachSocket(connection.socket as never);
    this.dropPending(connection);
  }

  onBytesSent(connection: Connection): void {
    if (connection.destroyed || connection.queued + appendedBytes(connection) > 0) return;
    connection.bytesSinceDrain = 0;
    // Later writes have a context of their own.
    endContext(connection.writeContext);
    connection.writeContext = null;
    // In Node's order: listeners may write more, and a response that is still being written is not drained.
    const { needDrain } = connection;
    connection.needDrain = false;
    if (needDrain && !connection.endsSide && !connection.isStream) {
      if (connection.isObserved) connection.socket.emit('drain');
      else this.drain(connection);
    }
    this.onAllSent(connection);
  }

  onAllSent(connection: Connection): void {
    const { callbacks } = connection;
    if (callbacks !== null) {
      connection.callbacks = null;
      connection.partiallySentCallbacks = 0;
      for (const callback of callbacks) guarded(callback, null);
    }
    this.endResponse(connection);
  }

  endResponse(connection: Connection): void {
    const response = connection.responseAwaitingSend;
    if (response === null) return;
    connection.responseAwaitingSend = null;
    onResponseSent(connection, response);
  }

  endEarlyResponse(connection: Connection): void {
    if (connection.responseAwaitingSend && !connection.callbacks && connection.queued === 0)
      this.endResponse(connection);
  }

  drain(connection: Connection): void {
    const { socket } = connection;
    if (socket._paused && connection.outgoingData <= this.highWaterMark) {
      socket._paused = false;
      socket.resume();
    }
    const message = socket._httpMessage as (Outgoing & Record<symbol, unknown>) | null;
    if (message && !message.finished && message[kNeedDrain] && isDrained(message)) {
      message[kNeedDrain] = false;
      message.emit('drain');
    }
  }

  // Errors, timeouts and the end of connections.

  onLate(connection: Connection): void {
    if (native.stackIsHttp2(connection.id)) {
      // There is no request to answer.
      connection.socket.destroy();
      return;
    }
    if (connection.failed || connection.lateRequest === connection.requestIndex) return;
    connection.lateRequest = connection.requestIndex;
    nodeError(becomeStream(connection), requestTimeoutError());
  }

  onError(connection: Connection, error: Error): void {
    if (connection.failed) return;
    connection.failed = true;
    nodeError(becomeStream(connection), error);
  }

  onIdle(connection: Connection): void {
    // A response from the cache may have been sent since.
    if (this.caches && !native.stackIsIdle(connection.id)) return;
    // If a timeout is set, it includes the keep-alive time.
    if (connection.socket.timeout || isWithinTimeout(connection)) return;
    if (connection.isObserved) becomeStream(connection).emit('timeout');
    else nodeTimeout(connection.socket);
  }

  onEof(connection: Connection, middle: boolean): void {
    connection.endedWithin = connection.fallbackParser?.expectsMore ?? middle;
    if (connection.isObserved) {
      const socket = becomeStream(connection);
      // As Node's handle does it.
      socket.push(null);
      socket.read(0);
    } else {
      connection.readableEnded = true;
      this.onEnd(connection);
    }
  }

  onEnd(connection: Connection): void {
    if (!connection.failed && connection.endedWithin) {
      this.onError(connection, parseWithNode(this.server, null).error ?? eofError());
    } else if (!this.server.httpAllowHalfOpen || connection.streams !== null) {
      this.#endSide(connection);
    } else {
      const last = connection.outgoing.at(-1) ?? connection.socket._httpMessage;
      if (last) last._last = true;
      else this.#endSide(connection);
    }
  }

  #endSide(connection: Connection): void {
    if (connection.isObserved) {
      becomeStream(connection).end();
      return;
    }
    connection.end();
    if (connection.writableFinished) connection.destroy();
  }

  onReset(connection: Connection, errno: number): void {
    if (errno === 0) connection.socket.destroy();
    else {
      const error = systemError(errno === EPIPE ? 'write' : 'read', -errno);
      becomeStream(connection).destroy(error);
    }
  }

  /** Does nothing: plain HTTP has no handshake. */
  onTlsEvent(_connection: Connection, _kind: number, _details: Int32Array): void {}

  fallBack(
    connection: Connection,
    bytes: state.Bytes | null,
    reason: FallbackReason,
    injected?: Buffer,
  ): void {
    if (connection.session === null) fallBackToNode(this, connection, bytes, reason, injected);
    else fallBackByBytes(this, connection, bytes, reason, injected);
  }

  countFallback(reason: FallbackReason, connection?: Connection): void {
    if (!connection?.session) {
      this.stats.connections.fallback++;
      this.stats.connections.native--;
    }
    this.stats.fallbackReasons[reason] = (this.stats.fallbackReasons[reason] ?? 0) + 1;
  }

  /** Counts a connection that the reactor could not take: Node's own code serves it from the start. */
  countNotTaken(): void {
    this.stats.connections.native++;
    this.countFallback('out-of-descriptors');
  }

  stopParsing(connection: Connection, where: 'head' | 'rest'): void {
    failParsing(connection, where);
  }

  fallBackForRawData(connection: Connection, injected?: Buffer): boolean {
    // The bytes are the session's.
    if (connection.id >= 0 && native.stackIsHttp2(connection.id)) return false;
    if (injected === undefined && this.#mayBecomeHttp2(connection)) {
      connection.fallsBackAtRequest = true;
      return false;
    }
    return fallBackForRawData(connection, injected);
  }

  /** Whether the first bytes of a connection are still to say that it speaks HTTP/2. */
  #mayBecomeHttp2(connection: Connection): boolean {
    return (
      speaksHttp2(this.server) &&
      !this.isSecure &&
      connection.session === null &&
      connection.requestIndex === 0 &&
      !hasRemovedDataListener(connection)
    );
  }
}

/** Under which a server that listens natively, or has, keeps its native side: a wrapper of the server finds it, too. */
const kNativeServer = Symbol('millrace.nativeServer');

/** Returns the native side of a server. */
export function getNativeServer(server: object): NativeServer | undefined {
  return (server as { [kNativeServer]?: NativeServer })[kNativeServer];
}

/** Gives a server its native side. */
export function setNativeServer(server: object, nativeServer: NativeServer): void {
  Object.defineProperty(server, kNativeServer, { value: nativeServer, configurable: true });
}

/** Decides by the handle; in a worker of a cluster, whose handle may be a plain object, by the path. */
function listensToUnixSocket({ _handle, _pipeName }: HttpServer): boolean {
  const kind = _handle?.constructor.name;
  return kind === 'Pipe' || (kind !== 'TCP' && typeof _pipeName === 'string');
}

/** Whether a response is drained: in Node versions with `kWritableFinished` only once all its bytes are flushed. */
function isDrained(response: Outgoing): boolean {
  return kWritableFinished === undefined || response.writableLength === 0;
}

function configure(nativeServer: NativeServer): void {
  if (nativeServer.id >= 0) nativeServer.configure();
}

function isWhole(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 0;
}
