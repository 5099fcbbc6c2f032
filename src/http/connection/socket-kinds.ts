import net from 'node:net';
import {
  createNativePrototype,
  createNativeSocketClass,
  type NativeSocketClass,
} from './native-socket.js';
import { createStreamPrototype } from './stream-socket.js';

/** The sockets of a kind of servers: without a stream, and with one. */
export interface SocketKind {
  NativeSocket: NativeSocketClass;
  streamPrototype: object;
}

/** Creates the sockets above `base`, `net.Socket.prototype` or one of TLS, with members of their own. */
export function createSockets(base: object, more: PropertyDescriptorMap = {}): SocketKind {
  const prototype = createNativePrototype(base, more);
  const streamPrototype = createStreamPrototype(base);
  Object.defineProperties(streamPrototype, more);
  return { NativeSocket: createNativeSocketClass(prototype), streamPrototype };
}

let plain: SocketKind | undefined;

export function getPlainSockets(): SocketKind {
  plain ??= createSockets(net.Socket.prototype);
  return plain;
}
