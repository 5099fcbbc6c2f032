import { once } from 'node:events';
import { connect } from 'node:net';

/** The result of a flood. */
export interface FloodResult {
  /** Number of responses that arrived, in the order of their requests. */
  answered: number;
  /** Reason why not all requests were answered; `null` if all were. */
  failure: string | null;
  durationMs: number;
}

const REQUESTS_PER_WRITE = 500;
const END_OF_HEAD = '\r\n\r\n';

/**
 * Writes numbered requests (`GET /0`, `GET /1`, ...) on one connection without waiting for responses, and checks that the
 * responses, whose bodies contain the number, arrive in order. Ends when all are answered, at a failure, or after `limitMs`.
 */
export async function flood(
  port: number,
  requests: number,
  { limitMs, signal }: { limitMs: number; signal: AbortSignal },
): Promise<FloodResult> {
  signal.throwIfAborted();
  const startMs = performance.now();
  const answers = new ResponseChecker();
  const socket = connect(port, '127.0.0.1');
  const ended = new Promise<string | null>((resolve) => {
    const timer = setTimeout(() => resolve(`not finished within ${limitMs / 1000} s`), limitMs);
    const end = (failure: string | null) => {
      clearTimeout(timer);
      resolve(failure);
    };
    socket.on('data', (bytes) => {
      answers.push(bytes.toString('latin1'));
      if (answers.failure) end(answers.failure);
      else if (answers.count === requests) end(null);
    });
    socket.on('error', (error) => end(error.message));
    socket.on('close', () => end('the server closed the connection'));
    signal.addEventListener('abort', () => end('ended'), { once: true });
  });
  writeRequests(socket, requests).catch(() => {});
  const failure = await ended;
  socket.destroy();
  signal.throwIfAborted();
  return { answered: answers.count, failure, durationMs: performance.now() - startMs };
}

async function writeRequests(socket: ReturnType<typeof connect>, requests: number): Promise<void> {
  for (let first = 0; first < requests; first += REQUESTS_PER_WRITE) {
    let text = '';
    for (let number = first; number < Math.min(requests, first + REQUESTS_PER_WRITE); number += 1) {
      text += `GET /${number} HTTP/1.1\r\nHost: localhost\r\n\r\n`;
    }
    if (!socket.write(text)) await once(socket, 'drain');
  }
}

/** Checks responses, with `Content-Length` or a single chunk, whose body is the request's number and a line feed. */
class ResponseChecker {
  count = 0;
  failure: string | null = null;
  #rest = '';

  push(text: string): void {
    this.#rest += text;
    let from = 0;
    for (;;) {
      const head = this.#rest.indexOf(END_OF_HEAD, from);
      const end = head < 0 ? -1 : this.#rest.indexOf('\n', head + END_OF_HEAD.length);
      if (end < 0) break;
      const body = this.#rest.slice(head + END_OF_HEAD.length, end);
      if (body !== String(this.count)) {
        this.failure = `response ${this.count} is '${body.slice(0, 40)}'`;
        return;
      }
      this.count += 1;
      from = end + 1;
    }
    this.#rest = this.#rest.slice(from);
  }
}
