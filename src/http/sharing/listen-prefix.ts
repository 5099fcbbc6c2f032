import { errorMonitor } from 'node:events';
import { mkdirSync } from 'node:fs';
import type http from 'node:http';
import { join as joinPath } from 'node:path';
import timers from 'node:timers';
import { meetingDirectory } from '../cache/control-protocol.js';
import type { HttpServer } from '../node/node-internals.js';
import { offBecause } from '../reactor/disabled.js';
import { startReactor } from '../reactor/dispatch.js';
import { native } from '../reactor/native.js';

/*
 * `server.listen('http://*:8080/foo/')`: one port for several processes. Node listens as usual, with a new socket or with the
 * shared one. The reactor knows which process owns which requests.
 */

/** Node's functions, kept in case the application replaces the global ones. */
const { setImmediate, setTimeout } = timers;

/** The membership of a server that has joined a shared address, until the server listens. */
const memberships = new WeakMap<http.Server, number>();
/** Servers that are about to listen; `false` if they were closed in the meantime. */
const pendingJoins = new Map<http.Server, boolean>();
/** Maximum number of attempts to join an address whose processes end meanwhile. */
const MAX_ATTEMPTS = 100;
/** Maximum wait while other processes join first; each takes as long as its event loop is busy. */
const MAX_JOIN_WAIT_MS = 20_000;
/** Maximum pause between two attempts. */
const MAX_POLL_INTERVAL_MS = 16;

/** Whether these arguments of `listen` contain a URL prefix. */
export function isPrefix(args: unknown[]): args is [string, ...unknown[]] {
  return typeof args[0] === 'string' && /^https?:\/\//i.test(args[0]);
}

/** The shared address of a server that is about to listen. */
export function claimMembership(server: http.Server): number | undefined {
  const membership = memberships.get(server);
  memberships.delete(server);
  return membership;
}

/** Makes a server listen to a URL prefix. `unsupportedFeature`: why it cannot be served natively, or `null`. */
export function listenToPrefix(
  server: HttpServer,
  [url, ...args]: [string, ...unknown[]],
  secure: boolean,
  unsupportedFeature: string | null,
): void {
  if (offBecause) throw createPrefixError(url, `it needs the native stack: ${offBecause}`);
  if (unsupportedFeature) throw createPrefixError(url, unsupportedFeature);
  const prefix = native.stackPrefix(url);
  if (prefix.error !== undefined) throw createPrefixError(url, prefix.error);
  if (prefix.secure !== secure) {
    throw createPrefixError(url, `this is an ${secure ? 'https' : 'http'}.Server`);
  }
  if (server._handle || pendingJoins.has(server)) throw createAlreadyListeningError();
  const callback = args.at(-1);
  if (typeof callback === 'function') server.once('listening', callback as () => void);
  const backlog = args.find((it) => typeof it === 'number');
  startReactor();
  pendingJoins.set(server, true);
  void joinAndListen(server, prefix, backlog).catch((error) => {
    process.nextTick(() => server.emit('error', error));
  });
}

type Prefix = ReturnType<typeof native.stackPrefix>;

async function joinAndListen(server: HttpServer, prefix: Prefix, backlog?: number): Promise<void> {
  try {
    const joined = await join(prefix, () => pendingJoins.get(server) === true);
    if (joined === null) return;
    const { ticket: membership, shared, code, message } = joined;
    if (code !== undefined) {
      const error = new Error(`listen ${code}: ${prefix.text}: ${message}`);
      throw Object.assign(error, { code, syscall: 'listen' });
    }
    try {
      if (pendingJoins.get(server)) listenWith(server, prefix, membership, shared, backlog);
    } finally {
      claimMembership(server);
      // The server may not have come to share it; whoever closes its handle closes the descriptor.
      native.stackAbandon(membership, !server._handle);
    }
  } finally {
    pendingJoins.delete(server);
  }
}

/** Listens with the shared socket, if there is one. */
function listenWith(
  server: HttpServer,
  prefix: Prefix,
  membership: number,
  shared: boolean,
  backlog?: number,
): void {
  memberships.set(server, membership);
  if (shared) {
    const fd = native.stackJoinedListener(membership);
    server._listen2(null, null, null, backlog, fd, 0);
    return;
  }
  const { address = null, port } = prefix;
  explainAddressInUse(server, prefix.text);
  server._listen2(address, port, address?.includes(':') ? 6 : 4, backlog, undefined, 0);
}

/** Explains EADDRINUSE: the system does not report whether other processes share the port by another address. */
function explainAddressInUse(server: NodeJS.EventEmitter, url: string): void {
  const say = (error: NodeJS.ErrnoException) => {
    forget();
    if (error.code !== 'EADDRINUSE') return;
    const { message, stack } = error;
    error.message = `${message}: a process that does not share it has the port, or shares it for another host; ${url} shares its port with those who name the same host`;
    // It begins with the message as it was.
    if (stack !== undefined) error.stack = stack.replace(message, () => error.message);
  };
  const forget = () => {
    server.off(errorMonitor, say);
    server.off('listening', forget);
    server.off('close', forget);
  };
  server.on(errorMonitor, say);
  server.on('listening', forget);
  server.on('close', forget);
}

type Joined = Awaited<ReturnType<typeof native.stackJoin>>;

/** Joins those who share the address; null: that is not wanted any more. */
async function join(prefix: Prefix, isWanted: () => boolean): Promise<Joined | null> {
  const directory = portsDirectory();
  let attempts = 0;
  let waited = 0;
  let pause = 1;
  while (isWanted()) {
    const joined = await native.stackJoin(directory, prefix.text);
    if (joined.code === 'EAGAIN' && ++attempts < MAX_ATTEMPTS) {
      // Another server of this process has just left the address.
      await new Promise(setImmediate);
    } else if (joined.code !== 'EBUSY') {
      return joined;
    } else if (waited >= MAX_JOIN_WAIT_MS) {
      const message = `${joined.message} and has not done so in ${MAX_JOIN_WAIT_MS / 1000} s`;
      return { ...joined, code: 'ETIMEDOUT', message };
    } else {
      // Here and not in the pool of threads, of which the whole process has a few.
      await sleep(pause);
      waited += pause;
      pause = Math.min(2 * pause, MAX_POLL_INTERVAL_MS);
    }
  }
  return null;
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Cancels the joining of a server that is closed before it listens. */
export function cancelJoin(server: http.Server): void {
  if (pendingJoins.has(server)) pendingJoins.set(server, false);
}

/** Whether a server is about to listen, so that another `listen` is an error. */
export function isJoining(server: http.Server): boolean {
  return pendingJoins.has(server);
}

/** Finds the directory of shared ports: `MILLRACE_PORTS`, or a directory of the user. */
function portsDirectory(): string {
  const configured = process.env.MILLRACE_PORTS;
  if (configured) return configured;
  const directory = meetingDirectory();
  if (directory === null) {
    throw new Error(
      'no directory of this user alone to share ports in; MILLRACE_PORTS may name one',
    );
  }
  const path = joinPath(directory, 'ports');
  mkdirSync(path, { recursive: true, mode: 0o700 });
  return path;
}

function createPrefixError(url: string, why: string): Error {
  const error = new TypeError(`The URL prefix '${url}' cannot be listened to: ${why}`);
  return Object.assign(error, { code: 'ERR_INVALID_ARG_VALUE' });
}

export function createAlreadyListeningError(): Error {
  const error = new Error('Listen method has been called more than once without closing.');
  return Object.assign(error, { code: 'ERR_SERVER_ALREADY_LISTEN' });
}
