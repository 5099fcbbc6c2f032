import type net from 'node:net';
import { NativeConnection } from '../connection/native-connection.js';
import { nodeHttp } from '../node/node-http.js';
import { type HttpServer, internalKey } from '../node/node-internals.js';
import { native } from '../reactor/native.js';
import { receive } from '../request/exchange.js';
import { NativeServer } from '../server/native-server.js';
import type { Bytes, Connection, Receive } from '../state/connection.js';
import type { FallbackReason } from '../state/fallback-reason.js';
import { type SecureHttpServer, SecureServer } from '../tls/secure-server.js';
import type { SecureConnection } from '../tls/secure-socket.js';
import { receiveStream, receiveUnusual } from './receiving.js';
import { Http2Session } from './session.js';
import { findNodeReason, getSessionOptions } from './session-options.js';
import type { Http2Stream } from './stream.js';
import { StreamSocket } from './stream-socket.js';

/** Node's own listener for the connections of a server of HTTP/2: it creates the session, or serves HTTP/1.1. */
export type ConnectionListener = (this: net.Server, socket: net.Socket) => void;

// biome-ignore lint/suspicious/noExplicitAny: what TypeScript asks of the base of a mixin
type Constructor = new (...args: any[]) => NativeServer;

/** What servers of `node:http2` have besides. */
interface Http2Members {
  /** Connections that do not speak HTTP/2 are served, as by `node:https`. */
  readonly servesHttp1: boolean;
  /** A connection begins that speaks HTTP/2. */
  startSession(connection: Connection): void;
  /** Node's own code serves the connections that come from now on. */
  leaveToNode(reason: FallbackReason): void;
}

/** Creates the class of servers of `node:http2` above that of servers of `node:http` or `node:https`. */
function withHttp2<B extends Constructor>(
  Base: B,
): new (
  ...args: ConstructorParameters<B>
) => InstanceType<B> & Http2Members {
  class Http2 extends Base {
    /** A member was used that only Node's own sessions have. */
    #memberReason: FallbackReason | undefined;
    /** The reason for Node's own code that the reactor goes by. */
    #configuredReason: FallbackReason | undefined;

    override readonly receive: Receive = (connection, ...request) => {
      if (connection.session !== null) receiveStream(connection, ...request);
      else if (this.servesHttp1) receive(connection, ...request);
      // As where Node's own session ends.
      else connection.socket.destroy();
    };

    readonly servesHttp1 = this.isSecure && getSessionOptions(this.server)?.allowHTTP1 === true;

    leaveToNode(reason: FallbackReason): void {
      this.#memberReason ??= reason;
      this.configure();
    }

    override settings() {
      const most = getSessionOptions(this.server)?.settings?.maxConcurrentStreams;
      const { maxConcurrentStreams, ...settings } = super.settings();
      this.#configuredReason = this.#findReason();
      // Otherwise the reactor does not know the first bytes of HTTP/2, and Node's own code gets them.
      const speaksHttp2 = this.isSecure || this.#configuredReason === undefined;
      return {
        ...settings,
        ...(speaksHttp2 && {
          maxConcurrentStreams: typeof most === 'number' ? most : maxConcurrentStreams,
        }),
        // As Node's sessions set it.
        noDelay: true,
        tellsPseudoFields: true,
      };
    }

    #findReason(): FallbackReason | undefined {
      return this.#memberReason ?? findNodeReason(this.server);
    }

    override isOutdatedForConnections(): boolean {
      return super.isOutdatedForConnections() || this.#findReason() !== this.#configuredReason;
    }

    override findReasonForNode(connection: Connection): FallbackReason | undefined {
      const reason = super.findReasonForNode(connection);
      if (reason !== undefined || native.stackIsHttp2(connection.id)) return reason;
      return this.#findReason();
    }

    startSession(connection: Connection): void {
      const { server } = this;
      if (server.listenerCount('session') === 0 && !server.timeout) return;
      const session = Http2Session.of(connection);
      if (server.timeout) {
        session.setTimeout(server.timeout);
        session.on('timeout', () => onTimeout(server, session));
      }
      this.inListenContext(() => server.emit('session', session));
    }

    override createStream(id: number, session: Connection): Connection {
      const connection = new NativeConnection(id, this, session);
      connection.socket = StreamSocket.for(connection);
      return connection;
    }

    override unregister(connection: Connection): void {
      super.unregister(connection);
      if (connection.session === null) (connection.http2 as Http2Session | null)?.onClosed();
    }

    override onReset(connection: Connection, errno: number): void {
      if (connection.session === null) super.onReset(connection, errno);
      else if (connection.http2 === null) connection.socket.destroy();
      else (connection.http2 as Http2Stream).onReset();
    }

    override endResponse(connection: Connection): void {
      if (connection.session === null) super.endResponse(connection);
      else if (connection.responseAwaitingSend !== null) {
        connection.responseAwaitingSend = null;
        (connection.http2 as Http2Stream).onSent();
      }
    }

    /** Only HTTP/1.1 has a parser; a stream goes on, as with Node. */
    override stopParsing(connection: Connection, where: 'head' | 'rest'): void {
      if (connection.session === null) super.stopParsing(connection, where);
    }

    override onEof(connection: Connection, middle: boolean): void {
      if (connection.session === null) super.onEof(connection, middle);
    }

    override onError(connection: Connection, error: Error): void {
      if (connection.session === null && this.servesHttp1) super.onError(connection, error);
      else connection.socket.destroy();
    }

    override onLate(connection: Connection): void {
      if (connection.session === null && this.servesHttp1) super.onLate(connection);
      else connection.socket.destroy();
    }

    override fallBack(
      connection: Connection,
      bytes: Bytes | null,
      reason: FallbackReason,
      injected?: Buffer,
    ): void {
      if (connection.session !== null) {
        if (bytes !== null) receiveUnusual(connection, bytes);
      } else if (bytes === null || this.servesHttp1) {
        super.fallBack(connection, bytes, reason, injected);
      } else connection.socket.destroy();
    }
  }
  return Http2 as never;
}

function onTimeout(server: HttpServer, session: Http2Session): void {
  if (session.destroyed || session.closed) return;
  if (!server.emit('timeout', session as never)) session.destroy();
}

/** The native side of a server of `http2.createServer`. */
export class Http2Server extends withHttp2(NativeServer) {
  override connected(connection: Connection): void {
    super.connected(connection);
    if (!connection.isFallback && connection.id >= 0) this.startSession(connection);
  }

  override startServerTimeout(_connection: Connection): void {}

  /** The bytes of each connection are its session's. */
  override fallBackForRawData(_connection: Connection): boolean {
    return false;
  }
}

/** The native side of a server of `http2.createSecureServer`. */
export class SecureHttp2Server extends withHttp2(SecureServer) {
  readonly #nodeListener: ConnectionListener;

  constructor(server: SecureHttpServer, nodeListener: ConnectionListener) {
    setHttp1Classes(server);
    super(server);
    this.#nodeListener = nodeListener;
  }

  /** A native connection has done its handshake. */
  secured(connection: Connection): void {
    if ((connection as SecureConnection).speaksHttp2) this.startSession(connection);
    // It refuses other protocols, or an application takes them.
    else if (!this.servesHttp1) this.#nodeListener.call(this.server, connection.socket as never);
  }

  override startServerTimeout(connection: Connection): void {
    if (connection.session === null && !(connection as SecureConnection).speaksHttp2) {
      super.startServerTimeout(connection);
    }
  }
}

/** Sets a server's classes of HTTP/1.1 where Node's parser finds them; Node does so with the first such connection. */
function setHttp1Classes(server: SecureHttpServer): void {
  const { Http1IncomingMessage, Http1ServerResponse } = getSessionOptions(server) ?? {};
  const classes = { IncomingMessage: Http1IncomingMessage, ServerResponse: Http1ServerResponse };
  const sample = new nodeHttp.Server();
  for (const [name, Class] of Object.entries(classes)) {
    const key = internalKey(sample, name);
    if (key !== undefined && Class !== undefined) Object.assign(server, { [key]: Class });
  }
}
