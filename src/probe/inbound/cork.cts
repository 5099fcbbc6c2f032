import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { ServerResponse } from 'node:http';
import { ignoreErrors } from '../runtime/clock.cjs';

const START = 'http.server.request.start';
const FINISH = 'http.server.response.finish';

type Write = ServerResponse['write'];

/**
 * Collects the parts of each response, from the first to the end, which uncorks its socket. One whose writer is told to
 * wait for 'drain', or waits for a part to be written, is let go before, and one that is behind others on its connection
 * is not corked. It is the socket that is corked: a corked response that ends comes out in the wrong order from some
 * versions of Node. Millrace's own stack collects within a turn anyway, and never beyond.
 */
export class Cork {
  readonly #corked = new Set<ServerResponse>();
  #on = false;

  setEnabled(on: boolean): void {
    if (on === this.#on) return;
    this.#on = on;
    if (on) {
      subscribe(START, this.#onStart);
      subscribe(FINISH, this.#onFinish);
      return;
    }
    unsubscribe(START, this.#onStart);
    unsubscribe(FINISH, this.#onFinish);
    for (const response of [...this.#corked]) this.#release(response);
  }

  readonly #onStart = ignoreErrors((message: unknown) => {
    const { response } = message as { response: ServerResponse };
    const cork = this;
    const { write } = response;
    let isFirst = true;
    response.write = function (this: ServerResponse, ...args: Parameters<Write>) {
      if (isFirst && cork.#on && this.socket) {
        cork.#corked.add(this);
        this.socket.cork();
      }
      isFirst = false;
      const hasRoom = write.apply(this, args);
      const hasCallback = args.some((arg: unknown) => typeof arg === 'function');
      if (!hasRoom || hasCallback) cork.#release(this);
      return hasRoom;
    } as Write;
  });

  readonly #onFinish = ignoreErrors((message: unknown) => {
    this.#corked.delete((message as { response: ServerResponse }).response);
  });

  #release(response: ServerResponse): void {
    if (!this.#corked.delete(response)) return;
    // What has ended was uncorked by that; its socket may be at the next response.
    if (!response.writableEnded) response.socket?.uncork();
  }
}
