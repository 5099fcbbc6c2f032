import { AsyncLocalStorage } from 'node:async_hooks';
import type http from 'node:http';
import { constants } from 'node:os';
import { getDefaultHighWaterMark } from 'node:stream';
import timers from 'node:timers';
import { offerControl } from '../cache/control.js';
import { getCacheOptions, ServerCache, toNativeOptions } from '../cache/server-cache.js';
import { announce, announceDrop } from '../connection/announce.js';
import { Connection } from '../connection/connection.js';
import type { Handle } from '../connection/handle.js';
import { endsUnused } from '../connection/idle-connections.js';
import type { NativeSocketClass } from '../connection/native-socket.js';
import { readNewConnection } from '../connection/new-connection.js';
import { isWithinTimeout } from '../connection/progress.js';
import { systemError } from '../connection/socket-errors.js';
import { getPlainSockets, type SocketKind } from '../connection/socket-kinds.js';
import { becomeStream } from '../connection/stream-socket.js';
import { type Bytes, fallBackToNode, fallBackUnread, UPGRADE } from '../fallback/node-handoff.js';
import { hasRemovedDataListener, nodeError, nodeTimeout } from '../fallback/node-listeners.js';
import { NodeParserBody, parseWithNode } from '../fallback/node-parser.js';
import { nodeHttp } from '../install/node-http.js';
import type { Outgoing, ServerInternals } from '../install/node-internals.js';
import {
  internalKey,
  kConnection,
  kNeedDrain,
  kWritableFinished,
} from '../install/node-internals.js';
import { MAJOR } from '../node-version.js';
import { takeAccepted } from '../reactor/event-batch.js';
import { REASON_BODY, REASON_CLOSED, REASON_UPGRADE } from '../reactor/events.js';
import { setHelperThreadUse } from '../reactor/helper-thread.js';
import { reference } from '../reactor/loop-reference.js';
import { native } from '../reactor/native.js';
import { endContext, guarded } from '../request/contexts.js';
import { eofError, errorResponse, requestTimeoutError } from '../request/error-responses.js';
import { abandon, abortIncoming, emitClose, finish } from '../request/exchange.js';
import { MessageClasses } from '../request/message-classes.js';
import { appendedBytes, appendText, flushAll, flushConnection } from '../response/output-buffer.js';
import { getLimits, type StackLimits } from './limits.js';
import { Deadlines } from './response-timeouts.js';
import type { CountedHere, StackStats } from './stats.js';

/** Node's functions, kept in case the application replaces the global ones. */
const { setImmediate, setInterval, clearInterval } = timers;

/** Maximum number of fields of a head that is handled natively, unless the server's `maxHeadersCount` is lower. */
const MAX_FIELDS = 1000;
const KEEP_ALIVE_BUFFER = 1000;
const { EPIPE } = constants.errno;
/** Milliseconds between two checks of the connections' rates. */
const RATE_INTERVAL = 1000;

export type HttpServer = http.Server & ServerInternals;
type NativeSettings = Parameters<typeof native.stackAddServer>[0];

/** The native side of one `http.Server`. The file is long, as it has a method for each event of its connections. */
export class NativeServer {
  readonly server: HttpServer;
  /** Number of the server in the reactor; -1 before it listens and after it is closed. */
  id = -1;
  readonly stats: CountedHere = {
    connections: { native: 0, fallback: 0 },
    requests: { fallback: 0 },
    fallbackReasons: {},
    responseTimeouts: 0,
    overloaded: 0,
    tooSlow: 0,
    internalErrors: 0,
  };
  readonly deadlines = new Deadlines((response) => this.#late(response));
  /** Counters of `server.stats()` that are kept in JavaScript. */
  requests = 0;
  inFlight = 0;
  /** Properties of the server at the last `configure()`. */
  #keepAliveTimeout: unknown;
  #maxHeadersCount: unknown;
  #maxHeaderSize: unknown;
  #maxConnections: unknown;
  limits: Readonly<StackLimits>;
  /** The prototype of sockets that are streams, and the class of those that are not. */
  readonly streamPrototype: object;
  readonly NativeSocket: NativeSocketClass;
  /** The `write` of native sockets, unless the application has replaced it. */
  readonly nativeWrite: unknown;
  readonly isSecure: boolean = false;
  /** Whether the server listens to a Unix socket. */
  isUnix = false;
  /** Whether there is an output cache whose responses have `Cache-Status`. */
  caches = false;
  reportsCacheStatus = false;
  readonly cache = new ServerCache(() => this.id);
  readonly connections = new Set<Connection>();
  readonly highWaterMark: number;
  /** The same if a stream takes it. */
  readonly streamHighWaterMark: number;
  readonly messages: MessageClasses;
  readonly responseOptions: object;
  readonly uniqueHeaders: unknown;
  /** Requests without a body are no streams (option `optimizeEmptyRequests`, Node 24). */
  readonly optimizeEmpty: boolean;
  #settings = '';
  #configuredAdmission = false;
  /** Counters of the server's earlier numbers in the reactor. */
  #cached = 0;
  #counted = { lost: 0, moved: 0, relayed: 0, unowned: 0, refused: 0, timedOut: 0 };
  /** Whether the server shares its port, and so owns a part of the requests only. */
  isShared = false;
  #checking: NodeJS.Timeout | null = null;
  #rating: NodeJS.Timeout | null = null;
  /** Calls in the asynchronous context in which the server began to listen, as Node does with a new connection. */
  protected inListenContext = AsyncLocalStorage.snapshot();

  constructor(server: HttpServer, sockets: SocketKind = getPlainSockets()) {
    this.server = server;
    this.streamPrototype = sockets.streamPrototype;
    this.NativeSocket = sockets.NativeSocket;
    this.nativeWrite = sockets.NativeSocket.prototype.write;
    this.limits = getLimits(server);
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
      this.id = native.stackAddServer(this.settings());
      servers[this.id] = this;
    }
    this.configure();
    this.inListenContext = AsyncLocalStorage.snapshot();
    // Properties that are set right after `listen` apply from the first connection on.
    process.nextTick(configure, this);
    setImmediate(configure, this);
    this.#watch();
  }

  /** Whether a property that requests depend on has changed since the last `configure()`. */
  isOutdated(): boolean {
    const { server } = this;
    return (
      server.keepAliveTimeout !== this.#keepAliveTimeout ||
      server.maxHeadersCount !== this.#maxHeadersCount ||
      server.maxHeaderSize !== this.#maxHeaderSize
    );
  }

  /** Ends the native side: the server is closed and has no connection. It may listen again. */
  retire(): void {
    this.unwatch();
    if (this.id < 0) return;
    servers[this.id] = null;
    this.#cached = this.#hits();
    this.#counted = this.#countedNatively();
    this.isShared = false;
    setHelperThreadUse(this, false);
    offerControl(this, false);
    native.stackRemoveServer(this.id);
    this.id = -1;
    this.#settings = '';
  }

  /** Builds the settings for the reactor. */
  protected settings(): NativeSettings {
    const { server } = this;
    return {
      maxHeaderSize: server.maxHeaderSize || nodeHttp.maxHeaderSize,
      maxFields: Math.min(MAX_FIELDS, positive(server.maxHeadersCount) || MAX_FIELDS),
      maxPipelined: Math.min(this.limits.maxPipelinedRequests, 0xffff_ffff),
      keepAliveMs: this.keepAliveMs,
      noDelay: server.noDelay !== false,
      // Node keeps it in seconds.
      ...(server.keepAlive && { tcpKeepAliveMs: (server.keepAliveInitialDelay || 0) * 1000 }),
      ...(positive(server.keepAliveTimeout) && {
        keepAliveSeconds: Math.floor(server.keepAliveTimeout / 1000),
      }),
      countsRequests: positive(server.maxRequestsPerSocket) > 0,
      requiresAdmission: this.requiresAdmission,
      maxInFlight: Math.min(this.limits.maxRequestsInFlight, 0xffff_ffff),
      ...(this.maxConnections <= 0xffff_ffff && {
        maxConnections: Math.max(0, Math.ceil(this.maxConnections)),
      }),
      responseMs: this.limits.responseTimeout,
      responseStatus: this.limits.responseTimeoutStatus,
      ...toNativeOptions(getCacheOptions(server)),
    };
  }

  /** Time limit until a connection's next request in milliseconds; 0: no limit. */
  get keepAliveMs(): number {
    const { keepAliveTimeout, keepAliveTimeoutBuffer } = this.server;
    const timeout = positive(keepAliveTimeout);
    const buffer = Number(keepAliveTimeoutBuffer);
    const counts = KNOWS_BUFFER && Number.isFinite(keepAliveTimeoutBuffer) && buffer >= 0;
    return timeout && timeout + (counts ? buffer : KEEP_ALIVE_BUFFER);
  }

  /** Node's own listener and its replacement, by event. */
  readonly #standIns = new Map<string, [unknown, unknown]>();

  /** Replaces Node's own listener, unless the application has removed it. */
  standFor(event: string, nodes: unknown, standIn: unknown): void {
    this.#standIns.set(event, [nodes, standIn]);
    const { _events } = this.server;
    const listening = _events[event];
    // In the array itself, in which newer versions keep whether it is being called.
    if (listening === nodes) _events[event] = standIn;
    else if (Array.isArray(listening) && listening.includes(nodes)) {
      listening[listening.indexOf(nodes)] = standIn;
    }
  }

  /**
   * Whether the replacement of Node's own listener is installed; the application may have removed it, to call it itself
   * or never.
   */
  protected stands(event: string): boolean {
    const [nodes, standIn] = this.#standIns.get(event) ?? [];
    const listening = this.server._events[event];
    if (listening === standIn) return true;
    const all = [listening].flat();
    // The application has added Node's own listener again.
    if (all.includes(nodes)) this.standFor(event, nodes, standIn);
    return all.includes(standIn) || all.includes(nodes);
  }

  /** Whether the application sees connections before anything is answered on them. */
  protected get requiresAdmission(): boolean {
    const { server } = this;
    if (!this.stands('connection')) return true;
    return server.maxConnections != null || server.listenerCount('connection') > 1;
  }

  /** Passes the current properties of the server to the reactor. */
  configure(): void {
    this.limits = getLimits(this.server);
    this.deadlines.limit = this.limits.responseTimeout;
    this.#keepAliveTimeout = this.server.keepAliveTimeout;
    this.#maxHeadersCount = this.server.maxHeadersCount;
    this.#maxHeaderSize = this.server.maxHeaderSize;
    this.#maxConnections = this.server.maxConnections;
    const cache = getCacheOptions(this.server);
    this.caches = cache !== null;
    this.reportsCacheStatus = cache?.status === true;
    this.#configuredAdmission = this.requiresAdmission;
    this.#watchRates();
    if (this.id < 0) return;
    const { responseTimeout, maxRequestsInFlight } = this.limits;
    const before = this.isWatched;
    this.isWatched = this.caches || responseTimeout > 0 || maxRequestsInFlight > 0;
    if (this.isWatched && !before) flushAll();
    setHelperThreadUse(this, this.isWatched || this.isShared);
    offerControl(this, this.caches);
    const settings = this.settings();
    const text = JSON.stringify(settings);
    if (text === this.#settings) return;
    this.#settings = text;
    native.stackConfigure(this.id, settings);
  }

  /**
   * Whether responses are sent at once, not appendedBytes: the helper thread decides by what was sent whether a response is
   * late, a request is one too many or a cache entry is complete. Also true where `whileBusy` turns that thread off.
   */
  isWatched = false;

  /** Starts the checks for requests that take too long to arrive, as Node does. */
  #watch(): void {
    this.unwatch();
    this.#checking = setInterval(
      () => this.#check(),
      this.server.connectionsCheckingInterval,
    ).unref();
    this.#watchRates();
  }

  unwatch(): void {
    if (this.#checking) clearInterval(this.#checking);
    this.#checking = null;
    this.#watchRates();
  }

  /** Starts or stops the checks of rates: nothing wakes the event loop for a rate that is not limited. */
  #watchRates(): void {
    const { minReceiveRate, minSendRate } = this.limits;
    const isNeeded = this.#checking !== null && (minReceiveRate > 0 || minSendRate > 0);
    if (isNeeded === (this.#rating !== null)) return;
    if (this.#rating) clearInterval(this.#rating);
    this.#rating = isNeeded ? setInterval(() => this.#rate(), RATE_INTERVAL).unref() : null;
  }

  /** Computes the result of `server.stats()`. */
  count(): StackStats {
    const { stats } = this;
    const { lost, moved, relayed, unowned, refused, timedOut } = this.#countedNatively();
    return {
      ...stats,
      responseTimeouts: stats.responseTimeouts + timedOut,
      overloaded: stats.overloaded + refused,
      connections: { open: this.connections.size, ...stats.connections, lost, moved, relayed },
      requests: {
        inFlight: this.inFlight,
        native: this.requests,
        cached: this.#hits(),
        ...stats.requests,
        unowned,
      },
      fallbackReasons: { ...stats.fallbackReasons },
    };
  }

  /** Number of requests answered from the cache since the server first listened. */
  #hits(): number {
    return this.#cached + (this.caches ? (this.cache.stats()?.hits ?? 0) : 0);
  }

  /** Counters of the reactor since the server first listened. */
  #countedNatively(): ReturnType<typeof native.stackCounts> {
    const { lost, moved, relayed, unowned, refused, timedOut } = this.#counted;
    if (this.id < 0) return this.#counted;
    const now = native.stackCounts(this.id);
    return {
      lost: lost + now.lost,
      moved: moved + now.moved,
      relayed: relayed + now.relayed,
      unowned: unowned + now.unowned,
      refused: refused + now.refused,
      timedOut: timedOut + now.timedOut,
    };
  }

  /** Joins a shared port; `membership` is from `stackJoin`, `fd` is the listening connection. */
  share(membership: number, fd: number): void {
    native.stackShare(this.id, membership, fd);
    this.isShared = true;
    this.configure();
  }

  /** Leaves the shared port: other processes may take its prefix; requests in progress are completed. */
  unshare(): void {
    if (this.isShared) native.stackUnshare(this.id);
  }

  #rate(): void {
    const { minReceiveRate, minSendRate } = this.limits;
    const { receiving, sending } = native.stackSlow(this.id, minReceiveRate, minSendRate);
    for (const id of receiving) {
      this.stats.tooSlow++;
      const connection = connections[id];
      if (connection) this.onError(connection, requestTimeoutError());
    }
    for (const id of sending) {
      this.stats.tooSlow++;
      connections[id]?.socket.destroy();
    }
  }

  /** Ends a response that has reached its deadline, if no earlier one of its connection is incomplete. */
  #late(response: Outgoing): void {
    const connection = (response as unknown as Record<symbol, Connection>)[kConnection];
    if (!connection || connection.destroyed || connection.socket._httpMessage !== response) return;
    // The second thread has answered it while the event loop was busy.
    if (native.stackIsTimedOut(connection.id)) return;
    this.stats.responseTimeouts++;
    const { socket } = connection;
    if (response._headerSent || !socket.writable) {
      socket.destroy();
      return;
    }
    appendText(connection, errorResponse(this.limits.responseTimeoutStatus), true);
    socket.destroySoon();
  }

  #check(): void {
    this.configure();
    const head = positive(this.server.headersTimeout);
    const whole = positive(this.server.requestTimeout);
    if (!head && !whole) return;
    for (const id of native.stackLate(this.id, head, whole)) {
      const connection = connections[id] ?? this.open(id);
      if (connection) this.onError(connection, requestTimeoutError());
    }
  }

  // A connection's life.

  protected create(id: number): Connection {
    const connection = new Connection(id, this);
    connection.socket = new this.NativeSocket(connection);
    return connection;
  }

  open(id: number): Connection | null {
    const { server } = this;
    if (
      !Object.is(server.maxConnections, this.#maxConnections) ||
      (this.caches && this.requiresAdmission !== this.#configuredAdmission)
    ) {
      this.configure();
    }
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

  /** Turns a connection away; 'drop' tells of it before it is closed. */
  #drop(id: number): void {
    try {
      this.inListenContext(announceDrop, this.server, native.stackAddresses(id));
    } finally {
      native.stackClose(id, false);
    }
  }

  /** Number of connections from which on Node drops new ones; infinite or `NaN`: it drops none. */
  get maxConnections(): number {
    const { maxConnections } = this.server;
    // Zero means "no connections" since Node 22, and "no limit" before.
    const isLimit = MAJOR < 22 ? Boolean(maxConnections) : maxConnections != null;
    return isLimit ? Number(maxConnections) : Infinity;
  }

  connected(connection: Connection): void {
    if (!this.stands('connection')) fallBackUnread(connection);
    else if (this.server.timeout) connection.socket.setTimeout(this.server.timeout);
    this.inListenContext(announce, this.server, connection.socket);
    readNewConnection(connection);
  }

  /**
   * Opens the connections that were accepted before the server closes, though their events are still to come in this
   * batch.
   */
  openAccepted(): void {
    for (const id of takeAccepted(this.id)) {
      const connection = this.open(id);
      if (connection) this.connected(connection);
    }
  }

  /**
   * Calls `action` in the asynchronous context in which Node's parser reports errors, upgrades and CONNECT: that of the
   * connection's requests; for upgrades and CONNECT before Node 24 (`leaves`) that of the connection.
   */
  inParser(connection: Connection, leaves: boolean, action: () => void): void {
    if (MAJOR < 24 && leaves) connection.nativeContext.runInAsyncScope(action);
    else connection.inContext(action);
  }

  closeAll(): void {
    for (const { socket } of this.connections) socket.destroy();
  }

  closeIdle(): void {
    const idle = new Map<number, number>();
    const pairs = native.stackIdle(this.id, endsUnused);
    for (let at = 0; at < pairs.length; at += 2)
      idle.set(pairs[at] as number, pairs[at + 1] as number);
    for (const connection of this.connections) {
      // The batch may still contain events of a request that was read.
      if (idle.get(connection.id) !== connection.requestIndex >>> 0) continue;
      const response = connection.socket._httpMessage;
      const answered = !response || response.finished;
      if (!answered || connection.outgoing.length > 0) continue;
      endSide(connection);
      connection.socket.destroy();
    }
  }

  /** Removes a connection that the reactor no longer has. */
  forget(connection: Connection): void {
    if (connection.id < 0) return;
    connections[connection.id] = null;
    connection.id = -1;
    this.connections.delete(connection);
    if (connection.isReferenced) reference(-1);
  }

  released(): void {
    this.server._connections--;
    this.server._emitCloseIfDrained();
  }

  /** Called before a socket emits 'close'. */
  beforeClose(_connection: Connection): void {}

  /** Handles that a connection without a stream has closed. */
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
      this.abandon(connection);
    }
  }

  /** Drops what a closed connection has left. */
  abandon(connection: Connection): void {
    connection.fallbackParser?.close?.();
    connection.fallbackParser = null;
    abandon(connection);
  }

  /** Aborts the unanswered requests, as Node's own listener for 'close' does. */
  abort(connection: Connection): void {
    abortIncoming(connection);
  }

  /** Gives up a connection whose descriptor is sent to another process: no event reports its end here. */
  detach(connection: Connection): void {
    flushAll();
    connection.close(false);
    connection.closeBelow();
    connection.socket._httpMessage?.detachSocket(connection.socket as never);
    this.abandon(connection);
  }

  /** Handles that the reactor has sent bytes of a connection, or some of them. */
  settle(connection: Connection): void {
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
    this.concludeAll(connection);
  }

  /** Handles that all written bytes have been sent. */
  concludeAll(connection: Connection): void {
    const { callbacks } = connection;
    if (callbacks !== null) {
      connection.callbacks = null;
      connection.partiallySentCallbacks = 0;
      for (const callback of callbacks) guarded(callback, null);
    }
    this.conclude(connection);
  }

  /** Finishes a response whose bytes have been sent. */
  conclude(connection: Connection): void {
    const response = connection.finishing;
    if (response === null) return;
    connection.finishing = null;
    finish(connection, response);
  }

  /** Finishes, a tick later, a response that was ended before its request was complete. */
  concludeEnded(connection: Connection): void {
    if (connection.finishing && !connection.callbacks && connection.queued === 0)
      this.conclude(connection);
  }

  /** Continues reading, and emits 'drain' for the response, when few bytes wait to be sent. */
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

  /**
   * Handles an error as Node does: 'clientError' decides; without a listener the default error response is sent and the
   * connection closed.
   */
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

  /** Handles the end of the peer's side. */
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

  /** Does what Node's own listener for 'end' does. */
  onEnd(connection: Connection): void {
    if (!connection.failed && connection.endedWithin) {
      this.onError(connection, parseWithNode(this.server, null).error ?? eofError());
    } else if (!this.server.httpAllowHalfOpen) {
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

  /** Handles bytes that only Node's parser can read; `packet` is what was read last, which ends with them. */
  onUnparsed(
    connection: Connection,
    bytes: Buffer,
    packet: Buffer,
    reason: number,
    prelude: number,
  ): void {
    switch (reason) {
      case REASON_UPGRADE:
        if (connection.incoming.length > 0 && this.#mayRefuseUpgrade()) {
          // If it is refused, its response comes after those to earlier requests.
          connection.afterResponses = () => this.fallBack(connection, { bytes, packet }, UPGRADE);
        } else if (this.#wantsUpgrade()) {
          // At once, as Node does, even if earlier requests are unanswered.
          this.fallBack(connection, { bytes, packet }, UPGRADE);
        } else native.stackProceed(connection.id);
        break;
      case REASON_BODY:
        connection.fallbackParser = new NodeParserBody(
          this.server,
          connection,
          preludes.get(prelude) ?? '',
        );
        this.onRaw(connection, bytes, packet);
        break;
      case REASON_CLOSED:
        native.stackProceedRaw(connection.id);
        this.onError(
          connection,
          parseWithNode(this.server, bytes, packet, CLOSING_HEAD).error ?? eofError(),
        );
        break;
      default:
        this.#onUnusual(connection, bytes, packet);
    }
  }

  fallBack(connection: Connection, bytes: Bytes | null, reason: string, injected?: Buffer): void {
    fallBackToNode(this, connection, bytes, reason, injected);
  }

  countFallback(reason: string): void {
    this.stats.connections.fallback++;
    this.stats.connections.native--;
    this.stats.fallbackReasons[reason] = (this.stats.fallbackReasons[reason] ?? 0) + 1;
  }

  /** Counts a connection that the reactor could not take: Node's own code serves it from the start. */
  countNotTaken(): void {
    this.stats.connections.native++;
    this.countFallback('descriptors');
  }

  #wantsUpgrade(): boolean {
    return Boolean(this.server.shouldUpgradeCallback) || this.server.listenerCount('upgrade') > 0;
  }

  /**
   * Whether `shouldUpgradeCallback` may refuse an upgrade: Node's default accepts all if there is a listener for
   * 'upgrade'.
   */
  #mayRefuseUpgrade(): boolean {
    const { shouldUpgradeCallback } = this.server;
    if (!shouldUpgradeCallback) return false;
    return (
      String(shouldUpgradeCallback) !== listenedFor || this.server.listenerCount('upgrade') === 0
    );
  }

  /** Handles unusual bytes. Node reports an error at once, a request when those before it are answered. */
  #onUnusual(connection: Connection, bytes: Buffer, packet: Buffer): void {
    const isBehind = connection.incoming.length > 0 || packet.length > bytes.length;
    const error = isBehind ? parseWithNode(this.server, bytes, packet).error : null;
    if (error) {
      native.stackProceedRaw(connection.id);
      this.onError(connection, error);
    } else if (connection.incoming.length === 0) {
      this.fallBack(connection, { bytes, packet }, 'unusual');
    } else {
      connection.afterResponses = () => this.fallBack(connection, { bytes, packet }, 'unusual');
    }
  }

  /** Handles further bytes of a body that Node's parser reads. */
  onRaw(connection: Connection, bytes: Buffer, packet = bytes): void {
    if (connection.isRaw) {
      pushRaw(connection, bytes);
      return;
    }
    const taken = connection.fallbackParser?.take(bytes, packet) ?? null;
    if (connection.id < 0) return;
    if (taken === null) {
      native.stackProceedRaw(connection.id);
      return;
    }
    connection.fallbackParser = null;
    const rest = bytes.subarray(taken);
    // As with Node, an error behind the body is reported without a tick in between.
    const { error } = rest.length > 0 ? parseWithNode(this.server, rest, packet) : { error: null };
    if (error) {
      native.stackProceedRaw(connection.id);
      this.onError(connection, error);
    } else {
      native.stackProceedBehind(connection.id, taken);
    }
  }

  /**
   * Falls back because the application listens for the connection's bytes, or pushes some (`injected`). During a
   * request this happens only if the application has removed Node's listener for them. Returns whether Node's own code
   * has the connection now.
   */
  wantsBytes(connection: Connection, injected?: Buffer): boolean {
    if (connection.id < 0 || connection.receiving !== null) return false;
    if (connection.isFallback) return false;
    if (connection.incoming.length > 0 && !hasRemovedDataListener(connection)) return false;
    this.fallBack(connection, null, 'bytes wanted', injected);
    return connection.isFallback;
  }
}

/** By its handle; in a worker of a cluster, which may have none of Node's own, by the path. */
function listensToUnixSocket({ _handle, _pipeName }: HttpServer): boolean {
  const kind = _handle?.constructor.name;
  return kind === 'Pipe' || (kind !== 'TCP' && typeof _pipeName === 'string');
}

/** Gives the stream bytes that Node's own code parses; as Node's handle does, a full stream stops the reading. */
function pushRaw(connection: Connection, bytes: Buffer): void {
  const { socket } = connection;
  connection.refreshTimer();
  const handle = socket._handle as Handle | null;
  if (!socket.destroyed && !socket.push(bytes) && handle !== null) {
    handle.reading = false;
    handle.readStop();
  }
  if (connection.id >= 0) native.stackProceedRaw(connection.id);
}

/** A head after which Node's parser accepts no further bytes. */
const CLOSING_HEAD = 'GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n';

/** Whether this Node.js has the property `keepAliveTimeoutBuffer`. */
const KNOWS_BUFFER = 'keepAliveTimeoutBuffer' in nodeHttp.createServer();

/** The source of the default `shouldUpgradeCallback` of Node's servers. */
const listenedFor = String((nodeHttp.createServer() as HttpServer).shouldUpgradeCallback);

/** Bytes that bring Node's parser to the state of the reactor's within a body, by their length. */
const preludes = new Map([
  [0, ''],
  [4, '1\r\nx'],
  [3, '0\r\n'],
]);

/** The connections of this thread, by their number in the reactor. */
export const connections: (Connection | null)[] = [];
/** The servers of this thread that listen or have connections, by their number in the reactor. */
export const servers: (NativeServer | null)[] = [];

/** Whether a response is drained: in Node versions with `kWritableFinished` only once all its bytes are flushed. */
function isDrained(response: Outgoing): boolean {
  return kWritableFinished === undefined || response.writableLength === 0;
}

/**
 * Ends the server's side of a connection, so that a client that is still sending receives what was written before it is
 * destroyed.
 */
function endSide(connection: Connection): void {
  flushConnection(connection);
  if (connection.id >= 0) native.stackEnd(connection.id);
}

function configure(nativeServer: NativeServer): void {
  if (nativeServer.id >= 0) nativeServer.configure();
}

function isWhole(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 0;
}

function positive(value: unknown): number {
  return typeof value === 'number' && value > 0 && Number.isFinite(value) ? value : 0;
}
