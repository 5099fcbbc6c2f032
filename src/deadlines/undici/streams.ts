import type { ClientHttp2Session, ClientHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import { readInternal } from '../../outbound/undici-internals.js';

/** Numbers of open streams by connection. */
const streamCounts = new WeakMap<Socket, number>();
const observedSessions = new WeakSet<ClientHttp2Session>();

/** Finds the HTTP/2 session of a connection of undici, with TLS or without. */
export function findSession(socket: Socket): ClientHttp2Session | undefined {
  return (readInternal(socket, 'http2Session') as ClientHttp2Session | null) ?? undefined;
}

/** Reports the stream of each request that undici sends on a session from now on. */
export function observeSession(
  session: ClientHttp2Session,
  report: (request: object, stream: ClientHttp2Stream) => void,
): void {
  if (observedSessions.has(session)) return;
  observedSessions.add(session);
  const { request } = session;
  session.request = function open(this: ClientHttp2Session, ...args) {
    const stream = Reflect.apply(request, this, args);
    const sent = findRequestBeingSent(session);
    if (sent !== undefined) report(sent, stream);
    return stream;
  };
}

/** Finds the request that undici is sending: the first of those in the client's queue that wait. */
function findRequestBeingSent(session: ClientHttp2Session): object | undefined {
  const client = readInternal(session, 'client');
  if (typeof client !== 'object' || client === null) return undefined;
  const queue = readInternal(client, 'queue');
  const index = readInternal(client, 'pending index');
  if (!Array.isArray(queue) || typeof index !== 'number') return undefined;
  const request: unknown = queue[index];
  return typeof request === 'object' && request !== null ? request : undefined;
}

/** Whether the application has not written the rest of the request's body, and all before it has been sent. */
export function isStreamWaitingToWrite(stream: ClientHttp2Stream): boolean {
  // Until `100 Continue` it is the peer that is late.
  return (
    !stream.writableEnded && stream.writableLength === 0 && stream.listenerCount('continue') === 0
  );
}

/** Counts a stream that begins on a connection, or ends (-1). */
export function addStreams(socket: Socket, change: 1 | -1): void {
  streamCounts.set(socket, countStreams(socket) + change);
}

export function countStreams(socket: Socket): number {
  return streamCounts.get(socket) ?? 0;
}
