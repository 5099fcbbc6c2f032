import type net from 'node:net';
import { type PeerAddress, ServerSocket } from '../connection/socket.js';
import { nodeConnection } from '../install/node-internals.js';
import { resetTimeout } from '../request/exchange.js';
import type { HttpServer, NativeServer } from '../server/native-server.js';
import { type Events, takePlaces } from './node-listeners.js';

/** What a connection's socket has got so far, and keeps when Node's own code takes the connection over. */
export interface Carried {
  /** `null`: nobody but Node listens. */
  readonly events: Events | null;
  /** What is no field of a native socket: the application's, and the timer of `setTimeout`. */
  readonly own: PropertyDescriptorMap;
  /** As `setTimeout` was called last. */
  readonly timeout: number | undefined;
  readonly peer: PeerAddress;
  readonly paused: boolean;
  readonly referenced: boolean;
  readonly bytesWritten: number;
}

const isTimer = ({ description }: symbol) => description === 'timeout';

/** Fields of a native socket. */
let fields: ReadonlySet<string | symbol> | null = null;

/** To be called while the connection is still native; bytes have come, or somebody else wants it. */
export function carry(
  nativeServer: NativeServer,
  socket: ServerSocket,
  bytesCame: boolean,
): Carried {
  fields ??= new Set(Reflect.ownKeys(new ServerSocket(-1, nativeServer)));
  if (socket.waiting || (bytesCame && socket.timeout > 0)) resetTimeout(socket);
  const own: PropertyDescriptorMap = {};
  for (const [key, descriptor] of Object.entries(Object.getOwnPropertyDescriptors(socket))) {
    if (!fields.has(key)) own[key] = descriptor;
  }
  for (const key of Object.getOwnPropertySymbols(socket)) {
    const descriptor = Object.getOwnPropertyDescriptor(socket, key);
    if (descriptor && !fields.has(key)) (own as Record<symbol, unknown>)[key] = descriptor;
  }
  return {
    // A response that is under way listens, too.
    events: socket.isObserved || socket._httpMessage !== null ? socket._events : null,
    own,
    timeout: Object.getOwnPropertySymbols(own).some(isTimer) ? socket.timeout : undefined,
    peer: socket.knownPeer,
    paused: socket.pausedReading,
    referenced: nativeServer.isReferenced(socket),
    bytesWritten: socket.bytesWritten,
  };
}

/** Calls in the context of the requests of a socket that is an ordinary one by now, but for what it keeps. */
export function runInRequestContext(socket: ServerSocket, action: () => void): void {
  const inContext = ServerSocket.prototype.inContext as (this: object, action: () => void) => void;
  inContext.call(socket, action);
}

/** Gives a socket that is an ordinary one by now to Node's parser, with all that it carries. */
export function attachParser(
  socket: ServerSocket,
  ordinary: net.Socket,
  server: HttpServer,
  carried: Carried,
): void {
  runInRequestContext(socket, () => nodeConnection.call(server, ordinary));
  const { events, own, timeout } = carried;
  if (events !== null && socket.standIns !== null) {
    takePlaces(ordinary, events, socket.standIns);
    for (const event of ['data', 'readable']) {
      if (events[event] !== socket.standIns[event]) listenAnew(ordinary, event);
    }
  }
  restore(ordinary, own, timeout);
}

/** As if a listener for bytes had been added when the connection was Node's already. */
function listenAnew(ordinary: net.Socket, event: string): void {
  if (ordinary.listenerCount(event) === 0) return;
  const listener = () => {};
  ordinary.on(event, listener);
  ordinary.removeListener(event, listener);
}

/** Properties, and the timer that runs: one that Node has started in the meantime is none of them. */
export function restore(
  ordinary: net.Socket,
  own: PropertyDescriptorMap,
  timeout: number | undefined,
): void {
  if (ordinary.timeout) ordinary.setTimeout(0);
  Object.defineProperties(ordinary, own);
  Object.assign(ordinary, { timeout });
}
