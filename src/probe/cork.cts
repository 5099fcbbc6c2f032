import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { ServerResponse } from 'node:http';
import { quiet } from './clock.cjs';

const START = 'http.server.request.start';
const FINISH = 'http.server.response.finish';

type Write = ServerResponse['write'];

/**
 * Collects the parts of each response, from the first to the end, which uncorks it. One whose writer is told to wait
 * for 'drain' is let go before. Millrace's own stack collects within a turn anyway, and never beyond.
 */
export class Cork {
  readonly #corked = new Set<ServerResponse>();
  #on = false;

  turn(on: boolean): void {
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

  readonly #onStart = quiet((message: unknown) => {
    const { response } = message as { response: ServerResponse };
    const cork = this;
    const { write } = response;
    let isFirst = true;
    response.write = function (this: ServerResponse, ...args: Parameters<Write>) {
      if (isFirst && cork.#on) {
        isFirst = false;
        cork.#corked.add(this);
        this.cork();
      }
      const goOn = write.apply(this, args);
      if (!goOn) cork.#release(this);
      return goOn;
    } as Write;
  });

  readonly #onFinish = quiet((message: unknown) => {
    this.#corked.delete((message as { response: ServerResponse }).response);
  });

  #release(response: ServerResponse): void {
    if (!this.#corked.delete(response)) return;
    // What has ended was uncorked by that; its socket may be at the next response.
    if (!response.writableEnded && !response.destroyed) response.uncork();
  }
}
