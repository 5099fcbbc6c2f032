import { AsyncResource } from 'node:async_hooks';
import { subscribe } from 'node:diagnostics_channel';
import dns from 'node:dns';
import net from 'node:net';
import tls from 'node:tls';
import { createUndiciError, DeadlineError } from '../../outbound/errors.js';
import { isExempt } from '../../outbound/exemption.js';
import { cancelTimeout, scheduleTimeout, TimerEntry } from '../../outbound/timer-wheel.js';
import { readInternal } from '../../outbound/undici-internals.js';
import { type LimitReached, limitHitChannel } from '../channels.js';
import type { Host, Hosts } from '../hosts.js';
import { patchMethod } from '../patch-method.js';
import { addConnection } from './agent-connections.js';
import { findApplicationTimeout } from './application-timeout.js';
import { ClientRequest } from './node-http.js';
import { setSocketPath } from './socket-paths.js';
import { isThreadPoolBusy, probeThreadPool } from './thread-pool.js';

/** A socket with fields of Node that are not declared. */
type ConnectingSocket = net.Socket & {
  secureConnecting?: boolean;
  _httpMessage?: unknown;
};

/** Pending connections by socket. A property of the socket would cost each call over it 0.15 of 15 µs. */
const pendingConnections = new WeakMap<ConnectingSocket, PendingConnection>();

/** Limits all connections begun from now on: until they are open, and the TLS handshake. */
export function limitConnections(hosts: Hosts): void {
  patchMethod(net.Socket.prototype, 'connect', (original) => {
    return function connect(this: ConnectingSocket, ...args: unknown[]) {
      const result = Reflect.apply(original, this, args);
      const name = findHostName(args);
      if (this.connecting && !isExempt() && name !== PROBE_SOCKET) {
        const host = hosts.find(name);
        host.counters.connections++;
        addConnection(this);
        if (name.startsWith('unix:')) setSocketPath(this, name);
        limitConnection(this, host, takeUndiciFlag(), waitsForThread(name, args));
      }
      return result;
    } as typeof original;
  });
  // A handshake over an existing connection, as behind a proxy.
  patchMethod(tls, 'connect', (original) => {
    return function connect(this: unknown, ...args: unknown[]) {
      const result = Reflect.apply(original, this, args) as tls.TLSSocket;
      const options = args.find((one) => typeof one === 'object' && one !== null);
      const { socket, servername, host } = (options ?? {}) as tls.ConnectionOptions;
      if (socket && !isExempt()) {
        const isOfUndici = takeUndiciFlag() || isUndicis(socket);
        limitConnection(result, hosts.find(servername || host || 'localhost'), isOfUndici);
      }
      return result;
    } as typeof original;
  });
  subscribe('undici:client:beforeConnect', () => {
    isForUndici = true;
    // undici's connector connects at once; a connector of the application may not.
    queueMicrotask(takeUndiciFlag);
  });
}

/** The connection of Millrace's probe, where a process is explained. */
const PROBE_SOCKET = `unix:${process.env.MILLRACE_PROBE}`;

let isForUndici = false;

/** Whether a connection is one of undici, which leaves its fields in that of a tunnel. */
function isUndicis(socket: object): boolean {
  return readInternal(socket, 'client') !== undefined;
}

/** Whether the connection begun now is the one that undici has just announced. */
function takeUndiciFlag(): boolean {
  const result = isForUndici;
  isForUndici = false;
  return result;
}

/** Connections of undici that are being opened. */
const pendingOfUndici = new Set<PendingConnection>();

/** Ends the connections of undici to a host that are not open yet: nobody waits for them any more. */
export function endPendingConnections(host: Host, error: Error): void {
  for (const pending of pendingOfUndici)
    if (pending.host.name === host.name) pending.destroy(error);
}

function limitConnection(
  socket: ConnectingSocket,
  host: Host,
  isOfUndici: boolean,
  isLookingUp = false,
): void {
  // A socket may connect again after a failed attempt.
  pendingConnections.get(socket)?.end();
  const { connect, tls: handshake } = host.limits;
  if (connect > 0 || handshake > 0)
    pendingConnections.set(socket, new PendingConnection(socket, host, isOfUndici, isLookingUp));
}

/** A connection that is connecting or in its TLS handshake. */
class PendingConnection extends TimerEntry {
  private readonly socket: ConnectingSocket;
  readonly host: Host;
  private readonly isForUndici: boolean;
  /** When the current phase began: connecting, or the handshake. */
  private phaseStartedAt = this.startedAt;
  private isOpen = false;
  /** Whether its name is being looked up, which needs a thread of this process. */
  private isLookingUp: boolean;
  private checkedAt = this.startedAt;
  private readonly context = new AsyncResource('MILLRACE_CONNECT', { requireManualDestroy: true });

  constructor(socket: ConnectingSocket, host: Host, isForUndici: boolean, isLookingUp: boolean) {
    super();
    this.socket = socket;
    this.host = host;
    this.isForUndici = isForUndici;
    this.isLookingUp = isLookingUp;
    if (isLookingUp) {
      socket.once('lookup', () => {
        this.isLookingUp = false;
      });
    }
    if (isForUndici) pendingOfUndici.add(this);
    this.dueAt = this.startedAt + host.checkIntervalMs;
    scheduleTimeout(this);
  }

  override addIdleTime(ms: number): void {
    this.phaseStartedAt += ms;
    this.checkedAt += ms;
  }

  end(): void {
    if (!this.isScheduled) return;
    cancelTimeout(this);
    pendingOfUndici.delete(this);
    this.context.emitDestroy();
  }

  onDue(at: number): void {
    const { socket, host } = this;
    const isOpen = !socket.connecting;
    if (socket.destroyed || (isOpen && socket.secureConnecting !== true)) {
      this.end();
      return;
    }
    if (this.isLookingUp) {
      // The name waits for a thread of this process: its host is not late.
      if (isThreadPoolBusy()) this.phaseStartedAt += at - this.checkedAt;
      probeThreadPool();
    }
    this.checkedAt = at;
    if (isOpen && !this.isOpen) this.phaseStartedAt = at;
    this.isOpen = isOpen;
    const name = isOpen ? 'tls' : 'connect';
    const limitMs = host.limits[name];
    const remaining = limitMs > 0 ? this.phaseStartedAt + limitMs - at : Number.POSITIVE_INFINITY;
    if (remaining <= 0 && !hasApplicationTimeout(socket)) this.fail(name, limitMs, at);
    else
      this.dueAt =
        at + (remaining > 0 ? Math.min(remaining, host.checkIntervalMs) : host.checkIntervalMs);
  }

  private fail(name: 'connect' | 'tls', limitMs: number, at: number): void {
    const { host } = this;
    const facts = { limit: name, limitMs, host: host.name, elapsedMs: at - this.startedAt };
    const waitingFor = name === 'tls' ? 'the TLS handshake' : 'a connection';
    const error = this.isForUndici
      ? createUndiciError(facts, waitingFor, 'millrace/deadlines')
      : new DeadlineError(facts, waitingFor);
    host.counters.hits[name]++;
    if (limitHitChannel.hasSubscribers) {
      limitHitChannel.publish({ ...facts, by: 'socket', error } satisfies LimitReached);
    }
    this.destroy(error);
  }

  destroy(error: Error): void {
    this.context.runInAsyncScope(() => this.socket.destroy(error));
    this.end();
  }
}

/**
 * Whether the application has set a timeout. The idle timeout of Node's own agents does not count: nobody has set it.
 */
function hasApplicationTimeout(socket: ConnectingSocket): boolean {
  const { _httpMessage: request } = socket;
  if (request instanceof ClientRequest) return findApplicationTimeout(request) !== undefined;
  return Boolean(socket.timeout) && socket.listenerCount('timeout') > 0;
}

/** Whether a host is a name that the system looks up, in a thread of this process. */
function waitsForThread(host: string, args: unknown[]): boolean {
  if (host.startsWith('unix:') || net.isIP(host) !== 0) return false;
  const { lookup = dns.lookup } = (findOptions(args) ?? {}) as net.TcpNetConnectOpts;
  return lookup === dns.lookup;
}

/**
 * Finds the host in the arguments of `socket.connect`: options, a port and a host, or a path; `net.connect` passes
 * them as a list.
 */
function findHostName(args: unknown[]): string {
  const options = findOptions(args);
  if (options !== undefined) {
    const { path, host } = options as Partial<net.TcpNetConnectOpts & net.IpcNetConnectOpts>;
    return path ? `unix:${path}` : host || 'localhost';
  }
  const [first, second] = Array.isArray(args[0]) ? args[0] : args;
  if (typeof first === 'string' && Number.isNaN(Number(first))) return `unix:${first}`;
  return typeof second === 'string' ? second : 'localhost';
}

function findOptions(args: unknown[]): object | undefined {
  const [first] = Array.isArray(args[0]) ? args[0] : args;
  return typeof first === 'object' && first !== null ? first : undefined;
}
