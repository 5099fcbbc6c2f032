import { AsyncResource } from 'node:async_hooks';
import { subscribe } from 'node:diagnostics_channel';
import { ClientRequest } from 'node:http';
import net from 'node:net';
import tls from 'node:tls';
import { DeadlineError, undiciError } from '../../outbound/errors.js';
import { isExempt } from '../../outbound/exemption.js';
import { cancelTimeout, scheduleTimeout, Watched } from '../../outbound/timer-wheel.js';
import { hitChannel, type LimitReached } from '../channels.js';
import type { Host, Hosts } from '../hosts.js';
import { ownTimeoutOf } from './client-request.js';
import { replace } from './patch-method.js';
import { rememberPath } from './socket-paths.js';

/** With what Node keeps on it and does not declare. */
type Socket = net.Socket & {
  secureConnecting?: boolean;
  _httpMessage?: unknown;
};

/** By their sockets. As a property of the socket it made each call over it dearer, by 0.15 of 15 µs. */
const connecting = new WeakMap<Socket, Connecting>();

/** Gives limits to all connections that are begun from now on: until they are open, and for the TLS handshake. */
export function limitSockets(hosts: Hosts): void {
  replace(net.Socket.prototype, 'connect', (original) => {
    return function connect(this: Socket, ...args: unknown[]) {
      const result = Reflect.apply(original, this, args);
      const name = hostOf(args);
      if (this.connecting && !isExempt() && name !== PROBE) {
        const host = hosts.named(name);
        host.counters.connections++;
        if (name.startsWith('unix:')) rememberPath(this, name);
        limit(this, host, takeIsForUndici());
      }
      return result;
    } as typeof original;
  });
  // A handshake over a connection that is there already, as behind a proxy.
  replace(tls, 'connect', (original) => {
    return function connect(this: unknown, ...args: unknown[]) {
      const made = Reflect.apply(original, this, args) as tls.TLSSocket;
      const options = args.find((one) => typeof one === 'object' && one !== null);
      const { socket, servername, host } = (options ?? {}) as tls.ConnectionOptions;
      if (socket && !isExempt()) {
        limit(made, hosts.named(servername || host || 'localhost'), takeIsForUndici());
      }
      return made;
    } as typeof original;
  });
  subscribe('undici:client:beforeConnect', () => {
    isForUndici = true;
    // Its connector asks for the connection at once, unless it is the application's own.
    queueMicrotask(takeIsForUndici);
  });
}

/** Millrace's own, where a process is explained. */
const PROBE = `unix:${process.env.MILLRACE_PROBE}`;

let isForUndici = false;

/** Whether the connection that is begun now is the one that undici has just told of. */
function takeIsForUndici(): boolean {
  const was = isForUndici;
  isForUndici = false;
  return was;
}

function limit(socket: Socket, host: Host, isUndicis: boolean): void {
  // A socket may be used for another connection, when its last one has failed.
  const before = connecting.get(socket);
  if (before) cancelTimeout(before);
  const { connect, tls: handshake } = host.limits;
  if (connect > 0 || handshake > 0) connecting.set(socket, new Connecting(socket, host, isUndicis));
}

/** A connection on its way. */
class Connecting extends Watched {
  private readonly socket: Socket;
  private readonly host: Host;
  private readonly isForUndici: boolean;
  /** When the part began that it is in: connecting, or the handshake. */
  private since = this.begun;
  private isOpen = false;
  private readonly context = new AsyncResource('MILLRACE_CONNECT', { requireManualDestroy: true });

  constructor(socket: Socket, host: Host, isForUndici: boolean) {
    super();
    this.socket = socket;
    this.host = host;
    this.isForUndici = isForUndici;
    this.due = this.begun + host.interval;
    scheduleTimeout(this);
  }

  override excuse(ms: number): void {
    this.since += ms;
  }

  check(at: number): void {
    const { socket, host } = this;
    const isOpen = !socket.connecting;
    if (socket.destroyed || (isOpen && socket.secureConnecting !== true)) {
      cancelTimeout(this);
      return;
    }
    if (isOpen && !this.isOpen) this.since = at;
    this.isOpen = isOpen;
    const name = isOpen ? 'tls' : 'connect';
    const limitMs = host.limits[name];
    const left = limitMs > 0 ? this.since + limitMs - at : Number.POSITIVE_INFINITY;
    if (left <= 0 && !hasOwnLimit(socket)) this.fail(name, limitMs, at);
    else this.due = at + (left > 0 ? Math.min(left, host.interval) : host.interval);
  }

  private fail(name: 'connect' | 'tls', limitMs: number, at: number): void {
    const { socket, host } = this;
    cancelTimeout(this);
    const facts = { limit: name, limitMs, host: host.name, elapsedMs: at - this.begun };
    const waitingFor = name === 'tls' ? 'the TLS handshake' : 'a connection';
    const error = this.isForUndici
      ? undiciError(facts, waitingFor, 'millrace/deadlines')
      : new DeadlineError(facts, waitingFor);
    host.counters.hits[name]++;
    if (hitChannel.hasSubscribers) {
      hitChannel.publish({ ...facts, by: 'socket', error } satisfies LimitReached);
    }
    this.context.runInAsyncScope(() => socket.destroy(error));
  }
}

/** The application has set a limit for it. An agent of Node's own has one for idle connections, which nobody has set. */
function hasOwnLimit(socket: Socket): boolean {
  const { _httpMessage: request } = socket;
  if (request instanceof ClientRequest) return ownTimeoutOf(request) !== undefined;
  return Boolean(socket.timeout) && socket.listenerCount('timeout') > 0;
}

/** Of the arguments of `socket.connect`: options, a port and a host, or a path; in a list where `net.connect` calls it. */
function hostOf(args: unknown[]): string {
  const [first, second] = Array.isArray(args[0]) ? args[0] : args;
  if (typeof first === 'object' && first !== null) {
    const { path, host } = first as Partial<net.TcpNetConnectOpts & net.IpcNetConnectOpts>;
    return path ? `unix:${path}` : host || 'localhost';
  }
  if (typeof first === 'string' && Number.isNaN(Number(first))) return `unix:${first}`;
  return typeof second === 'string' ? second : 'localhost';
}
