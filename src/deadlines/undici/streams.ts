import type { Socket } from 'node:net';

/** Methods of a request by which undici reports on its HTTP/2 stream; a result of `false` pauses the stream. */
interface StreamRequest {
  onHeaders?(
    status: number,
    headers: unknown,
    resume: () => void,
    ...more: unknown[]
  ): boolean | undefined;
  onData?(chunk: unknown): boolean | undefined;
  onRequestSent?(): unknown;
}

/** Requests whose application does not read what has arrived. */
const pausedRequests = new WeakSet<object>();
/** Requests that have not been sent in full. */
const uploadingRequests = new WeakSet<object>();
/** Numbers of open streams by connection. */
const streamCounts = new WeakMap<Socket, number>();

/** Whether a connection carries several calls at once. */
export function isHttp2(socket: Socket): boolean {
  return (socket as { alpnProtocol?: unknown }).alpnProtocol === 'h2';
}

/** Observes a stream from now on: unlike HTTP/1 it has no parser that shows whether it is paused. */
export function observeStream(request: object): void {
  const stream = request as StreamRequest;
  const { onHeaders, onData, onRequestSent } = stream;
  if (!onHeaders || !onData || !onRequestSent) return;
  uploadingRequests.add(request);
  stream.onRequestSent = function observe() {
    uploadingRequests.delete(request);
    return Reflect.apply(onRequestSent, this, []);
  };
  const recordPause = (isReading: boolean | undefined) => {
    if (isReading === false) pausedRequests.add(request);
    else pausedRequests.delete(request);
    return isReading;
  };
  stream.onHeaders = function observe(status, headers, resume, ...more) {
    const onResume = () => {
      pausedRequests.delete(request);
      resume();
    };
    return recordPause(Reflect.apply(onHeaders, this, [status, headers, onResume, ...more]));
  };
  stream.onData = function observe(chunk) {
    return recordPause(Reflect.apply(onData, this, [chunk]));
  };
}

export function isStreamPaused(request: object): boolean {
  return pausedRequests.has(request);
}

export function isUploading(request: object): boolean {
  return uploadingRequests.has(request);
}

/** Counts a stream that begins on a connection, or ends (-1). */
export function addStreams(socket: Socket, change: 1 | -1): void {
  streamCounts.set(socket, countStreams(socket) + change);
}

export function countStreams(socket: Socket): number {
  return streamCounts.get(socket) ?? 0;
}
