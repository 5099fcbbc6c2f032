import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { Endpoint } from './types.js';

/** The request that tests a port: the first of a load, without header fields and body. */
export interface TrialRequest {
  method: 'GET' | 'HEAD';
  target: string;
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
  const answer = await requestPlain(endpoint, request);
  if (answer === 'nothing' && (await speaksTls(endpoint))) return 'tls';
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

function requestPlain(endpoint: Endpoint, { method, target }: TrialRequest): Promise<Answer> {
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

function destroyLater(socket: Socket): void {
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
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
