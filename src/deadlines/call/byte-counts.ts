import type { Socket } from 'node:net';

/** What Node keeps on a socket's handle, as long as it has one. */
interface Internals {
  _handle?: { writeQueueSize?: number } | null;
}

/** Bytes that were written and have not left yet. */
export function unsent(socket: Socket): number {
  const { _handle: handle } = socket as Internals;
  return socket.writableLength + (handle?.writeQueueSize ?? 0);
}

/** Changes when bytes come or go. */
export function moved(socket: Socket): number {
  return socket.bytesRead + (socket.bytesWritten ?? 0) - unsent(socket);
}
