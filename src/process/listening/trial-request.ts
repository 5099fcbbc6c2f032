import { connect } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { Endpoint } from './types.js';

/** The request that tests a port: the first of a load, without header fields and body. */
export interface TrialRequest {
  method: 'GET' | 'HEAD';
  target: string;
  /** Whether the load speaks HTTP/2 without TLS. */
  h2c?: boolean;
  /** Whether the load needs TLS, or cannot use it; absent: both will do. */
  tls?: boolean;
}

/**
 * Answer of a port: the status of an HTTP response, TLS, another protocol, or `nothing` if it refuses or closes the
 * connection.
 */
export type Answer = number | 'tls' | 'other' | 'nothing';

/** How long to read the rest of a response: a server would log a connection that ends early. */
const LINGER_MS = 500;

/** Sends one request to a port. Does not settle while there is no answer, so the caller must not wait indefinitely. */
export async function sendTrialRequest(endpoint: Endpoint, request: TrialRequest): Promise<Answer> {
  if (request.tls && (await speaksTls(endpoint))) return 'tls';
  const answer = await (request.h2c ? requestByHttp2 : requestByHttp1)(endpoint, request);
  if (request.tls) return answer === 'nothing' ? 'nothing' : 'other';
  if (answer === 'nothing' && request.tls === undefined && (await speaksTls(endpoint)))
    return 'tls';
  return answer;
}

/** Whether a port accepts connections. */
export async function acceptsConnections(endpoint: Endpoint): Promise<boolean> {
  const socket = connect(endpoint);
  socket.unref();
  const accepted = await new Promise<boolean>((resolve) => {
    socket.once('connect', () => resolve(true));
    socket.once('error', () => resolve(false));
  });
  socket.destroy();
  return accepted;
}

function requestByHttp1(endpoint: Endpoint, { method, target }: TrialRequest): Promise<Answer> {
  const socket = connect(endpoint);
  socket.unref();
  const host = `localhost:${endpoint.port}`;
  socket.write(`${method} ${target} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
  return new Promise((resolve) => {
    let head = '';
    socket.on('data', (bytes) => {
      if (head.length >= STATUS_LINE_BYTES) return;
      head += bytes.toString('latin1');
      if (head.length < STATUS_LINE_BYTES && !/\n/.test(head) && !isAlert(head)) return;
      resolve(parseAnswer(head));
      destroyLater(socket);
    });
    socket.on('error', () => {});
    socket.on('close', () => resolve(head === '' ? 'nothing' : parseAnswer(head)));
  });
}

async function requestByHttp2(
  endpoint: Endpoint,
  { method, target }: TrialRequest,
): Promise<Answer> {
  // Loaded late, as few runs need it.
  const http2 = await import('node:http2');
  const socket = connect(endpoint);
  socket.unref();
  const session = http2.connect(`http://localhost:${endpoint.port}`, {
    createConnection: () => socket,
  });
  return new Promise((resolve) => {
    const request = session.request({ ':method': method, ':path': target });
    request.on('response', ({ ':status': status = 0 }) => {
      resolve(status);
      destroyLater(session);
    });
    request.on('data', () => {});
    request.on('error', () => {});
    session.on('error', () => {});
    session.on('close', () => resolve(socket.bytesRead > 0 ? 'other' : 'nothing'));
  });
}

/** Length of `HTTP/1.1 200`. */
const STATUS_LINE_BYTES = 12;

function parseAnswer(head: string): Answer {
  const [, status] = /^HTTP\/1\.\d (\d{3})/.exec(head) ?? [];
  if (status !== undefined) return Number(status);
  return isAlert(head) ? 'tls' : 'other';
}

/** Whether the bytes are a TLS alert of any version (RFC 8446, section 5.1). */
function isAlert(head: string): boolean {
  return head.startsWith('\x15\x03');
}

function destroyLater(connection: { destroy(): void }): void {
  setTimeout(() => connection.destroy(), LINGER_MS).unref();
}

/** Whether a port answers a TLS handshake within a second. */
export async function speaksTls({ host, port }: Endpoint): Promise<boolean> {
  const socket = connectTls({ host, port, rejectUnauthorized: false });
  let timer: NodeJS.Timeout | undefined;
  const speaks = await new Promise<boolean>((resolve) => {
    timer = setTimeout(resolve, TLS_TIMEOUT_MS, false);
    socket.on('secureConnect', () => resolve(true));
    // An alert is TLS as well.
    socket.on('error', ({ message }) => resolve(/\balert\b/.test(message)));
    socket.on('close', () => resolve(false));
  });
  clearTimeout(timer);
  socket.destroy();
  return speaks;
}

/** Maximum time for the server's part of a handshake. */
const TLS_TIMEOUT_MS = 1000;
