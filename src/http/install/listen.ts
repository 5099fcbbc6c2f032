import { createHandle, type ListeningHandle, learnFrom } from '../connection/handle/handle.js';
import { nodeCluster } from '../node/node-cluster.js';
import type { HttpServer } from '../node/node-internals.js';
import { startReactor } from '../reactor/dispatch.js';
import { native } from '../reactor/native.js';
import { disposeNativeServer } from '../server/closing.js';
import type { NativeServer } from '../server/native-server.js';
import { claimMembership } from '../sharing/listen-prefix.js';
import { getListeningServer, listenByTwin, NativeListener } from './native-listener.js';
import { startNativeServer } from './native-servers.js';
import { findUnsupportedFeature } from './unsupported-features.js';

/*
 * Who accepts the connections of a server that listens:
 *
 * - the reactor, from a duplicate of the descriptor, if nobody accepts from the handle: a handle that Node creates for this
 *   server (also on a descriptor that the application gives), one that is given and does not listen yet, and that of
 *   another server on the stack;
 * - Node, which passes each connection on: the handle of a `net.Server`, from which the loop accepts already; a Unix socket;
 *   the handles of a cluster's worker.
 *
 * The handle itself is Node's own in both cases. It is neither closed nor replaced here.
 */

/** Arguments of `_listen2`: address, port, type of address, backlog, descriptor, flags. */
type ListenArguments = [
  address: string | null,
  port: number | null,
  addressType: number | null,
  backlog: number,
  fd?: number | undefined,
  flags?: number | undefined,
];
type Listen = (...args: ListenArguments) => void;

/** A server within Node's own `_listen2`. */
interface Listening {
  server: HttpServer;
  /** The server's part of a shared port. */
  membership: number | undefined;
}

let listening: Listening | null = null;

/** Lets a server listen with Node's own `_listen2`, and the reactor serve it if it can. */
export function listen(
  server: HttpServer,
  args: unknown[],
  original: (...args: never[]) => unknown,
): void {
  const listenAsNode = original as unknown as Listen;
  const membership = claimMembership(server);
  const before = listening;
  listening = findUnsupportedFeature(server) === null ? { server, membership } : null;
  try {
    const isGiven = Boolean(server._handle);
    const adapted = listening && !isGiven ? bind(server, args as ListenArguments) : args;
    const handle = server._handle as ListeningHandle | null;
    if (handle && mayAccept(handle, isGiven)) prepare(handle);
    listenAsNode.apply(server, adapted as ListenArguments);
  } finally {
    const isServed = listening !== null;
    listening = before;
    if (isServed) acceptFromNode(server);
  }
}

/** Creates and binds the handle of a TCP server, as Node does next; returns the arguments with the address that it has. */
function bind(server: HttpServer, args: ListenArguments): ListenArguments {
  const [address, port, addressType, backlog, fd, flags] = args;
  // A Unix socket.
  if (port === -1) return args;
  if (!address && typeof fd !== 'number') {
    const all = createHandle('::', port, 6, fd, flags);
    if (typeof all !== 'number') {
      server._handle = all;
      return ['::', port, 6, backlog, fd, flags];
    }
  }
  const handle = createHandle(address, port, addressType, fd, flags);
  // If it fails, Node tries again and reports the error.
  if (typeof handle !== 'number') server._handle = handle;
  return args;
}

/** Whether the reactor may accept in the place of a handle. */
function mayAccept(handle: ListeningHandle, isGiven: boolean): boolean {
  if (handle.constructor.name !== 'TCP' || !(handle.fd >= 0)) return false;
  if (!isGiven) return true;
  // The primary counts the handles of its workers. Node calls `onconnection` of a handle from which the loop accepts.
  return nodeCluster().isPrimary && typeof handle.onconnection !== 'function';
}

/** Lets the reactor accept in the place of a handle when Node makes it listen. */
function prepare(handle: ListeningHandle): void {
  const original = handle.listen;
  handle.listen = function (this: ListeningHandle, backlog) {
    const error = listening === null ? null : listenNatively(listening, handle, backlog);
    if (error !== null) return error;
    // From here on the loop accepts.
    NativeListener.of(handle).close();
    handle.listen = original;
    return original.call(handle, backlog);
  };
}

/** Returns the system's error number, or 0; `null`: there is no descriptor for the reactor. */
function listenNatively(
  { server, membership }: Listening,
  handle: ListeningHandle,
  backlog: number,
): number | null {
  // What was joined has a reactor already.
  if (membership === undefined && !hasReactor()) {
    listening = null;
    return null;
  }
  learnFrom(handle);
  try {
    let nativeServer: NativeServer | undefined;
    const error = listenByTwin(handle, backlog, () => {
      nativeServer = startNativeServer(server);
      if (membership !== undefined) nativeServer.share(membership, handle.fd);
    });
    if (nativeServer) NativeListener.of(handle).open(nativeServer);
    return error;
  } catch (error) {
    if (membership === undefined) return null;
    handle.close();
    server._handle = null;
    // What is left of its part in the address goes with it.
    disposeNativeServer(server);
    throw error;
  }
}

/** Without descriptors for a reactor, servers are Node's own. */
function hasReactor(): boolean {
  try {
    startReactor();
    return true;
  } catch (error) {
    const { message } = error as Error;
    process.emitWarning(`millrace: a server is on Node's own HTTP code: ${message}`);
    return false;
  }
}

/** Takes the connections that Node accepts, if the reactor does not accept for this server. */
function acceptFromNode(server: HttpServer): void {
  const handle = server._handle as ListeningHandle | null;
  if (!handle || getListeningServer(handle)?.server === server) return;
  if (typeof handle.onconnection !== 'function' || !hasReactor()) return;
  learnFrom(handle);
  const nativeServer = startNativeServer(server);
  const { onconnection } = handle;
  handle.onconnection = function (error, client) {
    if (error || !client || client.fd < 0 || !moveToReactor(nativeServer, client)) {
      onconnection.call(this, error, client);
    }
  };
}

/** Moves a connection that Node has accepted to the reactor; `false`: there is no descriptor for that. */
function moveToReactor(nativeServer: NativeServer, client: ListeningHandle): boolean {
  let id: number;
  try {
    id = native.stackAdopt(nativeServer.id, client.fd);
  } catch {
    nativeServer.countNotTaken();
    return false;
  }
  // Not among the active handles while it closes.
  client.unref();
  client.close();
  learnFrom(client);
  const socket = nativeServer.open(id);
  if (socket) nativeServer.connected(socket);
  return true;
}
