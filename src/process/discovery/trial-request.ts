import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { Endpoint } from './types.js';

/** The request by which a port is tried: the first of a load, without fields and body. */
export interface TrialRequest {
  method: 'GET' | 'HEAD';
  target: string;
}

/** What a port answers: HTTP with a status, TLS, something else, or nothing: it refuses or closes the connection. */
export type Answer = number | 'tls' | 'other' | 'nothing';

/** How long what is left of a response may take: a server would log a connection that ends before. */
const REST_MS = 500;

/** Sends one request to a port. Never settles while there is no answer: whoever asks is not to wait for ever. */
export async function sendTrialRequest(endpoint: Endpoint, request: TrialRequest): Promise<Answer> {
  const answer = await plainAnswer(endpoint, request);
  if (answer === 'nothing' && (await speaksTls(endpoint))) return 'tls';
  return answer;
}

/** Whether a connection to a port is accepted. */
export async function accepts(endpoint: Endpoint): Promise<boolean> {
  const socket = connect(endpoint);
  socket.unref();
  const accepted = await new Promise<boolean>((resolve) => {
    socket.once('connect', () => resolve(true));
    socket.once('error', () => resolve(false));
  });
  socket.destroy();
  return accepted;
}

function plainAnswer(endpoint: Endpoint, { method, target }: TrialRequest): Promise<Answer> {
  const socket = connect(endpoint);
  socket.unref();
  const host = `localhost:${endpoint.port}`;
  socket.write(`${method} ${target} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
  return new Promise((resolve) => {
    let head = '';
    socket.on('data', (bytes) => {
      if (head.length >= HEAD_BYTES) return;
      head += bytes.toString('latin1');
      if (head.length < HEAD_BYTES && !/\n/.test(head) && !isAlert(head)) return;
      resolve(read(head));
      letEnd(socket);
    });
    socket.on('error', () => {});
    socket.on('close', () => resolve(head === '' ? 'nothing' : read(head)));
  });
}

/** Of `HTTP/1.1 200`. */
const HEAD_BYTES = 12;

function read(head: string): Answer {
  const [, status] = /^HTTP\/1\.\d (\d{3})/.exec(head) ?? [];
  if (status !== undefined) return Number(status);
  return isAlert(head) ? 'tls' : 'other';
}

/** RFC 8446, section 5.1: an alert, of any version. */
function isAlert(head: string): boolean {
  return head.startsWith('\x15\x03');
}

function letEnd(socket: Socket): void {
  setTimeout(() => socket.destroy(), REST_MS).unref();
}

/** Whether a port answers a TLS handshake, within a second. */
export async function speaksTls({ host, port }: Endpoint): Promise<boolean> {
  const socket = connectTls({ host, port, rejectUnauthorized: false });
  let timer: NodeJS.Timeout | undefined;
  const speaks = await new Promise<boolean>((resolve) => {
    timer = setTimeout(resolve, TLS_PATIENCE_MS, false);
    socket.on('secureConnect', () => resolve(true));
    // An alert is TLS as well.
    socket.on('error', ({ message }) => resolve(/\balert\b/.test(message)));
    socket.on('close', () => resolve(false));
  });
  clearTimeout(timer);
  socket.destroy();
  return speaks;
}

/** As long as a server may take for its half of a handshake. */
const TLS_PATIENCE_MS = 1000;
