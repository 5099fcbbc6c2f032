import { EventEmitter } from 'node:events';
import { ServerSocket } from '../connection/socket.js';
import type { Events } from '../fallback/node-listeners.js';
import { native } from '../reactor/native.js';
import { nodeTls } from './node-tls.js';
import type { NativeContext } from './secure-context.js';
import type { SecureServer } from './secure-server.js';
import { legacy, type Security } from './tls-state.js';

/** Properties of `tls.TLSSocket`. */
interface SecureProperties {
  encrypted: true;
  authorized: boolean;
  authorizationError: string | null;
  servername: string | false | null;
  alpnProtocol: string | false | null;
  secureConnecting: boolean;
  /** The state of a finished handshake. */
  security: Security | null;
  /** Number of the connection in the reactor. */
  nativeId: number;
  destroyed: boolean;
}

/** The socket of a TLS connection that the reactor owns: a `tls.TLSSocket` to look at. */
export class SecureSocket extends ServerSocket implements SecureProperties {
  declare readonly nativeServer: SecureServer;
  readonly encrypted = true;
  authorized = false;
  authorizationError: string | null = null;
  servername: string | false | null = null;
  alpnProtocol: string | false | null = null;
  secureConnecting = true;
  security: Security | null = null;
  /** What the server has chosen to show. */
  secureContext: NativeContext | null = null;
  /** The socket that 'connection' listeners got. */
  underlying: Underlying | null = null;
  /** Whether the server has handled an error in the handshake. */
  refused = false;

  get _secureEstablished() {
    return !this.secureConnecting;
  }

  override get allowHalfOpen() {
    return this.nativeServer.server.allowHalfOpen;
  }
  override set allowHalfOpen(_value: boolean) {}

  // The server's come with the end of the handshake.
  protected override nodeListeners(): Events {
    return this.secureConnecting ? Object.create(null) : super.nodeListeners();
  }
  /** From now on it is the server's: what listens already has come first. */
  hearAsServer(): void {
    if (!this.isObserved) return;
    const before = this._events;
    this._events = super.nodeListeners();
    for (const event of Reflect.ownKeys(before)) {
      for (const listener of [before[event] ?? []].flat()) {
        EventEmitter.prototype.prependListener.call(this, event, listener as never);
      }
    }
  }
}

type Export = (length: number, label: string, context?: Buffer) => Buffer;
/** Node's own `exportKeyingMaterial`. */
let nodeExport: Export;

/** Makes a `SecureSocket` a `tls.TLSSocket` by its prototypes, with the methods of a `ServerSocket` before them; once. */
export function prepareSecureSockets(): void {
  if (nodeExport !== undefined) return;
  const { TLSSocket } = nodeTls();
  nodeExport = TLSSocket.prototype.exportKeyingMaterial as Export;
  const between = Object.getOwnPropertyDescriptors(ServerSocket.prototype);
  Object.setPrototypeOf(SecureSocket.prototype, Object.create(TLSSocket.prototype, between));
  addSecureMethods(SecureSocket.prototype);
  Object.defineProperty(SecureSocket.prototype, 'constructor', {
    value: TLSSocket,
    writable: true,
    configurable: true,
  });
}

/** The values of Node if there are none. */
function unknownToRustls(this: SecureProperties) {
  return this.destroyed ? null : undefined;
}

const methods: ThisType<SecureProperties> & Record<string, unknown> = {
  getPeerCertificate(detailed?: boolean) {
    if (this.destroyed) return null;
    return this.security?.peer(Boolean(detailed)) ?? {};
  },
  getPeerX509Certificate() {
    return this.destroyed ? undefined : this.security?.chain[0];
  },
  getCertificate() {
    if (this.destroyed) return null;
    const own = this.security?.own;
    return own ? legacy(own) : {};
  },
  getX509Certificate() {
    return this.destroyed ? undefined : this.security?.own;
  },
  getCipher() {
    return this.destroyed ? null : this.security?.cipher;
  },
  getProtocol() {
    return this.destroyed ? null : (this.security?.protocol ?? null);
  },
  isSessionReused() {
    return this.destroyed ? null : (this.security?.resumed ?? false);
  },
  getEphemeralKeyInfo: () => null,
  getSharedSigalgs: () => [],
  getSession: unknownToRustls,
  getTLSTicket: unknownToRustls,
  getFinished: unknownToRustls,
  getPeerFinished: unknownToRustls,
  exportKeyingMaterial(length: number, label: string, context?: Buffer) {
    // Node's own judges arguments and state.
    const { nativeId: id } = this;
    const _handle = {
      exportKeyingMaterial(...args: Parameters<Export>) {
        const material = native.stackExport(id, ...args);
        if (material) return material;
        throw Object.assign(new Error(`exportKeyingMaterial: ${length} bytes are too many`), {
          code: 'ERR_SSL_INTERNAL_ERROR',
        });
      },
    };
    const _secureEstablished = this.security !== null && id >= 0;
    return nodeExport.call({ _secureEstablished, _handle } as never, length, label, context);
  },
  renegotiate: () => false,
  disableRenegotiation() {},
  enableTrace() {},
  setMaxSendFragment: () => false,
  setKeyCert() {},
};

/** Adds the properties of a TLS connection to a prototype. */
export function addSecureMethods(prototype: object): void {
  for (const [name, value] of Object.entries(methods)) {
    Object.defineProperty(prototype, name, { value, writable: true, configurable: true });
  }
}

/** The socket that 'connection' listeners of a TLS server get: the connection below TLS. */
export class Underlying extends ServerSocket {
  readonly #secure: SecureSocket;

  constructor(secure: SecureSocket) {
    super(secure.nativeId, secure.nativeServer);
    this.#secure = secure;
    secure.once('close', (hadError: boolean) => {
      this.nativeId = -1;
      this.emit('close', hadError);
    });
  }
  protected override nodeListeners(): Events {
    return Object.create(null);
  }
  override get destroyed() {
    return this.#secure.destroyed;
  }
  override destroy(error?: Error | null): this {
    this.#secure.destroy(error);
    return this;
  }
  override end(): this {
    this.#secure.end();
    return this;
  }
  // Its bytes are TLS, and the reactor's: nothing can be read, written or made up.
  override write(): boolean {
    return false;
  }
  override push(): boolean {
    return false;
  }
  unshift(): void {}
}

for (const name of ['on', 'addListener'] as const) {
  Object.defineProperty(Underlying.prototype, name, {
    value: EventEmitter.prototype[name],
    writable: true,
    configurable: true,
  });
}
