import { Socket } from 'node:net';
import { ignoreErrors } from '../runtime/clock.cjs';
import type { Call, Calls } from './calls.cjs';

type Write = (this: Socket, ...given: unknown[]) => void;
type Push = (this: Socket, chunk: unknown, encoding?: BufferEncoding) => boolean;

/** What Node's own `net.js` calls for each write, and for each chunk that was read. */
interface Prototype {
  _writeGeneric?: Write;
  push: Push;
}

interface Internals {
  /** Of a connection that was accepted. */
  server?: unknown;
  /** The name that was connected to, if it was none of an address. */
  _host?: string | null;
}

const prototype = Socket.prototype as unknown as Prototype;

/**
 * Questions and answers on the connections that the process has opened, whatever their protocol (databases, caches,
 * queues): a question begins with a write where none is open, and its answer with the next bytes. On a connection that
 * carries several at once it is the first that counts. Those of HTTP are seen by their own means, and left out.
 */
export class TcpExchanges {
  readonly #calls: Calls;
  readonly #open = new Map<Socket, Call>();
  readonly #names = new WeakMap<Socket, string>();
  readonly #opened = new WeakSet<Socket>();
  #forcesNoDelay = false;
  /** Connections that hold back what is small (Nagle), and do not for now. */
  readonly #restoreNoDelay = new Map<Socket, () => void>();
  #noDelayCount = 0;
  #isObserving = false;
  #restore: (() => void) | null = null;

  constructor(calls: Calls) {
    this.#calls = calls;
  }

  observe(on: boolean): void {
    if (on === this.#isObserving) return;
    this.#isObserving = on;
    this.#watchWrites();
    if (on) return;
    for (const call of this.#open.values()) call.markEnded(true);
    this.#open.clear();
  }

  /** Lets connections send at once what they are given, or as the application wants it again; how many it made a difference to. */
  setNoDelay(on: boolean): number {
    this.#forcesNoDelay = on;
    this.#watchWrites();
    const count = this.#noDelayCount;
    this.#noDelayCount = 0;
    if (on) return count;
    for (const restore of this.#restoreNoDelay.values()) restore();
    this.#restoreNoDelay.clear();
    return count;
  }

  /** Ends those whose connection has gone, and looks at the others. */
  sweep(): void {
    for (const socket of this.#restoreNoDelay.keys())
      if (socket.destroyed) this.#restoreNoDelay.delete(socket);
    for (const socket of this.#open.keys()) {
      if (socket.destroyed) this.#end(socket, true);
      else if (usesNagle(socket)) this.#calls.addNagleSample(`tcp://${this.#findName(socket)}`);
    }
  }

  /** The application may say meanwhile how it wants it: then that is what it gets. */
  #forceNoDelay(socket: Socket): void {
    let wanted = false;
    const { setNoDelay } = socket;
    socket.setNoDelay(true);
    socket.setNoDelay = (noDelay = true) => {
      wanted = noDelay;
      return socket;
    };
    this.#noDelayCount++;
    this.#restoreNoDelay.set(socket, () => {
      Reflect.deleteProperty(socket, 'setNoDelay');
      setNoDelay.call(socket, wanted);
    });
  }

  /** Connections are found as something is written to them, also while nothing is observed. */
  #watchWrites(): void {
    const wanted = this.#isObserving || this.#forcesNoDelay;
    if (wanted) this.#restore ??= this.#patch();
    else {
      this.#restore?.();
      this.#restore = null;
    }
  }

  #patch(): () => void {
    const write = prototype._writeGeneric;
    const { push } = prototype;
    // Where Node has no such method any more, nothing is seen.
    if (!write) return () => {};
    const [asked, answered] = [ignoreErrors(this.#onWrite), ignoreErrors(this.#onRead)];
    const open = this.#open;
    const seenWrite: Write = function (...given) {
      if (!(this as Internals).server) asked(this);
      return write.apply(this, given);
    };
    const seenPush: Push = function (chunk, encoding) {
      if (open.has(this)) answered(this, chunk);
      return push.call(this, chunk, encoding);
    };
    const inherited = !Object.hasOwn(prototype, 'push');
    prototype._writeGeneric = seenWrite;
    prototype.push = seenPush;
    return () => {
      // What somebody else has put over it keeps calling it.
      if (prototype._writeGeneric === seenWrite) prototype._writeGeneric = write;
      if (prototype.push !== seenPush) return;
      if (inherited) Reflect.deleteProperty(prototype, 'push');
      else prototype.push = push;
    };
  }

  readonly #onWrite = (socket: Socket): void => {
    if (this.#restore === null) return;
    if (this.#forcesNoDelay && this.#findName(socket) !== '' && usesNagle(socket))
      this.#forceNoDelay(socket);
    if (!this.#isObserving || this.#open.has(socket)) return;
    const name = this.#findName(socket);
    if (name === '' || this.#calls.isHttp(name)) return;
    const origin = `tcp://${name}`;
    if (!this.#opened.has(socket)) {
      this.#opened.add(socket);
      this.#calls.addConnection(origin);
    }
    const call = this.#calls.begin(origin, null);
    call.markSent();
    this.#open.set(socket, call);
  };

  readonly #onRead = (socket: Socket, chunk: unknown): void => this.#end(socket, chunk === null);

  /** `host:port`; empty for what has no address, as the probe's own connection. */
  #findName(socket: Socket): string {
    const known = this.#names.get(socket);
    if (known !== undefined) return known;
    const { remoteAddress, remotePort } = socket;
    // Not connected yet: what it has to say is sent when it is.
    if (remoteAddress === undefined && socket.connecting) return '';
    const host = (socket as Internals)._host ?? remoteAddress;
    const name = host === undefined ? '' : `${bracketIpv6(host)}:${remotePort}`;
    this.#names.set(socket, name);
    return name;
  }

  #end(socket: Socket, failed: boolean): void {
    this.#open.get(socket)?.markEnded(failed);
    this.#open.delete(socket);
  }
}

/** Whether Nagle's algorithm is on, which only a symbol of Node's tells. Of TLS it tells nothing of the connection below. */
function usesNagle(socket: Socket): boolean {
  if ('encrypted' in socket) return false;
  const mark = Object.getOwnPropertySymbols(socket).find(
    ({ description }) => description === 'kSetNoDelay',
  );
  return mark !== undefined && !(socket as unknown as Record<symbol, unknown>)[mark];
}

function bracketIpv6(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}
