import type { AsyncResource } from 'node:async_hooks';
import type { Native } from '../../native/addon.js';
import type {
  HttpServer,
  Incoming,
  kConnection,
  Listener,
  NodeSocket,
  Outgoing,
  SocketEvents,
} from '../node/node-internals.js';
import type { FallbackReason } from './fallback-reason.js';
import { NONE } from './none.js';
import { type Callback, SendState } from './send-state.js';

/** The socket of a connection, as the stack sees it. */
export type HttpSocket = NodeSocket & { [kConnection]: Connection };

/** Parses the rest of a connection in place of the reactor. */
export interface FallbackParser {
  /** The end of the stream is an error. */
  readonly expectsMore: boolean;
  /** Returns how many of these bytes belong to the body if it ends within them. */
  parse(bytes: Buffer, packet: Buffer): number | null;
  close?(): void;
}

export type Addresses = ReturnType<Native['stackAddresses']>;
export type PeerAddress = Addresses['remote'];

/** What `setKeepAlive` takes in place of its arguments, from Node 24 on. */
export interface KeepAliveOptions {
  enable?: boolean;
  initialDelay?: number;
  interval?: number | undefined;
  count?: number | undefined;
}

/** A method of a socket that adds a listener. */
export type ListenerMethod = (this: HttpSocket, ...args: never[]) => unknown;

/**
 * A connection that the reactor owns: what the stack knows of it, and what may be asked of it
 * (`connection/native-connection.ts`). Applications have its `socket`, which finds it under `kConnection`.
 */
export abstract class Connection extends SendState {
  /** Number in the reactor; -1 after the end. */
  id: number;
  readonly nativeServer: NativeServer;
  /** A `NativeSocket`, until something else than its members is used: then the same object is a `net.Socket` of Node's own. */
  socket!: HttpSocket;
  isStream = false;
  /** Of a stream of HTTP/2: the connection of its session; and of that: its streams. */
  readonly session: Connection | null;
  streams: Set<Connection> | null = null;
  /** Of a session: whether a response with `Connection: close` ends it (`connection/http2-session.ts`). */
  endsByField = false;
  /** Whether the reactor closes it behind the bytes that it was given last: see `FORGOTTEN`. */
  isForgotten = false;
  /** Of a server of `node:http2`: the session, or the stream, that its requests have (`http2/`). */
  http2: object | null = null;
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
  /** The last request that was answered before its end was emitted, until then. */
  ending: Incoming | null = null;
  /** Responses that wait for their turn, and their approximate size in bytes. */
  outgoing: Outgoing[] = NONE;
  outgoingData = 0;
  requestsCount = 0;
  /** Number of requests that the reactor has reported: the index of the next one. */
  requestIndex = 0;
  /** Whether the last response has been sent: what comes behind its request is no request. */
  isLastSent = false;
  /** Reads the rest of the connection in place of the reactor. */
  fallbackParser: FallbackParser | null = null;
  /** Whether the first request, unless it is one of HTTP/2, makes it fall back: the application listens for its bytes. */
  fallsBackAtRequest = false;
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
  /** Index of the request whose timeout was reported; -1: none. */
  lateRequest = -1;
  /** Whether the server has handled an error. */
  failed = false;
  /** Whether the application wants it to keep the process alive, and whether it does. */
  isReferenced = true;
  keepsAlive = true;
  /** Address of the peer, if it was read before the end of the connection. */
  peer: PeerAddress = undefined;
  /** Stands for the bytes that waited to be sent when the socket became a stream. */
  backlog: Buffer | null = null;

  constructor(id: number, nativeServer: NativeServer, session: Connection | null) {
    super();
    this.id = id;
    this.nativeServer = nativeServer;
    this.session = session;
  }

  abstract readonly destroyed: boolean;
  /** Whether our side ends behind what was written. */
  abstract readonly endsSide: boolean;
  /** Whether the application may have listeners on the socket, or has replaced its `emit`. */
  abstract readonly isObserved: boolean;
  /** Whether a TLS handshake is in progress. */
  abstract readonly isHandshaking: boolean;
  /** Whether responses may go past the socket's stream: it has none yet, and our side is open. */
  abstract readonly canBypassStream: boolean;
  abstract getEvents(): SocketEvents;
  /** What a response calls when bytes of it begin to wait for the socket, or no longer do. */
  abstract readonly onPendingData: (delta: number) => void;

  /** The asynchronous context of the connection's own events. */
  abstract readonly nativeContext: AsyncResource;
  /** The context of the transport, and so of 'close'; over TLS it is that of the handle below. */
  abstract readonly transportContext: AsyncResource;
  /** The asynchronous context of what Node's parser reports. */
  abstract readonly requestsContext: AsyncResource;
  /** Runs `action` in the asynchronous context of the connection's requests, as Node's parser does with all it reports. */
  abstract inContext<A extends unknown[]>(action: (...args: A) => void, ...args: A): void;
  /** Sets the asynchronous context of further requests to the present one. */
  abstract enterContext(): void;
  /** Keeps the current context for callbacks and events that report later that bytes have been sent. */
  abstract keepContext(): void;
  /** The context of the last response, in which the end of the keep-alive time is reported. */
  abstract readonly idleContext: AsyncResource | null;
  abstract keepIdleContext(): void;
  /** Ends the asynchronous contexts: the connection is closed, or Node's. */
  abstract endContexts(): void;
  /** Puts the timers of the socket, and of the one below TLS, off: bytes have come or left. */
  abstract refreshTimer(): void;

  abstract readonly bytesRead: number;
  abstract readonly bytesWritten: number;
  /** As in Node, a socket that is gone has its peer's address if it was asked for before, and none of its own. */
  abstract readonly remote: PeerAddress;
  /** The peer's address while the connection is open. */
  abstract readonly openRemote: PeerAddress;
  abstract readonly local: Addresses['local'];
  abstract setNoDelay(on: boolean): void;
  abstract setKeepAlive(options: KeepAliveOptions): void;
  abstract setReferenced(isReferenced: boolean): void;
  abstract setPaused(isPaused: boolean): void;

  abstract cork(): void;
  abstract uncork(): void;
  /** Counts what was written in this turn, as a stream does, even if it has been sent by now; `false`: wait for 'drain'. */
  abstract recordWrite(bytes: number): boolean;
  /** Nothing that was written waits any more; through TLS it waits until that is reported. */
  abstract resetWritten(): void;
  /** Reads the number of waiting bytes from the reactor, including responses from the cache. */
  abstract countQueued(): void;
  /** Calls back when all bytes written so far have been sent. */
  abstract afterWrite(callback: Callback): void;
  /** Handles the reactor's result for an entry of the batch. */
  abstract onBatchSent(result: number, count: number): void;
  /** Handles the reactor's result of a send: the number of waiting bytes, or a negative error number. */
  abstract onSent(result: number, count: number): void;

  /** Ends our side after the bytes that were written. */
  abstract end(): void;
  abstract destroySoon(): void;
  abstract destroy(): void;
  /** Closes the connection of a stream that is destroyed. */
  abstract closeStream(reset: boolean, error: Error | null): void;
  /** Closes the connection in the reactor. */
  abstract close(reset: boolean): void;
  /** Closes the socket below TLS, after this one's handle: of two handles libuv closes the later one first. */
  abstract closeBelow(): void;
}

/** Bytes that start a request; `packet` is the last read, which ends with them. */
export interface Bytes {
  bytes: Buffer;
  packet: Buffer;
}

/** Begins a request of a connection: `head` has its fields, and `flags` what the reactor knows of it. */
export type Receive = (
  connection: Connection,
  head: string,
  method: string,
  url: string,
  flags: number,
) => void;

/** The native side of one `http.Server`: what its connections and their requests ask of it (`server/native-server.ts`). */
export interface NativeServer {
  readonly server: HttpServer;
  /** Number of the server in the reactor; -1 before it listens and after it is closed. */
  readonly id: number;
  readonly isSecure: boolean;
  /** Whether the server listens to a Unix socket. */
  readonly isUnix: boolean;
  /** Whether the server shares its port, and so owns a part of the requests only. */
  readonly isShared: boolean;
  /** Whether responses are sent at once, so that the helper thread can go by what was sent. */
  readonly isWatched: boolean;
  /** Whether there is an output cache whose responses have `Cache-Status`. */
  readonly caches: boolean;
  readonly reportsCacheStatus: boolean;
  readonly limits: { readonly responseTimeout: number; readonly maxRequestsInFlight: number };
  /** Time limit until a connection's next request in milliseconds; 0: no limit. */
  readonly keepAliveMs: number;

  /** The prototype of sockets that are streams. */
  readonly streamPrototype: object;
  /** The `write` of native sockets, unless the application has replaced it. */
  readonly nativeWrite: unknown;
  readonly highWaterMark: number;
  /** The same if a stream takes it. */
  readonly streamHighWaterMark: number;
  /** The classes of requests and responses. */
  readonly messages: {
    readonly Request: new (socket: unknown) => Incoming;
    readonly Response: new (request: unknown, options: object) => Outgoing;
    /** Adapts the classes to the server's listener. */
    fit(listener: unknown): void;
  };
  readonly responseOptions: object;
  readonly uniqueHeaders: unknown;
  /** Requests without a body are no streams (option `optimizeEmptyRequests`, Node 24). */
  readonly optimizeEmpty: boolean;
  /** Responses that have to end within `responseTimeout`. */
  readonly deadlines: {
    readonly size: number;
    add(response: Outgoing): void;
    delete(response: Outgoing): void;
  };

  /** Counters of `server.stats()`. */
  readonly stats: {
    readonly requests: { fallback: number };
    overloaded: number;
    internalErrors: number;
  };
  requests: number;
  inFlight: number;
  countFallback(reason: FallbackReason, connection?: Connection): void;

  /** Whether a property that requests depend on has changed since the last `configure()`. */
  isOutdated(): boolean;
  /** Passes the current properties of the server to the reactor. */
  configure(): void;

  /** Creates the connection of this number; `null`: it exceeds `maxConnections` and was closed. */
  open(id: number): Connection | null;
  /** Creates the connection of a stream of HTTP/2, whose session has this connection. */
  openStream(id: number, session: Connection): Connection;
  readonly receive: Receive;
  /**
   * Handles that a listener has thrown while the head of a request, or the rest of it, was read, and that the process goes on: as
   * with Node's parser, nothing more is read of the connection.
   */
  stopParsing(connection: Connection, where: 'head' | 'rest'): void;
  /** Announces a new connection to the application. */
  connected(connection: Connection): void;
  /** Removes a connection that the reactor no longer has. */
  unregister(connection: Connection): void;
  /** Counts a connection that has ended. */
  onConnectionEnd(connection: Connection): void;
  /** Called before a socket emits 'close'. */
  beforeClose(connection: Connection): void;
  /** Handles that a connection without a stream has closed. */
  onClose(connection: Connection): void;
  /** Drops the unanswered requests of a closed connection. */
  dropPending(connection: Connection): void;
  /** Aborts the unanswered requests, as Node's own listener for 'close' does. */
  abort(connection: Connection): void;
  /** Gives up a connection whose descriptor is sent to another process: no event reports its end here. */
  detach(connection: Connection): void;

  /** Handles that the reactor has sent bytes of a connection, or some of them. */
  onBytesSent(connection: Connection): void;
  /** Handles that all written bytes have been sent. */
  onAllSent(connection: Connection): void;
  /** Finishes a response whose bytes have been sent. */
  endResponse(connection: Connection): void;
  /** Finishes, a tick later, a response that was ended before its request was complete. */
  endEarlyResponse(connection: Connection): void;
  /** Continues reading, and emits 'drain' for the response, when few bytes wait to be sent. */
  drain(connection: Connection): void;

  /**
   * Handles an error as Node does: 'clientError' decides; without a listener the default error response is sent and the
   * connection closed.
   */
  onError(connection: Connection, error: Error): void;
  /** Reports that the request that is due takes too long to arrive, once. Later errors of the connection are reported, too. */
  onLate(connection: Connection): void;
  /** Handles that the time limit until the next request has passed. */
  onIdle(connection: Connection): void;
  /** Handles the end of the peer's side. */
  onEof(connection: Connection, middle: boolean): void;
  /** Does what Node's own listener for 'end' does. */
  onEnd(connection: Connection): void;
  /** Handles that the connection is closed, by this error of the system; 0: by none. */
  onReset(connection: Connection, errno: number): void;
  /** Handles an event of a TLS connection's handshake. */
  onTlsEvent(connection: Connection, kind: number, details: Int32Array): void;

  /**
   * Calls `action` in the asynchronous context in which Node's parser reports errors, upgrades and CONNECT: that of the
   * connection's requests; for upgrades and CONNECT before Node 24 (`leaves`) that of the transport.
   */
  inParser(connection: Connection, leaves: boolean, action: () => void): void;
  /** Gives a connection to Node's own code. */
  fallBack(
    connection: Connection,
    bytes: Bytes | null,
    reason: FallbackReason,
    injected?: Buffer,
  ): void;
  /** Falls back for an application that wants the bytes of a connection; returns whether Node's own code has it now. */
  fallBackForRawData(connection: Connection, injected?: Buffer): boolean;
}
