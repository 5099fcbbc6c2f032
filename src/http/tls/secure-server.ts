import net from 'node:net';
import { announce, connections } from '../connection/announce.js';
import { ServerSocket } from '../connection/socket.js';
import { attachParser, type Carried, carry } from '../fallback/carried-state.js';
import {
  abortWithin,
  type Bytes,
  countingFrom,
  countRequests,
  deliver,
  leavesHttp,
} from '../fallback/node-handoff.js';
import { inPackets } from '../fallback/node-parser.js';
import { internalKey } from '../install/node-internals.js';
import { emit } from '../install/node-methods.js';
import { unreadOffset } from '../reactor/event-batch.js';
import { reference } from '../reactor/loop-reference.js';
import { input, native } from '../reactor/native.js';
import { flushAll } from '../response/output-buffer.js';
import { type HttpServer, NativeServer, sockets } from '../server/native-server.js';
import { authorizationError } from './client-certificate.js';
import { findHttpsPrototype, nodeTls } from './node-tls.js';
import { type NativeContext, nativeContext } from './secure-context.js';
import { prepareSecureSockets, SecureSocket, Underlying } from './secure-socket.js';
import { becomeStream, Carrier, type SecureStream, startRaw } from './secure-stream.js';
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
const FOREIGN_EVENTS = ['keylog', 'newSession', 'resumeSession', 'OCSPRequest'];

/** Verdicts on a client's certificate, as `crates/stack/src/batch.rs` numbers them. */
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
  #contexts = new WeakMap<object, NativeContext | string>();
  readonly #carriers = new Set<ServerSocket>();
  readonly #protocols: Buffer[];
  readonly #keys: ReturnType<typeof findKeys>;
  /** The context for handshakes while the event loop is busy. */
  #offered: NativeContext | null = null;

  constructor(server: SecureHttpServer) {
    super(server);
    prepareSecureSockets();
    this.#keys = findKeys(server);
    this.#protocols = parseProtocols(server.ALPNProtocols);
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
      this.#foreign() || this.#isWatched() || this.requiresAdmission || server.requestCert;
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

  protected override create(id: number): ServerSocket {
    return new SecureSocket(id, this);
  }

  /** Contexts are created again, as ticket keys have changed. */
  forgetContexts(): void {
    this.#contexts = new WeakMap();
    this.#offerContext();
  }

  override connected(socket: ServerSocket): void {
    if (!this.stands('connection')) {
      this.#handOverTls(socket as SecureSocket, 'connection wanted', false);
      return;
    }
    // One listener is ours.
    const isHeard =
      this.server.listenerCount('connection') > 1 || (this.server.emit as unknown) !== emit;
    if (!isHeard && !connections.hasSubscribers) return;
    const underlying = new Underlying(socket as SecureSocket);
    (socket as SecureSocket).underlying = underlying;
    this.inListenContext(announce, this.server, underlying);
  }

  /** As with Node, a connection is one of HTTP when its handshake is done. */
  override closeAll(): void {
    for (const socket of this.connections) {
      if (!(socket as SecureSocket).secureConnecting) socket.destroy();
    }
  }

  // The handshake.

  /** Handles the first message of a client's handshake. */
  onHello(socket: SecureSocket, name: string, unsure: boolean): void {
    const reason = unsure ? 'TLS unusual' : this.#foreign();
    if (reason) {
      this.#handOverTls(socket, reason);
      return;
    }
    const callback = this.server[this.#keys.sniCallback] as SniCallback | undefined;
    if (name && callback) this.#ask(socket, name, callback);
    else this.#choose(socket, name ? this.#contextFor(name) : undefined);
  }

  #foreign(): string | undefined {
    const { server } = this;
    const event = FOREIGN_EVENTS.find((name) => server.listenerCount(name) > 0);
    if (event) return `TLS event ${event}`;
    if (server.ALPNCallback) return 'TLS option ALPNCallback';
    if (server[this.#keys.pskCallback]) return 'TLS option pskCallback';
    if (server[this.#keys.enableTrace]) return 'TLS option enableTrace';
    if (server.pauseOnConnect) return 'TLS option pauseOnConnect';
    return undefined;
  }

  /** As Node: the last that was added wins. */
  #contextFor(name: string): object | undefined {
    return this.server._contexts.findLast(([pattern]) => pattern.test(name))?.[1];
  }

  #ask(socket: SecureSocket, name: string, callback: SniCallback): void {
    let answered = false;
    try {
      callback.call(socket, name, (error, context) => {
        if (socket.destroyed && !answered) return;
        if (answered) {
          socket.destroy(
            Object.assign(new Error('Callback called multiple times'), {
              code: 'ERR_MULTIPLE_CALLBACK',
            }),
          );
          return;
        }
        answered = true;
        if (error) socket.destroy(error);
        else this.#choose(socket, context ? (context.context ?? context) : undefined);
      });
    } catch (error) {
      socket.destroy(error as Error);
    }
  }

  #choose(socket: SecureSocket, chosen: object | undefined): void {
    if (socket.nativeId < 0) return;
    const context = this.#native(chosen ?? this.server._sharedCreds.context);
    if (typeof context === 'string') {
      this.#handOverTls(socket, context);
    } else if (!native.stackChoose(socket.nativeId, context.context, this.#isWatched())) {
      this.#handOverTls(socket, 'TLS parameters');
    } else {
      socket.secureContext = context;
    }
  }

  /** Whether other listeners get the end of handshakes, and may want the bytes that follow. */
  #isWatched(): boolean {
    return this.server.listenerCount('secureConnection') > 1;
  }

  #native(context: object): NativeContext | string {
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
    socket: SecureSocket,
    name: string,
    suite: number,
    flags: number,
    verdict: number,
  ): void {
    const protocol = this.#protocols[(flags >> PROTOCOL_SHIFT) - 1]?.toString('latin1');
    socket.secureContext ??= this.#offered;
    const security = new Security(socket.nativeId, suite, flags, socket.secureContext);
    this.#established(socket, security, name, protocol, verdict);
  }

  /** Another process, which shares the port, has the session; this one has the requests, and judges for itself. */
  onForwarded(
    socket: SecureSocket,
    name: string,
    suite: number,
    flags: number,
    protocol: string,
  ): void {
    const { server } = this;
    const found = name ? this.#contextFor(name) : undefined;
    const context = this.#native(found ?? server._sharedCreds.context);
    if (typeof context !== 'string') socket.secureContext = context;
    const known = flags & ASKED ? socket.secureContext : null;
    if (server.requestCert && server.rejectUnauthorized && known === null) {
      socket.secureConnecting = false;
      socket.destroy();
      return;
    }
    const verdict = known ? native.stackJudge(socket.nativeId, known.context) : NOT_ASKED;
    const security = new Security(socket.nativeId, suite, flags, socket.secureContext);
    this.#established(socket, security, name, protocol, verdict);
  }

  #established(
    socket: SecureSocket,
    security: Security,
    name: string,
    protocol: string | undefined,
    verdict: number,
  ): void {
    socket.security = security;
    socket.servername = name || false;
    socket.alpnProtocol = protocol || false;
    if (verdict === VALID) socket.authorized = true;
    else if (verdict !== NOT_ASKED) {
      socket.authorizationError = authorizationError(security.chain, security.authorities);
      socket.authorized = socket.authorizationError === null;
      if (!socket.authorized && this.server.rejectUnauthorized) {
        socket.destroy();
        return;
      }
    }
    socket.secureConnecting = false;
    socket.hearAsServer();
    if (this.server.timeout) socket.setTimeout(this.server.timeout);
    const { nativeId: id } = socket;
    try {
      this.inListenContext(() => this.server.emit('secureConnection', socket as never));
    } finally {
      // Unless a listener has closed the connection, or wants its bytes.
      if (socket.nativeId === id) native.stackStartRequests(id);
    }
  }

  onTlsFailed(socket: SecureSocket, kind: number, alert: number, text: string): void {
    const error = tlsError(kind, alert, text);
    if (kind === TIMEOUT) this.onTlsError(socket, error);
    else socket.destroy(error);
  }

  /** Emits 'tlsClientError' at most once, before anything else is emitted, as Node does. */
  onTlsError(socket: SecureSocket, error: Error): void {
    if (socket.refused) return;
    socket.refused = true;
    this.server.emit('tlsClientError', error, socket as never);
  }

  override onSocketError(socket: ServerSocket, error: Error): void {
    if (socket instanceof SecureSocket && socket.secureConnecting) {
      this.onTlsError(socket, error);
      if (socket.listenerCount('error') === 0) return;
    }
    super.onSocketError(socket, error);
  }

  override onEof(socket: ServerSocket, middle: boolean): void {
    if (socket instanceof Carrier) socket.onEof();
    else if ((socket as SecureSocket).secureConnecting) socket.destroy();
    else super.onEof(socket, middle);
  }

  override onClose(socket: ServerSocket): void {
    if (socket instanceof SecureSocket && socket.secureConnecting && !socket._hadError) {
      const error = Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' });
      this.onTlsError(socket, error);
    }
    super.onClose(socket);
  }

  // What Node's own code takes over.

  /** Before anything was answered: the descriptor goes, with what the client has sent. */
  #handOverTls(socket: SecureSocket, reason: string, known = true): void {
    if (socket.nativeId < 0) return;
    const { server } = this;
    const { fd, bytes } = native.stackRelease(socket.nativeId);
    this.forget(socket);
    this.countFallback(reason);
    const options = { fd, readable: true, writable: true, allowHalfOpen: server.allowHalfOpen };
    const ordinary = this.#ordinary(socket, options);
    ordinary.server = server;
    ordinary._server = server;
    if (bytes.length > 0) ordinary.push(bytes);
    if (known) getNodeTlsConnection().call(server, ordinary);
    else this.inListenContext(announce, server, ordinary);
  }

  /** Turns the socket that 'connection' listeners got into an ordinary one; creates one if there were none. */
  #ordinary(socket: SecureSocket, options: object): OrdinarySocket {
    const publicSocket = socket.underlying as object | null;
    if (!publicSocket)
      return new net.Socket(options as net.SocketConstructorOpts) as OrdinarySocket;
    for (const key of Object.keys(new ServerSocket(-1, this))) {
      if (!key.startsWith('_events') && key !== '_maxListeners') {
        delete (publicSocket as Record<string, unknown>)[key];
      }
    }
    Object.setPrototypeOf(publicSocket, net.Socket.prototype);
    (net.Socket as unknown as (this: object, options: object) => void).call(publicSocket, options);
    return publicSocket as OrdinarySocket;
  }

  /** After an upgrade, or for a request that is not judged here: only the text can go. */
  override fallBack(socket: ServerSocket, bytes: Bytes | null, reason: string): void {
    // Requests that the batch contains cannot be read as bytes any more.
    if (socket.nativeId < 0 || unreadOffset(socket.nativeId) !== -1) return;
    flushAll();
    if (socket.queued > 0) {
      // What has been sent leaves first.
      socket.afterWrite(() => this.fallBack(socket, bytes, reason));
      return;
    }
    const carried = carry(this, socket, bytes !== null);
    this.inParser(socket, leavesHttp(reason, bytes?.bytes), () => {
      const stream = this.#release(socket as SecureSocket, reason, carried);
      // Bytes that the reactor did not parse come from here.
      if (bytes) native.stackProceedRaw(stream.carrier.nativeId);
      else startRaw(stream.carrier);
      attachParser(socket, stream, countingFrom(this.server, socket.requestsCount), carried);
      // Not the one that counts.
      stream.server = this.server;
      countRequests(this, stream);
      abortWithin(socket, stream, reason);
      // The parser's alone, as where there is no TLS.
      if (bytes) deliver(stream, inPackets(bytes.bytes, bytes.packet));
    });
  }

  #release(socket: SecureSocket, reason: string, carried: Carried): SecureStream {
    const { nativeId: id } = socket;
    socket.nativeHandle?.close();
    this.forget(socket);
    this.countFallback(reason);
    const stream = becomeStream(socket, this, id, carried);
    const { carrier } = stream;
    sockets[id] = carrier;
    this.#carriers.add(carrier);
    reference(1);
    if (!carried.referenced) carrier.unref();
    return stream;
  }

  override forget(socket: ServerSocket): void {
    if (!this.#carriers.delete(socket)) {
      super.forget(socket);
      return;
    }
    sockets[socket.nativeId] = null;
    socket.nativeId = -1;
    reference(-1);
  }
}

interface OrdinarySocket extends net.Socket {
  server: net.Server;
  _server: net.Server;
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

/** Dispatches the TLS events of the reactor. */
export function takeSecure(socket: ServerSocket, kind: number, event: Int32Array): void {
  if (!(socket instanceof SecureSocket)) return;
  const [a = 0, b = 0, c = 0, d = 0, e = 0] = event;
  if (kind === HELLO) socket.nativeServer.onHello(socket, input.latin1Slice(a, a + b), c === 1);
  else if (kind === SECURE)
    socket.nativeServer.onSecure(socket, input.latin1Slice(a, a + b), c, d, e);
  else if (kind === FORWARDED) {
    const protocol = input.latin1Slice(a + b, a + b + e);
    socket.nativeServer.onForwarded(socket, input.latin1Slice(a, a + b), c, d, protocol);
  } else if (kind === FAILED)
    socket.nativeServer.onTlsFailed(socket, a, b, input.latin1Slice(c, c + d));
}

const HELLO = 12;
const SECURE = 13;
const FAILED = 14;
const FORWARDED = 16;
/** A flag of `FORWARDED`: the client was asked for a certificate. */
const ASKED = 4;
