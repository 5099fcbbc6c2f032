import { FIELDS_SHIFT, FLAG_BODY } from '../reactor/events.js';
import { reportException } from '../reactor/internal-errors.js';
import { native } from '../reactor/native.js';
import type { Bytes, Connection } from '../state/connection.js';
import { parseRequest } from './request-fields.js';
import { Http2Session } from './session.js';
import { Http2Stream } from './stream.js';

type StreamListener = (stream: object, headers: object, flags: number, raw: string[]) => void;

/** Flags of Node's 'stream' event: those of the frame. */
const END_STREAM = 1;
const END_HEADERS = 4;

/**
 * Begins the request of a stream. Node's own listener for 'stream' creates the request and the response, and calls the
 * application.
 */
export function receiveStream(
  connection: Connection,
  head: string,
  method: string,
  url: string,
  flags: number,
): void {
  const { nativeServer } = connection;
  const { server } = nativeServer;
  try {
    const { id, headers, rawHeaders } = parseRequest(
      head,
      (flags >> FIELDS_SHIFT) * 2,
      method,
      url,
    );
    nativeServer.requests++;
    nativeServer.inFlight++;
    connection.requestIndex++;
    const hasBody = (flags & FLAG_BODY) !== 0;
    const session = Http2Session.of(connection.session as Connection);
    const stream = new Http2Stream(connection, session, id, method, hasBody);
    connection.http2 = stream;
    session.refresh();
    const frameFlags = hasBody ? END_HEADERS : END_HEADERS | END_STREAM;
    const listener = server._events.stream as StreamListener;
    listener.call(server, stream, headers, frameFlags, rawHeaders);
  } catch (error) {
    reportException(error, connection);
    connection.socket.destroy();
  }
}

/**
 * Begins a request whose head is none of HTTP/1.1, as its method or a character of its path is not. With a body it is refused.
 */
export function receiveUnusual(connection: Connection, bytes: Bytes | null): void {
  const text = bytes?.bytes.toString('latin1') ?? '';
  const end = text.indexOf('\r\n\r\n');
  const head = text.slice(0, end + 4);
  if (end < 0 || head.includes('\r\ntransfer-encoding: chunked\r\n')) {
    connection.socket.destroy();
    return;
  }
  const [start = '', ...lines] = head.split('\r\n').slice(0, -2);
  const [method = '', url = ''] = start.split(' ');
  native.stackProceedRaw(connection.id);
  receiveStream(connection, head, method, url, lines.length << FIELDS_SHIFT);
}
