import { once } from 'node:events';
import { connect } from 'node:net';
import { usageError } from '../../errors/millrace-error.js';
import { hasProcfs } from '../procfs/procfs.js';
import { Candidates, SETTLE_MS } from './candidates.js';
import { isInspector, mayHaveInspector } from './inspector.js';
import { type Listener, readListeners } from './listeners.js';
import { findListeningSockets, type OwnListener } from './port-owners.js';
import { acceptsConnections, sendTrialRequest, type TrialRequest } from './trial-request.js';
import type { Endpoint } from './types.js';

/** The endpoint of a server, and whether it uses TLS, if that was tested. */
export interface FoundEndpoint extends Endpoint {
  tls: boolean;
}

/** Looks once for the endpoint of the server with this pid. With `isLast` an unsettled result is accepted. */
export type EndpointResolver = (pid: number, isLast: boolean) => Promise<FoundEndpoint | null>;

/**
 * Prepares to find the endpoint of a server, before the server is started. The returned function looks once for the
 * server with a pid. Without `/proc` the port must be given, and is tested by connecting.
 *
 * @throws {MillraceError} `ERR_MILLRACE_USAGE` if the port is missing and cannot be found here, or if it is in use.
 */
export async function createEndpointResolver(
  port: number | undefined,
  trial?: TrialRequest,
): Promise<EndpointResolver> {
  if (hasProcfs)
    return port === undefined ? createSearchingResolver(trial) : createPortResolver(port);
  if (port === undefined) {
    throw usageError(
      `the server's port cannot be found on ${process.platform}: give a URL with a port`,
    );
  }
  if ((await tryPort(port)) !== null) throw usageError(`port ${port} is already in use`);
  return async () => {
    const found = await tryPort(port);
    return found && { ...found, tls: false };
  };
}

function createPortResolver(port: number): EndpointResolver {
  const onPort = (listener: Listener) => listener.port === port;
  const takenBefore = readListeners().some(onPort);
  return async (pid) => {
    const own = findListeningSockets(pid).find(onPort);
    // A container's port belongs to a process that does not descend from the command.
    const found = own ?? (takenBefore ? undefined : readListeners().find(onPort));
    if (found === undefined) return null;
    // A starting server may close the port once more.
    const endpoint = await findAccepting(found);
    return endpoint && { ...endpoint, tls: false };
  };
}

/**
 * Creates a resolver that searches for the port. A descendant, such as a service that the server calls, may listen
 * earlier than the server.
 */
function createSearchingResolver(trial: TrialRequest | undefined): EndpointResolver {
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
      const found = candidates.choose(await findServingSockets(pid), isLast);
      return found && { ...endpointOf(found.listener), tls: found.answer === 'tls' };
    };
  }
  let found: OwnListener | undefined;
  let since = 0;
  return async (pid, isLast) => {
    const [first] = await findServingSockets(pid);
    if (first?.inode !== found?.inode) since = performance.now();
    found = first;
    if (first === undefined) return null;
    const isSettled = first.depth === 0 || performance.now() - since >= SETTLE_MS;
    if (!isSettled && !isLast) return null;
    const endpoint = isWildcardV6(first) ? await findAccepting(first) : null;
    return { ...(endpoint ?? toEndpoint(first)), tls: false };
  };
}

/**
 * Finds the endpoints on which a process and its descendants serve, without debuggers, in the order of
 * `findListeningSockets`.
 */
export async function findServedEndpoints(pid: number): Promise<Endpoint[]> {
  return (await findServingSockets(pid)).map(toEndpoint);
}

async function findServingSockets(pid: number): Promise<OwnListener[]> {
  const sockets = findListeningSockets(pid);
  // Ports are tested only if there may be a debugger, so that no request appears in a server's log.
  if (sockets.length === 0 || !mayHaveInspector(pid)) return sockets;
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

/**
 * Finds the address on which a listener accepts connections: `::1` for one on `::` that is restricted to IPv6. `null`
 * if it accepts none.
 */
async function findAccepting(listener: Listener): Promise<Endpoint | null> {
  const endpoint = toEndpoint(listener);
  if (await acceptsConnections(endpoint)) return endpoint;
  const overV6 = { host: '::1', port: listener.port };
  return isWildcardV6(listener) && (await acceptsConnections(overV6)) ? overV6 : null;
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
