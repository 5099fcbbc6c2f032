import type { Socket } from 'node:net';

/** What undici tells a request of a stream of HTTP/2, and what it is told in return: `false` holds the stream up. */
interface Reader {
  onHeaders?(
    status: number,
    headers: unknown,
    resume: () => void,
    ...more: unknown[]
  ): boolean | undefined;
  onData?(chunk: unknown): boolean | undefined;
  onRequestSent?(): unknown;
}

/** Requests whose application does not take what has arrived. */
const held = new WeakSet<object>();
/** Requests that are not sent to their end. */
const uploading = new WeakSet<object>();
/** Streams that are open on a connection. */
const open = new WeakMap<Socket, number>();

/** Whether a connection carries several calls at once. */
export function isHttp2(socket: Socket): boolean {
  return (socket as { alpnProtocol?: unknown }).alpnProtocol === 'h2';
}

/** A stream has no parser that could be asked whether it is paused; it listens from now on. */
export function watchReader(request: object): void {
  const reader = request as Reader;
  const { onHeaders, onData, onRequestSent } = reader;
  if (!onHeaders || !onData || !onRequestSent) return;
  uploading.add(request);
  reader.onRequestSent = function heard() {
    uploading.delete(request);
    return Reflect.apply(onRequestSent, this, []);
  };
  const told = (goesOn: boolean | undefined) => {
    if (goesOn === false) held.add(request);
    else held.delete(request);
    return goesOn;
  };
  reader.onHeaders = function heard(status, headers, resume, ...more) {
    const resumed = () => {
      held.delete(request);
      resume();
    };
    return told(Reflect.apply(onHeaders, this, [status, headers, resumed, ...more]));
  };
  reader.onData = function heard(chunk) {
    return told(Reflect.apply(onData, this, [chunk]));
  };
}

export function isHeld(request: object): boolean {
  return held.has(request);
}

export function isUploading(request: object): boolean {
  return uploading.has(request);
}

/** A stream begins on a connection, or (-1) ends. */
export function countStream(socket: Socket, more: 1 | -1): void {
  open.set(socket, streamsOn(socket) + more);
}

export function streamsOn(socket: Socket): number {
  return open.get(socket) ?? 0;
}
