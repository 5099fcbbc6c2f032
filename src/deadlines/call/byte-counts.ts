import type { Socket } from 'node:net';

/** Fields of a socket that Node does not declare. */
interface SocketInternals {
  _handle?: { writeQueueSize?: number } | null;
}

/** Counts the bytes that were written and have not been sent. */
export function countUnsentBytes(socket: Socket): number {
  const { _handle: handle } = socket as SocketInternals;
  return socket.writableLength + (handle?.writeQueueSize ?? 0);
}

/** Counts the bytes sent and received; the number changes when bytes move. */
export function countMovedBytes(socket: Socket): number {
  return socket.bytesRead + (socket.bytesWritten ?? 0) - countUnsentBytes(socket);
}
