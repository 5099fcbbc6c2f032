import { EventEmitter } from 'node:events';
import net from 'node:net';
import type tls from 'node:tls';
import { ServerSocket } from '../connection/socket.js';
import type { Carried } from '../fallback/carried-state.js';
import type { Events } from '../fallback/node-listeners.js';
import { native } from '../reactor/native.js';
import { nodeTls } from './node-tls.js';
import type { SecureServer } from './secure-server.js';
import { addSecureMethods, type SecureSocket } from './secure-socket.js';

type Callback = (error?: Error | null) => void;

/** Carries the text of a TLS connection whose socket has become a stream. */
export class Carrier extends ServerSocket {
  readonly stream: SecureStream;
  /** Errors are the stream's. */
  override failed = true;

  constructor(id: number, nativeServer: SecureServer, stream: SecureStream) {
    super(id, nativeServer);
    this.stream = stream;
    this.foreign = {
      expectsMore: false,
      take: (bytes) => {
        if (!stream.push(bytes)) this.pause();
        return null;
      },
    };
  }
  protected override nodeListeners(): Events {
    return Object.create(null);
  }
  /** The peer has ended. */
  onEof(): void {
    this.readableEnded = true;
    this.stream.push(null);
    // Where nobody reads, the end is heard of as well.
    this.stream.read(0);
  }
  override emit(event: string | symbol, ...args: unknown[]): boolean {
    if (event === 'error') {
      this.stream.destroy(args[0] as Error);
      return true;
    }
    return EventEmitter.prototype.emit.call(this, event, ...args);
  }
}

/**
 * The socket of a TLS connection that Node's own code reads and writes: after an upgrade, or for a request that the
 * reactor does not judge. The descriptor cannot be given away, only the text.
 */
export interface SecureStream extends tls.TLSSocket {
  carrier: Carrier;
  _server: net.Server | null;
  server: net.Server;
}

/** Turns a native socket into a stream; the same object, as listeners and applications may hold it. */
export function becomeStream(
  socket: SecureSocket,
  nativeServer: SecureServer,
  id: number,
  carried: Carried,
): SecureStream {
  const { server } = socket;
  for (const key of REPLACED) delete (socket as unknown as Record<string, unknown>)[key];
  prototype ??= createPrototype();
  Object.setPrototypeOf(socket, prototype);
  const stream = socket as unknown as SecureStream;
  (net.Socket as unknown as (this: net.Socket, options: object) => void).call(stream, {
    allowHalfOpen: nativeServer.server.allowHalfOpen,
    readable: true,
    writable: true,
  });
  stream._server = server;
  stream.carrier = new Carrier(id, nativeServer, stream);
  stream.carrier.knownPeer = carried.peer;
  stream.carrier.sent = carried.bytesWritten;
  if (carried.paused) {
    stream.carrier.pausedReading = true;
    stream.pause();
  }
  stream.carrier.once('close', () => {
    if (!stream.destroyed) stream.destroy();
  });
  return stream;
}

/** What a native socket keeps in properties and a stream asks its state for. */
const REPLACED = [
  ...['readableEnded', 'writableEnded', 'writableFinished', 'sent'],
  ...['timeout', '_paused', '_hadError', '_parent', 'nativeId'],
];

const own: ThisType<SecureStream> & Record<string, unknown> = {
  _read() {
    this.carrier.resume();
  },
  _write(chunk: Buffer, _encoding: string, done: Callback) {
    send(this.carrier, [chunk], done);
  },
  _writev(chunks: { chunk: Buffer }[], done: Callback) {
    send(
      this.carrier,
      chunks.map(({ chunk }) => chunk),
      done,
    );
  },
  _final(done: Callback) {
    if (this.carrier.destroyed) done();
    else this.carrier.end(undefined, undefined, () => done());
  },
  _destroy(error: Error | null, done: Callback) {
    const { carrier } = this;
    this.setTimeout(0);
    done(error);
    const close = () => this.emit('close', Boolean(error));
    if (carrier.isCloseEmitted) process.nextTick(close);
    else {
      carrier.once('close', close);
      carrier.destroy();
    }
  },
  _getpeername() {
    return this.carrier._getpeername();
  },
  _getsockname() {
    return this.carrier._getsockname();
  },
  address() {
    return this.carrier.address();
  },
  setNoDelay(on?: boolean) {
    this.carrier.setNoDelay(on);
    return this;
  },
  setKeepAlive(on?: boolean, delay?: number) {
    this.carrier.setKeepAlive(on, delay);
    return this;
  },
  ref() {
    this.carrier.ref();
    return this;
  },
  unref() {
    this.carrier.unref();
    return this;
  },
};

function send(carrier: Carrier, chunks: Buffer[], done: Callback): void {
  if (carrier.destroyed) {
    done(Object.assign(new Error('This socket has been ended'), { code: 'EPIPE' }));
    return;
  }
  carrier.cork();
  for (const chunk of chunks) carrier.write(chunk);
  carrier.uncork();
  carrier.afterWrite(done);
}

let prototype: object | undefined;

function createPrototype(): object {
  const created: object = Object.create(nodeTls().TLSSocket.prototype);
  for (const [name, value] of Object.entries(own)) {
    Object.defineProperty(created, name, { value, writable: true, configurable: true });
  }
  for (const [name, get] of Object.entries({
    nativeId(this: SecureStream) {
      return this.carrier.nativeId;
    },
    bytesRead(this: SecureStream) {
      return this.carrier.bytesRead;
    },
    bytesWritten(this: SecureStream) {
      return this.carrier.bytesWritten;
    },
    pending(this: SecureStream) {
      return this.carrier.nativeId < 0;
    },
  })) {
    Object.defineProperty(created, name, { get, configurable: true });
  }
  addSecureMethods(created);
  return created;
}

/** Lets the reactor hand the rest of a connection's text on as it comes. */
export function startRaw(carrier: Carrier): void {
  native.stackRaw(carrier.nativeId);
}
