import type { HttpServer, Incoming, Outgoing } from '../node/node-internals.js';
import type { Connection } from './connection.js';
import type { FallbackReason } from './fallback-reason.js';

/** Bytes that start a request; `packet` is the last read, which ends with them. */
export interface Bytes {
  bytes: Buffer;
  packet: Buffer;
}

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
  countFallback(reason: FallbackReason): void;

  /** Whether a property that requests depend on has changed since the last `configure()`. */
  isOutdated(): boolean;
  /** Passes the current properties of the server to the reactor. */
  configure(): void;

  /** Creates the connection of this number; `null`: it exceeds `maxConnections` and was closed. */
  open(id: number): Connection | null;
  /** Announces a new connection to the application. */
  connected(connection: Connection): void;
  /** Removes a connection that the reactor no longer has. */
  unregister(connection: Connection): void;
  /** Counts a connection that has ended. */
  onConnectionEnd(): void;
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
