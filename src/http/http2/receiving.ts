import type http from 'node:http';
import { NodeParserBody } from '../fallback/node-parser.js';
import { onRaw } from '../fallback/unparsed-bytes.js';
import { nodeHttp } from '../node/node-http.js';
import type { HttpServer } from '../node/node-internals.js';
import { guarded } from '../reactor/contexts.js';
import { FIELDS_SHIFT, FLAG_BODY } from '../reactor/events.js';
import { native } from '../reactor/native.js';
import type { Bytes, Connection, Receive } from '../state/connection.js';
import { parseRequest } from './request-fields.js';
import { Http2Session } from './session.js';
import { Http2Stream } from './stream.js';

type StreamListener = (stream: object, headers: object, flags: number, raw: string[]) => void;

/** Flags of Node's 'stream' event: those of the frame. */
const END_STREAM = 1;
const END_HEADERS = 4;

/** The line that the session adds behind the fields of a request with a body, and the end of its head. */
const CHUNKED = '\r\ntransfer-encoding: chunked\r\n\r\n';

/** Parses the bodies behind heads that are none of HTTP/1.1; it has nothing of a server of HTTP/2. */
let bodyServer: http.Server | undefined;

/** Begins the request of a stream. What the application throws is reported, and the stream goes on, as with Node. */
export const receiveStream: Receive = (...request) => {
  guarded(begin, ...request);
};

/** Creates the stream. Node's own listener for 'stream' creates the request and the response, and calls the application. */
const begin: Receive = (connection, head, method, url, flags) => {
  const { nativeServer } = connection;
  const { server } = nativeServer;
  const { id, headers, rawHeaders } = parseRequest(head, flags >> FIELDS_SHIFT, method, url);
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
};

/** Begins a request whose head is none of HTTP/1.1, as its method or a character of its path is not. */
export function receiveUnusual(connection: Connection, { bytes }: Bytes): void {
  const text = bytes.toString('latin1');
  const end = text.indexOf('\r\n\r\n') + 4;
  let head = text.slice(0, end);
  const hasBody = head.endsWith(CHUNKED);
  if (hasBody) head = `${head.slice(0, -CHUNKED.length)}\r\n\r\n`;
  const [start = '', ...lines] = head.split('\r\n').slice(0, -2);
  const [method = '', url = ''] = start.split(' ');
  const flags = (lines.length << FIELDS_SHIFT) | (hasBody ? FLAG_BODY : 0);
  receiveStream(connection, head, method, url, flags);
  if (connection.id < 0) return;
  if (!hasBody) {
    native.stackProceedRaw(connection.id);
    return;
  }
  bodyServer ??= new nodeHttp.Server();
  connection.fallbackParser = new NodeParserBody(bodyServer as HttpServer, connection, '');
  const rest = bytes.subarray(end);
  if (rest.length > 0) onRaw(connection, rest);
  else native.stackProceedRaw(connection.id);
}
