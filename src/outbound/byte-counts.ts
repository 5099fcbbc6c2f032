import type { Socket } from 'node:net';

/** A handle of a socket; that of TLS has the handle of its connection as its parent. */
interface Handle {
  writeQueueSize?: number;
  _parent?: Handle | null;
}

/** Fields of a socket that Node does not declare. */
interface SocketInternals {
  _handle?: Handle | null;
}

/** Counts the bytes that were written and have not been sent. */
export function countUnsentBytes(socket: Socket): number {
  let bytes = socket.writableLength;
  // TLS encrypts at once what is written; the encrypted bytes wait in the parent.
  let handle = (socket as SocketInternals)._handle;
  while (handle) {
    bytes += handle.writeQueueSize ?? 0;
    handle = handle._parent;
  }
  return bytes;
}

/** Counts the bytes sent and received; the number changes when bytes move. */
export function countMovedBytes(socket: Socket): number {
  return socket.bytesRead + (socket.bytesWritten ?? 0) - countUnsentBytes(socket);
}
