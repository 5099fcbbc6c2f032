import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { every } from './clock.cjs';

const START = 'http.server.request.start';
/** A handler that waits for 'drain' is let go on after this time at most. */
const FLUSH_MS = 5;

/** Collects the parts of each response: Node itself uncorks the socket at the response's end. */
export class Cork {
  readonly #corked = new Set<Socket>();
  #timer: NodeJS.Timeout | null = null;

  turn(on: boolean): void {
    if (on === (this.#timer !== null)) return;
    clearInterval(this.#timer ?? undefined);
    this.#timer = on ? every(FLUSH_MS, this.#flush) : null;
    if (on) {
      subscribe(START, this.#onStart);
      return;
    }
    unsubscribe(START, this.#onStart);
    for (const socket of this.#corked) this.#release(socket);
  }

  readonly #onStart = (message: unknown) => {
    try {
      const { socket } = (message as { response: ServerResponse }).response;
      // Pipelined responses have their socket later.
      if (!socket || this.#corked.has(socket)) return;
      socket.cork();
      this.#corked.add(socket);
    } catch {
      // An application's own objects may be anything.
    }
  };

  /** What has ended was uncorked; what is full must leave, or its writer would wait for ever. */
  readonly #flush = () => {
    for (const socket of this.#corked) {
      if (socket.destroyed || socket.writableCorked === 0) this.#corked.delete(socket);
      else if (socket.writableNeedDrain) {
        socket.uncork();
        socket.cork();
      }
    }
  };

  #release(socket: Socket): void {
    this.#corked.delete(socket);
    try {
      if (!socket.destroyed && socket.writableCorked > 0) socket.uncork();
    } catch {
      // As above.
    }
  }
}
