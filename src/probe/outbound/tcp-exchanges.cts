import { Socket } from 'node:net';
import { quiet } from '../runtime/clock.cjs';
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
  #noDelay = false;
  /** Connections that hold back what is small (Nagle), and do not for now. */
  readonly #hurried = new Map<Socket, () => void>();
  #hurriedCount = 0;
  #observes = false;
  #restore: (() => void) | null = null;

  constructor(calls: Calls) {
    this.#calls = calls;
  }

  observe(on: boolean): void {
    if (on === this.#observes) return;
    this.#observes = on;
    this.#watchWrites();
    if (on) return;
    for (const call of this.#open.values()) call.ended(true);
    this.#open.clear();
  }

  /** Lets connections send at once what they are given, or as the application wants it again; how many it made a difference to. */
  noDelay(on: boolean): number {
    this.#noDelay = on;
    this.#watchWrites();
    const hurried = this.#hurriedCount;
    this.#hurriedCount = 0;
    if (on) return hurried;
    for (const restore of this.#hurried.values()) restore();
    this.#hurried.clear();
    return hurried;
  }

  /** Ends those whose connection has gone, and looks at the others. */
  sweep(): void {
    for (const socket of this.#hurried.keys()) if (socket.destroyed) this.#hurried.delete(socket);
    for (const socket of this.#open.keys()) {
      if (socket.destroyed) this.#end(socket, true);
      else if (holdsBack(socket)) this.#calls.heldBack(`tcp://${this.#nameOf(socket)}`);
    }
  }

  /** The application may say meanwhile how it wants it: then that is what it gets. */
  #hurry(socket: Socket): void {
    let wanted = false;
    const { setNoDelay } = socket;
    socket.setNoDelay(true);
    socket.setNoDelay = (noDelay = true) => {
      wanted = noDelay;
      return socket;
    };
    this.#hurriedCount++;
    this.#hurried.set(socket, () => {
      Reflect.deleteProperty(socket, 'setNoDelay');
      setNoDelay.call(socket, wanted);
    });
  }

  /** Connections are found as something is written to them, also while nothing is observed. */
  #watchWrites(): void {
    const wanted = this.#observes || this.#noDelay;
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
    const [asked, answered] = [quiet(this.#asked), quiet(this.#answered)];
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

  readonly #asked = (socket: Socket): void => {
    if (this.#restore === null) return;
    if (this.#noDelay && this.#nameOf(socket) !== '' && holdsBack(socket)) this.#hurry(socket);
    if (!this.#observes || this.#open.has(socket)) return;
    const name = this.#nameOf(socket);
    if (name === '' || this.#calls.isHttp(name)) return;
    const origin = `tcp://${name}`;
    if (!this.#opened.has(socket)) {
      this.#opened.add(socket);
      this.#calls.opened(origin);
    }
    const call = this.#calls.begin(origin, null);
    call.sent();
    this.#open.set(socket, call);
  };

  readonly #answered = (socket: Socket, chunk: unknown): void => this.#end(socket, chunk === null);

  /** `host:port`; empty for what has no address, as the probe's own connection. */
  #nameOf(socket: Socket): string {
    const known = this.#names.get(socket);
    if (known !== undefined) return known;
    const { remoteAddress, remotePort } = socket;
    // Not connected yet: what it has to say is sent when it is.
    if (remoteAddress === undefined && socket.connecting) return '';
    const host = (socket as Internals)._host ?? remoteAddress;
    const name = host === undefined ? '' : `${bracketed(host)}:${remotePort}`;
    this.#names.set(socket, name);
    return name;
  }

  #end(socket: Socket, failed: boolean): void {
    this.#open.get(socket)?.ended(failed);
    this.#open.delete(socket);
  }
}

/** Whether Nagle's algorithm is on, which only a symbol of Node's tells. Of TLS it tells nothing of the connection below. */
function holdsBack(socket: Socket): boolean {
  if ('encrypted' in socket) return false;
  const mark = Object.getOwnPropertySymbols(socket).find(
    ({ description }) => description === 'kSetNoDelay',
  );
  return mark !== undefined && !(socket as unknown as Record<symbol, unknown>)[mark];
}

function bracketed(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}
