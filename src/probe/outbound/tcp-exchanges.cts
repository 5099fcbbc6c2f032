import { Socket } from 'node:net';
import { HeldWrites } from '../dependencies/held-writes.cjs';
import { readSymbol } from '../dependencies/symbol-properties.cjs';
import { ignoreErrors } from '../runtime/clock.cjs';
import type { Call, Calls } from './calls.cjs';

type Write = (this: Socket, ...args: unknown[]) => void;
type Push = (this: Socket, chunk: unknown, encoding?: BufferEncoding) => boolean;

/** Methods that Node.js's `net.js` calls for each write, and for each chunk read. */
interface Prototype {
  _writeGeneric?: Write;
  push: Push;
}

interface Internals {
  /** Set on accepted connections. */
  server?: unknown;
  /** The host name that was connected to, unless it was an address. */
  _host?: string | null;
  /** The connection under one of TLS. */
  _parent?: { _host?: string | null } | null;
  /** The request of `node:http` that is sent on it. */
  _httpMessage?: unknown;
}

const prototype = Socket.prototype as unknown as Prototype;

/**
 * Exchanges on the connections that the process has opened, for any protocol (databases, caches, queues). An exchange
 * begins with a write while none is open, and its answer with the next bytes. On a connection that carries several at
 * once, the first one counts. HTTP is excluded: it is observed by other means.
 */
export class TcpExchanges {
  readonly #calls: Calls;
  readonly #open = new Map<Socket, Call>();
  readonly #names = new WeakMap<Socket, string>();
  readonly #opened = new WeakSet<Socket>();
  readonly #ofUndici = new WeakMap<Socket, boolean>();
  #forcesNoDelay = false;
  /** Connections with Nagle's algorithm whose TCP_NODELAY is forced on, with the function that restores it. */
  readonly #restoreNoDelay = new Map<Socket, () => void>();
  #noDelayCount = 0;
  /** Called with each write to a connection that the process has opened, and `host:port`; empty if unknown. */
  onWrite: ((socket: Socket, name: string) => void) | null = null;
  readonly #heldWrites = new HeldWrites();
  /** The peer whose exchanges begin later; `null` without one. */
  #delay: { name: string; ms: number } | null = null;
  #delayedExchanges = 0;
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

  /**
   * Forces TCP_NODELAY on all outgoing connections, or restores the application's setting. Returns how many connections
   * were affected since the last call.
   */
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

  /**
   * Holds back the first write of each exchange with a peer, an origin such as `tcp://db:5432`, for a time; 0 ends it.
   * Returns how many exchanges the previous delay affected.
   */
  setDelay(origin: string, ms: number): number {
    const delayed = this.#delayedExchanges;
    this.#delayedExchanges = 0;
    this.#delay = ms > 0 ? { name: origin.replace(/^tcp:\/\//, ''), ms } : null;
    this.#watchWrites();
    if (ms === 0) this.#heldWrites.releaseAll();
    return delayed;
  }

  /** Ends exchanges whose connection has closed, and checks the others for Nagle's algorithm. */
  sweep(): void {
    for (const socket of this.#restoreNoDelay.keys())
      if (socket.destroyed) this.#restoreNoDelay.delete(socket);
    for (const socket of this.#open.keys()) {
      if (socket.destroyed) this.#end(socket, true);
      else if (usesNagle(socket)) this.#calls.addNagleSample(`tcp://${this.#findName(socket)}`);
    }
  }

  /** Forces TCP_NODELAY; a setting that the application makes meanwhile is applied on restoring. */
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

  /** Connections are discovered on writes, even while nothing is observed. */
  #watchWrites(): void {
    const wanted = this.#isObserving || this.#forcesNoDelay || this.#delay !== null;
    if (wanted) this.#restore ??= this.#patch();
    else {
      this.#restore?.();
      this.#restore = null;
    }
  }

  #patch(): () => void {
    const write = prototype._writeGeneric;
    const { push } = prototype;
    // Without this method, which is internal to Node.js, nothing is observed.
    if (!write) return () => {};
    const [asked, answered] = [ignoreErrors(this.#onWrite), ignoreErrors(this.#onRead)];
    const open = this.#open;
    const probe = this;
    const observedWrite: Write = function (...args) {
      if ((this as Internals).server) return write.apply(this, args);
      const pass = () => {
        asked(this);
        return write.apply(this, args);
      };
      return probe.#holdsBack(this, pass, args.at(-1)) ? undefined : pass();
    };
    const observedPush: Push = function (chunk, encoding) {
      if (open.has(this)) answered(this, chunk);
      return push.call(this, chunk, encoding);
    };
    const inherited = !Object.hasOwn(prototype, 'push');
    prototype._writeGeneric = observedWrite;
    prototype.push = observedPush;
    return () => {
      // Code that has wrapped it meanwhile keeps calling it.
      if (prototype._writeGeneric === observedWrite) prototype._writeGeneric = write;
      if (prototype.push !== observedPush) return;
      if (inherited) Reflect.deleteProperty(prototype, 'push');
      else prototype.push = push;
    };
  }

  /** Whether a write begins an exchange that is delayed: then it is passed on later. */
  #holdsBack(socket: Socket, pass: () => void, done: unknown): boolean {
    const delay = this.#delay;
    if (delay === null || socket.connecting || this.#open.has(socket)) return false;
    if (typeof done !== 'function' || this.#findName(socket) !== delay.name) return false;
    this.#delayedExchanges++;
    this.#heldWrites.hold(socket, delay.ms, pass, done as (error?: Error | null) => void);
    return true;
  }

  readonly #onWrite = (socket: Socket): void => {
    if (this.#restore === null) return;
    if (this.#forcesNoDelay && this.#findName(socket) !== '' && usesNagle(socket))
      this.#forceNoDelay(socket);
    if (!this.#isObserving || (this.#open.has(socket) && !this.onWrite)) return;
    // The peer may be a proxy, whose address is not that of the called origin.
    if (this.#isOfHttp(socket)) return;
    const name = this.#findName(socket);
    if (this.#calls.isHttp(name)) return;
    this.onWrite?.(socket, name);
    if (name === '' || this.#open.has(socket)) return;
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

  /** Whether a connection carries requests of `node:http`, or of undici, which has its client there. */
  #isOfHttp(socket: Socket): boolean {
    if ((socket as Internals)._httpMessage) return true;
    const known = this.#ofUndici.get(socket);
    if (known !== undefined) return known;
    const isOfUndici = readSymbol(socket, 'client') !== undefined;
    this.#ofUndici.set(socket, isOfUndici);
    return isOfUndici;
  }

  /** Returns `host:port`; empty for sockets without an address, such as the probe's own connection. */
  #findName(socket: Socket): string {
    const known = this.#names.get(socket);
    if (known !== undefined) return known;
    const { remoteAddress, remotePort } = socket;
    // While connecting, writes are only queued.
    if (remoteAddress === undefined && socket.connecting) return '';
    const { _host: own, _parent: under } = socket as Internals;
    const host = own ?? under?._host ?? remoteAddress;
    const name = host === undefined ? '' : `${bracketIpv6(host)}:${remotePort}`;
    this.#names.set(socket, name);
    return name;
  }

  #end(socket: Socket, failed: boolean): void {
    this.#open.get(socket)?.markEnded(failed);
    this.#open.delete(socket);
  }
}

/**
 * Whether Nagle's algorithm is on, by an internal symbol of Node.js. For TLS the underlying connection is not visible.
 */
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
