import type http from 'node:http';
import type net from 'node:net';
import { installCacheDuration } from '../cache/cache-duration.js';
import { ServerCache } from '../cache/server-cache.js';
import { type Handle, learnFrom, listeningHandle } from '../connection/handle.js';
import { ServerSocket } from '../connection/socket.js';
import { countRequests } from '../fallback/node-handoff.js';
import { startReactor } from '../reactor/dispatch.js';
import { reference } from '../reactor/loop-reference.js';
import { native } from '../reactor/native.js';
import { installHead } from '../request/request-head.js';
import { installPipe } from '../response/fast-pipe.js';
import { installStoreHeader } from '../response/header-writer.js';
import { installResponse } from '../response/response.js';
import { installLimits } from '../server/limits.js';
import { type HttpServer, NativeServer } from '../server/native-server.js';
import type { StackStats } from '../server/stats.js';
import { keepForStats, settleStats } from '../server/stats-file.js';
import {
  cancelJoin,
  claimMembership,
  createAlreadyListeningError,
  isJoining,
  isPrefix,
  listenToPrefix,
} from '../sharing/listen-prefix.js';
import { installSecureContext } from '../tls/secure-context.js';
import { getNodeTlsConnection, isSecure, SecureServer } from '../tls/secure-server.js';
import { SecureSocket, Underlying } from '../tls/secure-socket.js';
import { isOff } from './disabled.js';
import { nodeCluster } from './node-cluster.js';
import { nodeConnection } from './node-internals.js';
import { socketsAreNodes } from './node-methods.js';

/** The native sides of servers that listen natively, or have. */
const nativeServers = new WeakMap<http.Server, NativeServer>();

interface TcpHandle {
  fd: number;
  close(callback?: () => void): void;
  getsockname?(out: object): number;
}

/** Marks the handle of a listening socket that the reactor accepts from. */
const kListens = Symbol('millrace.listens');

/** Listens natively at a shared address, of which the server is to have a part; what fails leaves nothing behind. */
function listenShared(nativeServer: NativeServer, handle: TcpHandle, membership: number): Handle {
  try {
    nativeServer.share(membership, handle.fd);
    return listenNatively(nativeServer, handle);
  } catch (error) {
    handle.close();
    nativeServer.server._handle = null;
    // What is left of its part in the address goes with it.
    dispose(nativeServer.server);
    throw error;
  }
}

/**
 * Lets the reactor accept in the place of a handle; gives another of the same kind for whoever looks at it or sends it to
 * another process. What fails leaves the handle as it was.
 */
function listenNatively(nativeServer: NativeServer, handle: TcpHandle): Handle {
  let listener = native.stackListen(nativeServer.id, handle.fd);
  let publicHandle: Handle;
  try {
    publicHandle = listeningHandle(native.stackDuplicate(handle.fd), handle);
  } catch (error) {
    native.stackCloseListener(listener);
    throw error;
  }
  handle.close();
  learnFrom(publicHandle);
  reference(1);
  const { close, ref, unref } = publicHandle;
  let referenced = true;
  const refer = (alive: boolean) => {
    if (referenced !== alive && listener >= 0) reference(alive ? 1 : -1);
    referenced = alive;
  };
  return Object.assign(publicHandle, {
    [kListens]: true,
    close(this: Handle, callback?: () => void) {
      if (listener >= 0) {
        native.stackCloseListener(listener);
        nativeServer.unshare();
        refer(false);
        listener = -1;
        nativeServer.unwatch();
      }
      close.call(this, callback);
    },
    ref(this: Handle) {
      refer(true);
      ref.call(this);
    },
    unref(this: Handle) {
      refer(false);
      unref.call(this);
    },
  });
}

interface AcceptingHandle extends TcpHandle {
  onconnection: (this: unknown, error: number, client?: TcpHandle) => void;
}

/** Listens natively, if this server and its handle are of the kind that the reactor knows. */
export function takeOver(server: HttpServer): void {
  const handle = server._handle as AcceptingHandle | null;
  const membership = handle ? claimMembership(server) : undefined;
  if (!handle || kListens in handle || isLeftToNode(server)) return;
  // What was joined has a reactor already.
  if (membership === undefined && !hasReactor()) return;
  const nativeServer = nativeServers.get(server) ?? attachNative(server);
  nativeServer.start();
  keepForStats(nativeServer);
  const isOwn = nodeCluster().isPrimary || membership !== undefined;
  if (isOwn && handle.constructor.name === 'TCP' && handle.fd >= 0) {
    server._handle = listenWith(nativeServer, handle, membership);
    if (server._unref) server.unref();
  } else {
    acceptFrom(nativeServer, handle);
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

/** Listens natively; without descriptors for that, Node accepts. */
function listenWith(
  nativeServer: NativeServer,
  handle: AcceptingHandle,
  membership?: number,
): Handle {
  if (membership !== undefined) return listenShared(nativeServer, handle, membership);
  try {
    return listenNatively(nativeServer, handle);
  } catch {
    acceptFrom(nativeServer, handle);
    return handle as unknown as Handle;
  }
}

function attachNative(server: HttpServer): NativeServer {
  const secure = isSecure(server);
  const nativeServer = secure ? new SecureServer(server) : new NativeServer(server);
  nativeServers.set(server, nativeServer);
  if (secure) nativeServer.standFor('connection', getNodeTlsConnection(), onTlsConnection);
  nativeServer.standFor(secure ? 'secureConnection' : 'connection', nodeConnection, onConnection);
  return nativeServer;
}

/**
 * Leaves accepting to Node and takes its connections: a Unix socket, whose path would go with its handle,
 * and a
 * cluster's worker, whose connections come from the primary, or whose handle the primary counts.
 */
function acceptFrom(nativeServer: NativeServer, handle: AcceptingHandle): void {
  const { onconnection, close } = handle;
  handle.onconnection = function (error, client) {
    if (error || !client || client.fd < 0) {
      onconnection.call(this, error, client);
      return;
    }
    const id = adoptSocket(nativeServer, client.fd);
    if (id < 0) {
      // It has a descriptor; a second one is not to be had.
      nativeServer.countNotTaken();
      onconnection.call(this, error, client);
      return;
    }
    client.close();
    learnFrom(client);
    const socket = nativeServer.open(id);
    if (socket) nativeServer.connected(socket);
  };
  handle.close = function (callback) {
    nativeServer.unwatch();
    close.call(this, callback);
  };
}

/** -1: the system refuses it. */
function adoptSocket(nativeServer: NativeServer, fd: number): number {
  try {
    return native.stackAdopt(nativeServer.id, fd);
  } catch {
    return -1;
  }
}

/** Whether only Node's own code knows what this server wants. */
function isLeftToNode(server: HttpServer): boolean {
  return findImpediment(server) !== null;
}

function findImpediment(server: HttpServer): string | null {
  const option = findNodeOption(server);
  if (option !== null) return `the option ${option} is served by Node's own stack`;
  if (socketsAreNodes()) return null;
  return "methods of net.Socket were replaced, which only Node's own stack calls";
}

function findNodeOption(server: HttpServer): string | null {
  if (server.insecureHTTPParser) return 'insecureHTTPParser';
  if (server.blockList) return 'blockList';
  // For HTTPS it is decided with each handshake.
  if (server.pauseOnConnect && !isSecure(server)) return 'pauseOnConnect';
  const { httpValidation } = server;
  return httpValidation === 'insecure' || httpValidation === 'relaxed' ? 'httpValidation' : null;
}

/** In place of Node's own listener: this server's native connections need nothing, others go the usual way. */
function onConnection(this: http.Server, socket: net.Socket): void {
  if (socket instanceof ServerSocket || socket instanceof SecureSocket) {
    if (socket.nativeServer.server === this) {
      socket.enterContext();
      return;
    }
    // Another server's: it has two from now on.
    socket.nativeServer.wantsBytes(socket);
  }
  nodeConnection.call(this, socket);
  const nativeServer = nativeServers.get(this);
  if (nativeServer && isSecure(nativeServer.server)) countRequests(nativeServer, socket);
}

function onTlsConnection(this: http.Server, socket: net.Socket): void {
  if (!(socket instanceof Underlying)) getNodeTlsConnection().call(this, socket);
}

/** The server is closed and its last connection gone. */
function dispose(server: http.Server): void {
  const nativeServer = nativeServers.get(server);
  if (!nativeServer) return;
  nativeServer.retire();
  settleStats(nativeServer);
}

const kInstalled = Symbol('millrace.installed');

/** Puts the stack under every server of this prototype, once; turned off, only what applications may ask it for. */
export function installStack(prototype: object): void {
  const target = prototype as {
    _listen2(this: HttpServer, ...args: unknown[]): void;
    close(this: HttpServer, ...args: unknown[]): HttpServer;
    _emitCloseIfDrained(this: HttpServer): void;
    closeAllConnections(this: http.Server): void;
    closeIdleConnections(this: http.Server): void;
    stats(this: http.Server): StackStats | null;
    [kInstalled]?: true;
  };
  if (target[kInstalled]) return;
  target[kInstalled] = true;
  installLimits(prototype, (server) => nativeServers.get(server)?.configure());
  target.stats = function () {
    return nativeServers.get(this)?.count() ?? null;
  };
  const none = new ServerCache(() => -1);
  Object.defineProperty(prototype, 'cache', {
    configurable: true,
    enumerable: false,
    get(this: http.Server) {
      return nativeServers.get(this)?.cache ?? none;
    },
  });
  installPrefixes(prototype);
  if (isOff) return;
  const { close } = target;
  target.close = function (...args) {
    cancelJoin(this);
    nativeServers.get(this)?.openAccepted();
    return close.apply(this, args);
  };
  installCacheDuration();
  installHead();
  installResponse();
  installPipe();
  installStoreHeader();
  const { _listen2, _emitCloseIfDrained, closeAllConnections, closeIdleConnections } = target;
  target._listen2 = function (...args) {
    _listen2.apply(this, args);
    takeOver(this);
  };
  target._emitCloseIfDrained = function () {
    _emitCloseIfDrained.call(this);
    if (!this._handle && this._connections === 0) dispose(this);
  };
  target.closeAllConnections = function () {
    closeAllConnections.call(this);
    nativeServers.get(this)?.closeAll();
  };
  target.closeIdleConnections = function () {
    closeIdleConnections.call(this);
    nativeServers.get(this)?.closeIdle();
  };
}

/**
 * Lets servers of this prototype listen to URL prefixes; turned off, they say why they cannot: Node's own code would take one for
 * the path of a Unix socket.
 */
export function installPrefixes(prototype: object): void {
  const target = prototype as { listen(this: HttpServer, ...args: unknown[]): HttpServer };
  const { listen } = target;
  target.listen = function (...args) {
    if (isJoining(this)) throw createAlreadyListeningError();
    if (!isPrefix(args)) return listen.apply(this, args);
    listenToPrefix(this, args, isSecure(this), findImpediment(this));
    return this;
  };
}

/** Puts the stack under every `https.Server` of this prototype. */
export function installSecureStack(prototype: object): void {
  installStack(prototype);
  if (isOff) return;
  installSecureContext();
  const target = prototype as Record<string, (this: http.Server, ...args: unknown[]) => unknown>;
  for (const name of ['setTicketKeys', 'setSecureContext', 'addContext']) {
    const original = target[name] as (this: http.Server, ...args: unknown[]) => unknown;
    target[name] = function (...args) {
      const result = original.apply(this, args);
      const nativeServer = nativeServers.get(this);
      if (nativeServer instanceof SecureServer) nativeServer.forgetContexts();
      return result;
    };
  }
}
