import { once } from 'node:events';
import { connect } from 'node:net';
import { usageError } from '../../errors.js';
import { hasProcfs } from '../procfs/procfs.js';
import { Candidates, SETTLE_MS } from './candidates.js';
import { isInspector, mayInspect } from './inspector.js';
import { type Listener, readListeners } from './listeners.js';
import { listeningSockets, type OwnListener } from './listening.js';
import { accepts, sendTrialRequest, type TrialRequest } from './trial-request.js';
import type { Endpoint } from './types.js';

/** Where a server was found, and whether it speaks TLS there, as far as it was asked. */
export interface Found extends Endpoint {
  tls: boolean;
}

/** Looks once for where the server with this pid listens. `isLast`: what is not settled yet has to do. */
export type EndpointResolver = (pid: number, isLast: boolean) => Promise<Found | null>;

/**
 * Prepares, before a server is started, to find where it listens: the result looks once, for the server with that pid.
 * Without `/proc` the port has to be given, and is tried by connecting.
 *
 * @throws {MillraceError} `ERR_MILLRACE_USAGE`: the port is not given and cannot be found here, or it is taken.
 */
export async function endpointResolver(
  port: number | undefined,
  trial?: TrialRequest,
): Promise<EndpointResolver> {
  if (hasProcfs) return port === undefined ? settledFinder(trial) : finderByTables(port);
  if (port === undefined) {
    throw usageError(`a server's port cannot be found on ${process.platform}: give a URL with it`);
  }
  if ((await tryPort(port)) !== null) throw usageError(`port ${port} is already in use`);
  return async () => {
    const found = await tryPort(port);
    return found && { ...found, tls: false };
  };
}

function finderByTables(port: number): EndpointResolver {
  const onPort = (listener: Listener) => listener.port === port;
  const takenBefore = readListeners().some(onPort);
  return async (pid) => {
    const own = listeningSockets(pid).find(onPort);
    // A container's port is held by a process that does not descend from the command.
    const found = own ?? (takenBefore ? undefined : readListeners().find(onPort));
    if (found === undefined) return null;
    // One that starts may close the port once more.
    const endpoint = await findAccepting(found);
    return endpoint && { ...endpoint, tls: false };
  };
}

/** What a server starts, as a service that it calls, may listen before it does. */
function settledFinder(trial: TrialRequest | undefined): EndpointResolver {
  if (trial) {
    const endpoints = new Map<number, Endpoint>();
    const endpointOf = (listener: Listener) =>
      endpoints.get(listener.inode) ?? toEndpoint(listener);
    const candidates = new Candidates(async (listener) => {
      const answer = await sendTrialRequest(endpointOf(listener), trial);
      if (answer !== 'nothing' || !isWildcardV6(listener)) return answer;
      const accepting = await findAccepting(listener);
      if (accepting === null || accepting.host === endpointOf(listener).host) return answer;
      endpoints.set(listener.inode, accepting);
      return sendTrialRequest(accepting, trial);
    });
    return async (pid, isLast) => {
      const found = candidates.choose(await served(pid), isLast);
      return found && { ...endpointOf(found.listener), tls: found.answer === 'tls' };
    };
  }
  let found: OwnListener | undefined;
  let since = 0;
  return async (pid, isLast) => {
    const [first] = await served(pid);
    if (first?.inode !== found?.inode) since = performance.now();
    found = first;
    if (first === undefined) return null;
    const isSettled = first.depth === 0 || performance.now() - since >= SETTLE_MS;
    if (!isSettled && !isLast) return null;
    const endpoint = isWildcardV6(first) ? await findAccepting(first) : null;
    return { ...(endpoint ?? toEndpoint(first)), tls: false };
  };
}

/** Where a process and its descendants serve, debuggers apart, in the order of `listeningSockets`. */
export async function servedBy(pid: number): Promise<Endpoint[]> {
  return (await served(pid)).map(toEndpoint);
}

async function served(pid: number): Promise<OwnListener[]> {
  const sockets = listeningSockets(pid);
  // Only where there may be a debugger: a server is not asked what its log would show.
  if (sockets.length === 0 || !mayInspect(pid)) return sockets;
  const inspectors = await Promise.all(sockets.map(toEndpoint).map(isInspector));
  return sockets.filter((_, index) => !inspectors[index]);
}

function toEndpoint(listener: Listener): Endpoint {
  // A socket on `::` accepts IPv4 connections as well, unless it is restricted to IPv6.
  const host = ['0.0.0.0', '::'].includes(listener.host) ? '127.0.0.1' : listener.host;
  return { host, port: listener.port };
}

function isWildcardV6({ host }: Listener): boolean {
  return host === '::';
}

/** Where a listener accepts connections: one on `::` that is restricted to IPv6 does so on `::1` only. `null`: nowhere. */
async function findAccepting(listener: Listener): Promise<Endpoint | null> {
  const endpoint = toEndpoint(listener);
  if (await accepts(endpoint)) return endpoint;
  const overV6 = { host: '::1', port: listener.port };
  return isWildcardV6(listener) && (await accepts(overV6)) ? overV6 : null;
}

async function tryPort(port: number): Promise<Endpoint | null> {
  for (const host of ['127.0.0.1', '::1']) {
    const socket = connect(port, host);
    try {
      await once(socket, 'connect');
      return { host, port };
    } catch {
      // Refused: nothing listens there yet.
    } finally {
      socket.destroy();
    }
  }
  return null;
}
