import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { ServerResponse } from 'node:http';
import { ignoreErrors } from '../runtime/clock.cjs';

const START = 'http.server.request.start';
const FINISH = 'http.server.response.finish';

type Write = ServerResponse['write'];

/**
 * Collects the parts of each response from the first one to the end, which uncorks the socket. A response is released
 * early if its writer has to wait for 'drain' or for a part to be written; a response that is behind others on its
 * connection is not corked. The socket is corked, not the response: in some versions of Node.js a corked response that
 * ends is written in the wrong order. Millrace's own stack always collects within a turn of the loop, and never longer.
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
    // A response that has ended is uncorked already; its socket may carry the next response.
    if (!response.writableEnded) response.socket?.uncork();
  }
}
