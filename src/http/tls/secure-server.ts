import net from 'node:net';
import { announce, connections as connectionChannel } from '../connection/announce.js';
import { openAsNodes } from '../connection/handle/connection-handle.js';
import { readNewConnection } from '../connection/handle/new-connection.js';
import { fallBackByBytes } from '../fallback/byte-handoff.js';
import { startReading } from '../fallback/node-handoff.js';
import { type HttpServer, internalKey } from '../node/node-internals.js';
import { emit } from '../node/node-methods.js';
import { NO_CONTEXT } from '../reactor/contexts.js';
import { input, native } from '../reactor/native.js';
import { speaksHttp2 } from '../server/http2.js';
import { NativeServer } from '../server/native-server.js';
import type { Bytes, Connection } from '../state/connection.js';
import type { FallbackReason } from '../state/fallback-reason.js';
import { authorizationError } from './client-certificate.js';
import { findHttpsPrototype, nodeTls } from './node-tls.js';
import { createRawSocket, releaseRawSocket } from './raw-socket.js';
import { type NativeContext, nativeContext } from './secure-context.js';
import {
  getSecureSockets,
  initializeSecureSocket,
  SecureConnection,
  type SecureSocket,
} from './secure-socket.js';
import { TIMEOUT, tlsError } from './tls-error.js';
import { Security } from './tls-state.js';

type SniCallback = (
  this: unknown,
  servername: string,
  done: (error: Error | null, context?: { context?: object }) => void,
) => void;

/** Node's internal properties of an `https.Server`. */
interface Tls {
  requestCert: boolean;
  rejectUnauthorized: boolean;
  ALPNProtocols?: Buffer;
  ALPNCallback?: unknown;
  pauseOnConnect?: boolean;
  allowHalfOpen: boolean;
  _sharedCreds: { context: object };
  _contexts: [RegExp, object][];
  getTicketKeys(): Buffer;
}
export type SecureHttpServer = HttpServer & Tls;

/** Events that only OpenSSL can feed. */
const OPENSSL_EVENTS = ['keylog', 'newSession', 'resumeSession', 'OCSPRequest'];

/** Verdicts on a client's certificate, as `crates/stack/src/batch/event.rs` numbers them. */
const NOT_ASKED = 0;
const VALID = 2;
const PROTOCOL_SHIFT = 8;

type TlsConnection = (this: net.Server, socket: net.Socket) => void;
let nodeTlsConnection: TlsConnection | undefined;

/** Node's listener for 'connection' of a TLS server: it puts a `tls.TLSSocket` over the socket. */
export function getNodeTlsConnection(): TlsConnection {
  nodeTlsConnection ??= new (nodeTls().Server)().listeners('connection')[0] as TlsConnection;
  return nodeTlsConnection;
}

/** The keys of what Node keeps on a TLS server. */
function findKeys(server: HttpServer) {
  const find = (description: string) => internalKey(server, description) ?? Symbol(description);
  return {
    handshakeTimeout: find('handshake-timeout'),
    sniCallback: find('snicallback'),
    pskCallback: find('pskcallback'),
    enableTrace: find('enableTrace'),
  };
}

/** The native side of one `https.Server`. */
export class SecureServer extends NativeServer {
  declare readonly server: SecureHttpServer;
  /** The native context of each of Node's contexts; a string is the reason why the reactor cannot use it. */
  #contexts = new WeakMap<object, NativeContext | FallbackReason>();
  override readonly isSecure = true;
  readonly #protocols: Buffer[];
  readonly #keys: ReturnType<typeof findKeys>;
  /** The context for handshakes while the event loop is busy. */
  #offered: NativeContext | null = null;

  constructor(server: SecureHttpServer) {
    super(server, getSecureSockets());
    this.#keys = findKeys(server);
    this.#protocols = chooseProtocols(server);
    native.stackSeedRandom();
  }

  override configure(): void {
    super.configure();
    this.#offerContext();
  }

  /** Sets the context for handshakes while the event loop is busy, unless JavaScript takes part in them. */
  #offerContext(): void {
    if (this.id < 0) return;
    const { server } = this;
    const needsJavaScript =
      this.#findOpensslFeature() ||
      this.#isWatched() ||
      this.requiresAdmission ||
      server.requestCert;
    const chooses = server[this.#keys.sniCallback] || server._contexts.length > 0;
    const context = needsJavaScript || chooses ? null : this.#native(server._sharedCreds.context);
    this.#offered = typeof context === 'string' ? null : context;
    native.stackSetContext(this.id, this.#offered?.context);
  }

  protected override settings() {
    return {
      ...super.settings(),
      handshakeMs: Number(this.server[this.#keys.handshakeTimeout]) || 0,
    };
  }

  protected override create(id: number): Connection {
    // With Node, the handle of TLS is created by a listener for 'connection'.
    const connection = this.inListenContext(() => new SecureConnection(id, this));
    const socket = new this.NativeSocket(connection) as SecureSocket;
    initializeSecureSocket(socket);
    connection.socket = socket;
    return connection;
  }

  /** A stream of HTTP/2 has the handshake of its connection. */
  protected override createStream(id: number, session: Connection): Connection {
    const { security, secureContext, socket: of } = session as SecureConnection;
    const connection = new SecureConnection(id, this, session);
    connection.security = security;
    connection.secureContext = secureContext;
    const socket = new this.NativeSocket(connection) as SecureSocket;
    socket.encrypted = true;
    socket.authorized = of.authorized;
    socket.authorizationError = of.authorizationError;
    socket.servername = of.servername;
    socket.alpnProtocol = of.alpnProtocol;
    socket.secureConnecting = false;
    connection.socket = socket;
    return connection;
  }

  /** Contexts are created again, as ticket keys have changed. */
  forgetContexts(): void {
    this.#contexts = new WeakMap();
    this.#offerContext();
  }

  override connected(connection: Connection): void {
    const secure = connection as SecureConnection;
    const reason = this.findReasonForNode(connection);
    if (reason !== undefined) {
      this.#fallBackToNodeTls(secure, reason, false);
      return;
    }
    // One listener is ours.
    const isHeard =
      this.server.listenerCount('connection') > 1 || (this.server.emit as unknown) !== emit;
    if (!isHeard && !connectionChannel.hasSubscribers) return;
    secure.raw = createRawSocket(secure);
    secure.socket._parent = secure.raw;
    this.inListenContext(announce, this.server, secure.raw);
  }

  override findReasonForNode(connection: Connection): FallbackReason | undefined {
    const reason = super.findReasonForNode(connection);
    if (reason !== undefined) return reason;
    return this.server.pauseOnConnect ? 'tls-option:pauseOnConnect' : undefined;
  }

  // The handshake.

  override onTlsEvent(connection: Connection, kind: number, details: Int32Array): void {
    const secure = connection as SecureConnection;
    const [a = 0, b = 0, c = 0, d = 0, e = 0] = details;
    if (kind === HELLO) this.onHello(secure, input.latin1Slice(a, a + b), c === 1);
    else if (kind === SECURE) this.onSecure(secure, input.latin1Slice(a, a + b), c, d, e);
    else if (kind === FORWARDED) {
      const protocol = input.latin1Slice(a + b, a + b + e);
      this.onForwarded(secure, input.latin1Slice(a, a + b), c, d, protocol);
    } else if (kind === FAILED) this.onTlsFailed(secure, a, b, input.latin1Slice(c, c + d));
  }

  /** Handles the first message of a client's handshake. */
  onHello(connection: SecureConnection, name: string, needsNode: boolean): void {
    const reason = needsNode ? 'tls-client-hello' : this.#findOpensslFeature();
    if (reason) {
      this.#fallBackToNodeTls(connection, reason);
      return;
    }
    const callback = this.server[this.#keys.sniCallback] as SniCallback | undefined;
    if (name && callback) this.#ask(connection, name, callback);
    else this.#choose(connection, name ? this.#contextFor(name) : undefined);
  }

  #findOpensslFeature(): FallbackReason | undefined {
    const { server } = this;
    const event = OPENSSL_EVENTS.find((name) => server.listenerCount(name) > 0);
    if (event) return `tls-event:${event}`;
    if (server.ALPNCallback) return 'tls-option:ALPNCallback';
    if (server[this.#keys.pskCallback]) return 'tls-option:pskCallback';
    if (server[this.#keys.enableTrace]) return 'tls-option:enableTrace';
    return undefined;
  }

  /** As Node: the last that was added wins. */
  #contextFor(name: string): object | undefined {
    return this.server._contexts.findLast(([pattern]) => pattern.test(name))?.[1];
  }

  #ask(connection: SecureConnection, name: string, callback: SniCallback): void {
    let answered = false;
    try {
      callback.call(connection.socket, name, (error, context) => {
        if (connection.destroyed && !answered) return;
        if (answered) {
          connection.socket.destroy(
            Object.assign(new Error('Callback called multiple times'), {
              code: 'ERR_MULTIPLE_CALLBACK',
            }),
          );
          return;
        }
        answered = true;
        if (error) connection.socket.destroy(error);
        else this.#choose(connection, contextOf(context));
      });
    } catch (error) {
      connection.socket.destroy(error as Error);
    }
  }

  #choose(connection: SecureConnection, chosen: object | undefined): void {
    if (connection.id < 0) return;
    const context = this.#native(chosen ?? this.server._sharedCreds.context);
    if (typeof context === 'string') {
      this.#fallBackToNodeTls(connection, context);
    } else if (!native.stackChoose(connection.id, context.context, this.#isWatched())) {
      this.#fallBackToNodeTls(connection, 'tls-parameters');
    } else {
      connection.secureContext = context;
    }
  }

  /** Whether other listeners get the end of handshakes, and may want the bytes that follow. */
  #isWatched(): boolean {
    return this.server.listenerCount('secureConnection') > 1;
  }

  #native(context: object): NativeContext | FallbackReason {
    let known = this.#contexts.get(context);
    if (known === undefined) {
      const { requestCert, rejectUnauthorized } = this.server;
      known = nativeContext(context, {
        requestCert,
        rejectUnauthorized,
        protocols: this.#protocols,
        ticketKeys: this.server.getTicketKeys(),
      });
      this.#contexts.set(context, known);
    }
    return known;
  }

  onSecure(
    connection: SecureConnection,
    name: string,
    suite: number,
    flags: number,
    verdict: number,
  ): void {
    const protocol = this.#protocols[(flags >> PROTOCOL_SHIFT) - 1]?.toString('latin1');
    connection.secureContext ??= this.#offered;
    const security = new Security(connection.id, suite, flags, connection.secureContext);
    this.#established(connection, security, name, protocol, verdict);
  }

  /** Another process, which shares the port, has the session; this one has the requests, and judges for itself. */
  onForwarded(
    connection: SecureConnection,
    name: string,
    suite: number,
    flags: number,
    protocol: string,
  ): void {
    const { server } = this;
    const found = name ? this.#contextFor(name) : undefined;
    const context = this.#native(found ?? server._sharedCreds.context);
    if (typeof context !== 'string') connection.secureContext = context;
    const known = flags & ASKED ? connection.secureContext : null;
    if (server.requestCert && server.rejectUnauthorized && known === null) {
      connection.socket.secureConnecting = false;
      connection.socket.destroy();
      return;
    }
    const verdict = known ? native.stackJudge(connection.id, known.context) : NOT_ASKED;
    const security = new Security(connection.id, suite, flags, connection.secureContext);
    this.#established(connection, security, name, protocol, verdict);
  }

  #established(
    connection: SecureConnection,
    security: Security,
    name: string,
    protocol: string | undefined,
    verdict: number,
  ): void {
    connection.security = security;
    connection.socket.servername = name || false;
    connection.socket.alpnProtocol = protocol || false;
    if (verdict === VALID) connection.socket.authorized = true;
    else if (verdict !== NOT_ASKED) {
      connection.socket.authorizationError = authorizationError(
        security.chain,
        security.authorities,
      );
      connection.socket.authorized = connection.socket.authorizationError === null;
      if (!connection.socket.authorized && this.server.rejectUnauthorized) {
        connection.socket.destroy();
        return;
      }
    }
    connection.socket.secureConnecting = false;
    connection.addServerListeners();
    if (this.server.timeout) this.startServerTimeout(connection);
    const { id } = connection;
    try {
      this.inListenContext(() => this.server.emit('secureConnection', connection.socket as never));
      readNewConnection(connection);
    } finally {
      // Unless a listener has closed the connection, or wants its bytes.
      if (connection.id === id) native.stackStartRequests(id);
    }
  }

  onTlsFailed(connection: SecureConnection, kind: number, alert: number, text: string): void {
    const error = tlsError(kind, alert, text);
    if (kind === TIMEOUT) this.onTlsError(connection, error);
    else connection.socket.destroy(error);
  }

  /** Emits 'tlsClientError' at most once, before anything else is emitted, as Node does. */
  onTlsError(connection: SecureConnection, error: Error): void {
    if (connection.refused) return;
    connection.refused = true;
    this.server.emit('tlsClientError', error, connection.socket as never);
  }

  override onEof(connection: Connection, middle: boolean): void {
    const { socket } = connection as SecureConnection;
    if (socket.secureConnecting) socket.destroy();
    else super.onEof(connection, middle);
  }

  override beforeClose(connection: Connection): void {
    const { socket } = connection as SecureConnection;
    if (!socket.secureConnecting || (connection.isStream && socket.errored)) return;
    const error = Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' });
    this.onTlsError(connection as SecureConnection, error);
  }

  // What Node's own code takes over.

  override fallBackForRawData(connection: Connection, injected?: Buffer): boolean {
    // The bytes are the session's.
    if ((connection as SecureConnection).speaksHttp2) return false;
    return super.fallBackForRawData(connection, injected);
  }

  /** Before anything was answered: the descriptor goes, with what the client has sent. */
  #fallBackToNodeTls(connection: SecureConnection, reason: FallbackReason, known = true): void {
    if (connection.id < 0) return;
    const { server } = this;
    const { fd, bytes } = native.stackRelease(connection.id);
    this.unregister(connection);
    this.countFallback(reason);
    const { allowHalfOpen, pauseOnConnect } = server;
    const options = { ...BOTH_SIDES, allowHalfOpen, pauseOnCreate: pauseOnConnect };
    const create = () => new net.Socket({ fd, ...options } as net.SocketConstructorOpts);
    const socket = connection.raw ?? NO_CONTEXT.runInAsyncScope(create);
    if (connection.raw) {
      openAsNodes(releaseRawSocket(connection.raw), fd);
      startReading(connection.raw, false);
    }
    Object.assign(socket, { server, _server: server });
    if (bytes.length > 0) socket.push(bytes);
    if (known) getNodeTlsConnection().call(server, socket as net.Socket);
    else this.inListenContext(announce, server, socket);
  }

  /** After an upgrade, or for a request that is not judged here: the descriptor cannot be given away, only the plaintext. */
  override fallBack(
    connection: Connection,
    bytes: Bytes | null,
    reason: FallbackReason,
    injected?: Buffer,
  ): void {
    fallBackByBytes(this, connection, bytes, reason, injected);
  }
}

/** What an SNI callback has given; without a context, the server's own counts. */
function contextOf(given: { context?: object } | undefined): object | undefined {
  const context: unknown = given?.context ?? given;
  return typeof context === 'object' && context !== null ? context : undefined;
}

const BOTH_SIDES = { readable: true, writable: true };

/** The protocols that a server offers: HTTP/2 as well, unless the application has a list of its own. */
function chooseProtocols(server: SecureHttpServer): Buffer[] {
  const protocols = parseProtocols(server.ALPNProtocols);
  const [first] = protocols;
  const isDefault = protocols.length === 1 && first?.toString() === 'http/1.1';
  return isDefault && speaksHttp2(server) ? [Buffer.from('h2'), ...protocols] : protocols;
}

/** Out of the form that TLS has for them (RFC 7301). */
function parseProtocols(encoded: Buffer | undefined): Buffer[] {
  const protocols: Buffer[] = [];
  for (let at = 0; encoded && at < encoded.length; ) {
    const end = at + 1 + (encoded[at] as number);
    protocols.push(encoded.subarray(at + 1, end));
    at = end;
  }
  return protocols;
}

export function isSecure(server: HttpServer): server is SecureHttpServer {
  return findHttpsPrototype(Object.getPrototypeOf(server)) !== undefined;
}

const HELLO = 12;
const SECURE = 13;
const FAILED = 14;
const FORWARDED = 16;
/** A flag of `FORWARDED`: the client was asked for a certificate. */
const ASKED = 4;
