import type { ClientRequest, IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { ignoreErrors, nextTick, timers } from '../runtime/clock.cjs';
import { MemorySocket, type Peer, readPeer } from './memory-socket.cjs';
import { buildRequestKey, type RecordedResponses } from './recorded-responses.cjs';

/** What Node.js keeps of a request that waits for its socket. */
interface Internals {
  _header?: string | null;
  outputData?: { data: string | Uint8Array }[];
  onSocket(socket: Socket): void;
}

/** Calls of `node:http` and `node:https` that are answered from memory while there is one. */
export class ClientRequestMemory {
  responses: RecordedResponses | null = null;
  /** Keys of the requests that went out. */
  readonly #keys = new WeakMap<ClientRequest, string>();
  #peer: Peer = { properties: {} };

  /** Whether a call may be answered from memory: then `decide` is called instead of its agent. */
  appliesTo({ method }: ClientRequest, origin: string): boolean {
    return (
      this.responses?.origin === origin &&
      (method === 'GET' || method === 'HEAD' || this.#countPassed())
    );
  }

  /** Counts a call with another method, which always goes out. */
  #countPassed(): false {
    this.responses?.answer(null);
    return false;
  }

  /** Answers a call, or passes it on to its agent. Waits until the application has completed it. */
  decide(request: ClientRequest, passOn: () => void): void {
    const decide = () => {
      let isAnswered = false;
      try {
        isAnswered = this.#answer(request);
      } finally {
        if (!isAnswered) passOn();
      }
    };
    nextTick(() => {
      if (request.writableEnded || request.destroyed) decide();
      else timers.setImmediate(decide);
    });
  }

  #answer(request: ClientRequest): boolean {
    const { responses } = this;
    if (responses === null || request.destroyed) return false;
    const key = readKey(request, responses.origin);
    const response = responses.answer(key);
    if (response === null) {
      if (key !== null) this.#keys.set(request, key);
      return false;
    }
    const socket = new MemorySocket(response, request.method === 'HEAD', this.#peer);
    // As an agent's: the request emits this event when the connection may be used again.
    socket.once('free', () => socket.destroy());
    request.reusedSocket = true;
    (request as unknown as Internals).onSocket(socket);
    return true;
  }

  /** Records the response to a request that went out. Called with the head of the response. */
  record(request: ClientRequest, response: IncomingMessage): void {
    const key = this.#keys.get(request);
    const { statusCode = 0, statusMessage = '', rawHeaders, httpVersion } = response;
    if (key === undefined || this.responses === null || httpVersion !== '1.1') return;
    const recorder = this.responses.record(key, statusCode, statusMessage, rawHeaders);
    if (recorder === null) return;
    if (request.socket) this.#peer = readPeer(request.socket);
    const { push } = response;
    const add = ignoreErrors((chunk: unknown) => {
      if (chunk instanceof Uint8Array) recorder.add(chunk);
      else if (chunk === null && response.complete) recorder.finish();
    });
    response.push = function (chunk, encoding) {
      add(chunk);
      if (chunk === null) Reflect.deleteProperty(response, 'push');
      return push.call(this, chunk, encoding);
    };
  }
}

/** Fields of a request whose answer is not one response. */
const UNANSWERABLE_FIELD = /^(?:expect|upgrade|transfer-encoding)$/i;

/** Reads the key of a complete request without content; `null` if it is none. */
function readKey(request: ClientRequest, origin: string): string | null {
  const { _header: head, outputData } = request as unknown as Internals;
  if (typeof head !== 'string' || !request.writableEnded) return null;
  const waiting = outputData?.reduce((sum, { data }) => sum + data.length, 0);
  if (waiting !== head.length) return null;
  const fields = head
    .split('\r\n')
    .slice(1)
    .filter((line) => line !== '')
    .map((line): [string, string] => {
      const at = line.indexOf(':');
      return [line.slice(0, at), line.slice(at + 1).trim()];
    });
  if (fields.some(([name]) => UNANSWERABLE_FIELD.test(name))) return null;
  return buildRequestKey(request.method, `${origin}${request.path}`, fields);
}
