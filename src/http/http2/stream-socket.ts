import { emit } from '../node/node-methods.js';
import type { Connection, HttpSocket } from '../state/connection.js';

/** What a stream hears of its connection. */
interface Listening {
  refresh(): void;
  lose(): void;
}

/**
 * Stands for the socket of a stream's connection, which no application sees: it has what the stack itself asks of one.
 */
export class StreamSocket {
  readonly emit = emit;
  /** A response in progress is `Http2Stream`'s. */
  readonly _httpMessage = null;
  readonly _paused = false;
  readonly _parent = null;
  /** So that each part that comes or leaves is told to `_unrefTimer`. */
  readonly timeout = 1;
  #connection: Connection;
  stream: Listening | null = null;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  get destroyed(): boolean {
    return this.#connection.isNativeDestroyed;
  }
  get writable(): boolean {
    return !this.#connection.isNativeDestroyed;
  }

  _unrefTimer(): void {
    this.stream?.refresh();
  }
  setTimeout(): void {}
  pause(): void {
    this.#connection.setPaused(true);
  }
  resume(): void {
    this.#connection.setPaused(false);
  }
  /** The connection is to end: its session has, or a limit ends it. */
  destroy(): void {
    if (this.stream !== null) this.stream.lose();
    else if (!this.#connection.isNativeDestroyed) {
      this.#connection.isNativeDestroyed = true;
      this.#connection.close(false);
    }
  }
  destroySoon(): void {
    this.destroy();
  }

  /** The same as a socket of the stack. */
  static for(connection: Connection): HttpSocket {
    return new StreamSocket(connection) as unknown as HttpSocket;
  }
}
