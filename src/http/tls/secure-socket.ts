import { EventEmitter } from 'node:events';
import { NativeConnection } from '../connection/native-connection.js';
import { clearProgressTimer } from '../connection/progress.js';
import { createSockets, type SocketKind } from '../connection/socket-kinds.js';
import { kConnection, type SocketEvents } from '../node/node-internals.js';
import { type ConnectionContext, NO_CONTEXT } from '../reactor/contexts.js';
import { native } from '../reactor/native.js';
import type { HttpSocket, NativeServer } from '../state/connection.js';
import { nodeTls } from './node-tls.js';
import type { NativeContext } from './secure-context.js';
import { legacy, type Security } from './tls-state.js';

/** The socket of a TLS connection: a `tls.TLSSocket` for applications. */
export interface SecureSocket extends HttpSocket {
  encrypted: true;
  authorized: boolean;
  authorizationError: string | null;
  servername: string | false | null;
  alpnProtocol: string | false | null;
  secureConnecting: boolean;
  [kConnection]: SecureConnection;
}

/** What a TLS connection asks of its server. */
interface HandshakeServer extends NativeServer {
  onTlsError(connection: SecureConnection, error: Error): void;
}

/** A TLS connection whose records are the reactor's. */
export class SecureConnection extends NativeConnection {
  declare readonly nativeServer: HandshakeServer;
  declare socket: SecureSocket;
  /** The state of a finished handshake. */
  security: Security | null = null;
  /** What the server has chosen to show. */
  secureContext: NativeContext | null = null;
  /** The socket below TLS, if 'connection' listeners got it. */
  raw: HttpSocket | null = null;
  /** Whether the server has handled an error in the handshake. */
  refused = false;

  readonly #onHandshakeError = (error: Error) => this.nativeServer.onTlsError(this, error);

  // The server's come with the end of the handshake.
  protected override createListeners(): SocketEvents {
    if (!this.socket.secureConnecting) return super.createListeners();
    this.eventsCount = 1;
    return Object.assign(Object.create(null), { error: this.#onHandshakeError });
  }

  override get isHandshaking(): boolean {
    return this.socket.secureConnecting;
  }

  /** Whether its handshake has agreed on HTTP/2. */
  get speaksHttp2(): boolean {
    return this.socket.alpnProtocol === 'h2';
  }

  override get transportContext(): ConnectionContext {
    return NO_CONTEXT;
  }

  /** Handles an error of the socket below TLS, within the handshake or after it. */
  onRawError(error: Error): void {
    if (this.socket.secureConnecting) this.nativeServer.onTlsError(this, error);
    else this.socket.destroy(error);
  }

  override closeBelow(): void {
    if (this.raw === null) return;
    clearProgressTimer(this.raw);
    this.raw.destroy();
  }

  /** Adds the listeners of Node's HTTP code after the handshake; earlier listeners stay before them. */
  addServerListeners(): void {
    const { events: before, socket } = this;
    if (before === null) return;
    this.events = super.createListeners();
    for (const event of Reflect.ownKeys(before)) {
      for (const listener of [before[event] ?? []].flat()) {
        if (listener === this.#onHandshakeError) continue;
        EventEmitter.prototype.prependListener.call(socket, event, listener as never);
      }
    }
  }
}

type Export = (length: number, label: string, context?: Buffer) => Buffer;
/** Node's own `exportKeyingMaterial`. */
let nodeExport: Export;
let secure: SocketKind | undefined;

/** The sockets of TLS connections. */
export function getSecureSockets(): SocketKind {
  if (secure === undefined) {
    const { prototype } = nodeTls().TLSSocket;
    nodeExport = prototype.exportKeyingMaterial as Export;
    secure = createSockets(prototype, secureMembers());
  }
  return secure;
}

/** Sets what `tls.TLSSocket` sets on each socket. */
export function initializeSecureSocket(socket: SecureSocket): void {
  socket.encrypted = true;
  socket.authorized = false;
  socket.authorizationError = null;
  socket.servername = null;
  socket.alpnProtocol = null;
  socket.secureConnecting = true;
}

/** The values of Node if there are none. */
function unknownToRustls(this: SecureSocket) {
  return this.destroyed ? null : undefined;
}

const methods: ThisType<SecureSocket> & Record<string, unknown> = {
  getPeerCertificate(detailed?: boolean) {
    if (this.destroyed) return null;
    return this[kConnection].security?.peer(Boolean(detailed)) ?? {};
  },
  getPeerX509Certificate() {
    return this.destroyed ? undefined : this[kConnection].security?.chain[0];
  },
  getCertificate() {
    if (this.destroyed) return null;
    const own = this[kConnection].security?.own;
    return own ? legacy(own) : {};
  },
  getX509Certificate() {
    return this.destroyed ? undefined : this[kConnection].security?.own;
  },
  getCipher() {
    return this.destroyed ? null : this[kConnection].security?.cipher;
  },
  getProtocol() {
    return this.destroyed ? null : (this[kConnection].security?.protocol ?? null);
  },
  isSessionReused() {
    return this.destroyed ? null : (this[kConnection].security?.resumed ?? false);
  },
  getEphemeralKeyInfo: () => null,
  getSharedSigalgs: () => [],
  getSession: unknownToRustls,
  getTLSTicket: unknownToRustls,
  getFinished: unknownToRustls,
  getPeerFinished: unknownToRustls,
  exportKeyingMaterial(length: number, label: string, context?: Buffer) {
    // Node's own judges arguments and state.
    const { session, security } = this[kConnection];
    const { id } = session ?? this[kConnection];
    const _handle = {
      exportKeyingMaterial(...args: Parameters<Export>) {
        const material = native.stackExport(id, ...args);
        if (material) return material;
        throw Object.assign(new Error(`exportKeyingMaterial: ${length} bytes are too many`), {
          code: 'ERR_SSL_INTERNAL_ERROR',
        });
      },
    };
    const _secureEstablished = security !== null && id >= 0;
    return nodeExport.call({ _secureEstablished, _handle } as never, length, label, context);
  },
  renegotiate: () => false,
  disableRenegotiation() {},
  enableTrace() {},
  setMaxSendFragment: () => false,
  setKeyCert() {},
};

/** The members of a TLS connection that have no handle of OpenSSL below them here. */
function secureMembers(): PropertyDescriptorMap {
  const members: PropertyDescriptorMap = {
    _secureEstablished: {
      get(this: SecureSocket) {
        return !this.secureConnecting;
      },
      set(this: SecureSocket, value: unknown) {
        const own = { value, writable: true, enumerable: true, configurable: true };
        Object.defineProperty(this, '_secureEstablished', own);
      },
      configurable: true,
    },
  };
  for (const [name, value] of Object.entries(methods)) {
    members[name] = { value, writable: true, configurable: true };
  }
  return members;
}
