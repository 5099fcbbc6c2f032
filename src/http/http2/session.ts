import { EventEmitter } from 'node:events';
import timers from 'node:timers';
import { goAway } from '../connection/http2-session.js';
import type { Connection } from '../state/connection.js';
import * as errors from './errors.js';
import { IdleTimer } from './idle-timer.js';
import { INTERNAL_ERROR, NO_ERROR, nameOf, nodeHttp2 } from './node-http2.js';
import { throwUnsupported, trapMembers } from './unsupported.js';

/** Node's function, kept in case the application replaces the global one. */
const { setImmediate } = timers;

/** What an application may not do with the socket of a session. */
const FORBIDDEN = new Set<string | symbol>([
  ...['emit', 'end', 'pause', 'read', 'resume', 'write', 'setEncoding', 'setKeepAlive'],
  'setNoDelay',
]);
/** What the session does in the place of its socket. */
const OF_SESSION = new Set<string | symbol>(['setTimeout', 'ref', 'unref', 'destroy']);

/** The key under which Node's compatibility classes find the socket of a session. */
let kSocket: symbol | undefined;

/**
 * The session of a native connection of HTTP/2. It has those members of `ServerHttp2Session` that applications of Node's
 * compatibility classes use; the first use of another throws.
 */
export class Http2Session extends EventEmitter {
  /** That of a server, `NGHTTP2_SESSION_SERVER`. */
  readonly type = 0;
  readonly connecting = false;
  readonly encrypted: boolean;
  readonly alpnProtocol: string;
  closed = false;
  destroyed = false;
  /** The code with which it was destroyed. */
  code = NO_ERROR;
  #connection: Connection;
  #timer: IdleTimer | null = null;
  #socket: object | null = null;

  constructor(connection: Connection) {
    super();
    this.#connection = connection;
    this.encrypted = connection.nativeServer.isSecure;
    this.alpnProtocol = this.encrypted ? 'h2' : 'h2c';
    kSocket ??= findSocketKey();
    Object.defineProperty(this, kSocket, { get: () => connection.socket });
    process.nextTick(emitConnect, this, connection);
  }

  /** The session of a connection. */
  static of(connection: Connection): Http2Session {
    connection.http2 ??= new Http2Session(connection);
    return connection.http2 as Http2Session;
  }

  /** The socket, for all but what would disturb the session. */
  get socket(): object {
    this.#socket ??= new Proxy(this.#connection.socket, {
      get: (socket, name) => {
        if (FORBIDDEN.has(name)) throw errors.noSocketManipulation();
        if (OF_SESSION.has(name)) return (Reflect.get(this, name) as () => void).bind(this);
        const value = Reflect.get(socket, name, socket);
        return typeof value === 'function' ? value.bind(socket) : value;
      },
      set: (socket, name, value) => {
        if (FORBIDDEN.has(name)) throw errors.noSocketManipulation();
        if (OF_SESSION.has(name)) return Reflect.set(this, name, value);
        return Reflect.set(socket, name, value, socket);
      },
    });
    return this.#socket;
  }

  override on(event: string | symbol, listener: (...args: never[]) => void): this {
    // Streams go to the server's listeners alone.
    if (event === 'stream') throwUnsupported(this.#connection, 'session', "on('stream')");
    return super.on(event, listener as never);
  }
  override addListener(event: string | symbol, listener: (...args: never[]) => void): this {
    return this.on(event, listener);
  }

  /** Lets the streams finish that are open, then ends. */
  close(callback?: () => void): void {
    if (this.closed || this.destroyed) return;
    this.closed = true;
    if (typeof callback === 'function') this.once('close', callback);
    goAway(this.#connection);
  }

  /** Ends at once, with its streams. */
  destroy(error: Error | number = NO_ERROR, code?: number): void {
    if (this.destroyed) return;
    let cause: Error | undefined;
    if (typeof error === 'number') {
      this.code = error;
      if (error !== NO_ERROR) cause = errors.sessionError(nameOf(error));
    } else {
      cause = error;
      this.code = code ?? INTERNAL_ERROR;
    }
    this.closed = true;
    if (cause !== undefined) process.nextTick(emitError, this, cause);
    this.#connection.socket.destroy();
  }

  setTimeout(ms: number, callback?: () => void): this {
    if (this.destroyed) return this;
    this.#timer ??= new IdleTimer(this);
    this.#timer.set(ms, callback);
    return this;
  }
  get timeout(): number {
    return this.#timer?.ms ?? 0;
  }
  refresh(): void {
    this.#timer?.refresh();
  }

  ref(): void {
    this.#connection.setReferenced(true);
  }
  unref(): void {
    this.#connection.setReferenced(false);
  }

  /** The connection is gone. */
  onClosed(): void {
    if (this.destroyed) return;
    this.closed = this.destroyed = true;
    this.#timer?.stop();
    setImmediate(emitClose, this);
  }

  static connectionOf(session: Http2Session): Connection {
    return session.#connection;
  }
}

trapMembers(
  Http2Session.prototype,
  'session',
  [
    ...['altsvc', 'goaway', 'localSettings', 'origin', 'originSet', 'pendingSettingsAck', 'ping'],
    ...['remoteSettings', 'setLocalWindowSize', 'settings', 'state'],
  ],
  Http2Session.connectionOf,
);

function emitConnect(session: Http2Session, { socket }: Connection): void {
  session.emit('connect', session, socket);
}

function emitError(session: Http2Session, error: Error): void {
  if (session.listenerCount('error') > 0) session.emit('error', error);
}

function emitClose(session: Http2Session): void {
  session.emit('close');
}

/** Asks Node's own class for the key: it reads what is there of a session. */
function findSocketKey(): symbol {
  let found: symbol | undefined;
  const session = new Proxy(
    {},
    {
      get(_target, key) {
        if (typeof key === 'symbol') found = key;
        return {};
      },
    },
  );
  const stream = Object.assign(new EventEmitter(), { session });
  const request = new (nodeHttp2().Http2ServerRequest)(stream as never, {}, {}, []);
  void (request.socket as unknown as Record<string, unknown>).encrypted;
  return found ?? Symbol('socket');
}
