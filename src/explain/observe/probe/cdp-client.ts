import type { Socket } from 'node:net';
import type { WebSocket } from 'undici';
import { PendingCalls, parseObject } from './pending-calls.js';

/** The error of calls to a debugger that has closed the connection. */
const CLOSED = 'the debugger has closed the connection';

interface CdpResponse {
  id?: number;
  result?: unknown;
  error?: { message: string };
}

/** A client of the Chrome DevTools Protocol: text messages over a WebSocket (RFC 6455). */
export class CdpClient {
  readonly #webSocket: WebSocket;
  readonly #socket: Socket;
  readonly #pending = new PendingCalls();
  /** Resolves when either side has ended the connection. */
  readonly ended: Promise<void>;

  /**
   * Connects to a debugger.
   *
   * @param url for example `ws://127.0.0.1:9229/3f6a...`
   * @throws {Error} if the server does not support WebSocket.
   */
  static async connect(url: string, signal: AbortSignal): Promise<CdpClient> {
    // Loaded when it is needed: undici takes longer to load than the rest of explain.
    const { Agent, buildConnector, WebSocket } = await import('undici');
    const connectSocket = buildConnector({});
    let socket: Socket | null = null;
    // An agent of its own: the one of the process may lead through a proxy. It keeps the socket, which a WebSocket leaves
    // open until its peer has answered.
    const dispatcher = new Agent({
      connect: (options, callback) =>
        connectSocket(options, (...result) => {
          socket = result[1];
          callback(...result);
        }),
    });
    const webSocket = new WebSocket(url, { dispatcher });
    try {
      await waitForOpen(webSocket, signal);
      if (socket === null) throw new Error(CLOSED);
      return new CdpClient(webSocket, socket);
    } catch (error) {
      await dispatcher.destroy();
      throw error;
    }
  }

  private constructor(webSocket: WebSocket, socket: Socket) {
    this.#webSocket = webSocket;
    this.#socket = socket;
    webSocket.addEventListener('message', ({ data }) => this.#onMessage(String(data)));
    this.ended = new Promise((resolve) => {
      socket.on('close', () => {
        this.#pending.rejectAll(CLOSED);
        resolve();
      });
    });
  }

  /**
   * Calls a method such as `Runtime.evaluate` and returns its result.
   *
   * @throws {Error} with the debugger's message, or if the connection ends first.
   */
  call(method: string, params: Record<string, unknown>): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (this.#webSocket.readyState !== this.#webSocket.OPEN || this.#socket.destroyed) {
        reject(new Error(CLOSED));
        return;
      }
      const id = this.#pending.add({ resolve, reject });
      this.#webSocket.send(JSON.stringify({ id, method, params }));
    });
  }

  close(): void {
    this.#webSocket.close();
    this.#socket.destroySoon();
  }

  #onMessage(text: string): void {
    const answer = parseObject<CdpResponse>(text);
    // A WebSocket server that is not a debugger: none of its messages can be a response.
    if (answer === null) this.#socket.destroy();
    else this.#pending.settle(answer.id ?? 0, readError(answer), answer.result ?? {});
  }
}

/** Waits until a connection is open; throws if it fails, or the signal says so first. */
function waitForOpen(webSocket: WebSocket, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    // The event of a failed handshake has no reason.
    const fail = () => reject(new Error('the port does not belong to a debugger'));
    webSocket.addEventListener('open', () => resolve());
    webSocket.addEventListener('error', fail);
    webSocket.addEventListener('close', fail);
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    if (signal.aborted) reject(signal.reason);
  });
}

/** Reads the message of an error; `undefined` if the call has succeeded. */
function readError({ error }: CdpResponse): string | undefined {
  return error ? String(error.message) : undefined;
}
