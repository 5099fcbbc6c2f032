import type { ClientHttp2Session, ClientHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import { readInternal, writeInternal } from '../../outbound/undici-internals.js';

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

/**
 * Closes a connection without ending the calls that wait for one: the client opens another. Clients of undici 5 and 6
 * keep the closed one in its place, and would send nothing any more.
 */
export function closeConnection(socket: Socket): void {
  const client = readInternal(socket, 'client');
  if (typeof client === 'object' && client !== null) {
    const forget = forgetting(client, ['http2Session', 'http context']);
    // Before undici's own listeners, which begin the next call.
    findSession(socket)?.prependOnceListener('close', forget);
    socket.prependOnceListener('close', forget);
  }
  socket.destroy(NO_BYTES);
}

/** Returns a function that clears fields of a client, unless they have changed by then. */
function forgetting(client: object, names: string[]): () => void {
  const values = names.map((name) => [name, readInternal(client, name)] as const);
  return () => {
    for (const [name, value] of values) {
      if (readInternal(client, name) === value) writeInternal(client, name, null);
    }
  };
}

/** An error with a code for which undici keeps the queued requests. */
const NO_BYTES = Object.assign(new Error('nothing has come over the connection'), {
  code: 'UND_ERR_INFO',
});

/** Ends the stream of a call that has failed, as later versions do: undici 5 leaves it open, and fails on what comes. */
export function destroyStream(stream: ClientHttp2Stream, error: Error): void {
  if (!stream.destroyed) stream.destroy(error);
}

/** Counts a stream that begins on a connection, or ends (-1). */
export function addStreams(socket: Socket, change: 1 | -1): void {
  streamCounts.set(socket, countStreams(socket) + change);
}

export function countStreams(socket: Socket): number {
  return streamCounts.get(socket) ?? 0;
}
