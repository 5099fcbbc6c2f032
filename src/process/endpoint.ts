import { once } from 'node:events';
import { connect } from 'node:net';
import { usageError } from '../errors.js';
import { type Listener, readListeners } from './listeners.js';
import { listeningSockets } from './listening.js';
import { hasProcfs } from './procfs.js';

/** Where a client on this machine reaches a server. */
export interface Endpoint {
  host: string;
  port: number;
}

/**
 * Prepares, before a server is started, to find where it listens: the result looks once, for the server with that pid.
 * Without `/proc` the port has to be given, and is tried by connecting.
 *
 * @throws {MillraceError} `ERR_MILLRACE_USAGE`: the port is not given and cannot be found here, or it is taken.
 */
export async function endpointFinder(
  port: number | undefined,
): Promise<(pid: number) => Promise<Endpoint | null>> {
  if (hasProcfs) return finderByTables(port);
  if (port === undefined) {
    throw usageError(`a server's port cannot be found on ${process.platform}: give a URL with it`);
  }
  if ((await tryPort(port)) !== null) throw usageError(`port ${port} is already in use`);
  return () => tryPort(port);
}

function finderByTables(port: number | undefined): (pid: number) => Promise<Endpoint | null> {
  if (port === undefined) return async (pid) => toEndpoint(listeningSockets(pid)[0]);
  const onPort = (listener: Listener) => listener.port === port;
  const takenBefore = readListeners().some(onPort);
  return async (pid) => {
    const own = listeningSockets(pid).find(onPort);
    if (own !== undefined || takenBefore) return toEndpoint(own);
    // A container's port is held by a process that does not descend from the command.
    return toEndpoint(readListeners().find(onPort));
  };
}

function toEndpoint(listener: Listener | undefined): Endpoint | null {
  if (listener === undefined) return null;
  // A socket on `::` takes IPv4 connections as well, unless it was told not to.
  const host = ['0.0.0.0', '::'].includes(listener.host) ? '127.0.0.1' : listener.host;
  return { host, port: listener.port };
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
