import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises';
import { RequestReader } from './request.js';

/**
 * One connection of the truth server: it notes what arrives and sends what the script says, in the order of the
 * requests.
 *
 * A script is called for each request at its arrival and returns the answer: text or bytes, or
 * `{ after, parts, pause, ending }`. `after` is in milliseconds from the arrival; the `parts` are written one by one,
 * `pause` milliseconds or at least a turn of the loop apart; `ending` is what follows: `'end'` (FIN), `'reset'` (RST),
 * `'cut'` (FIN below TLS, without its goodbye), `'hang'` (nothing, for this and all later requests).
 */
export class Connection {
  requests = [];
  /** Bytes of HTTP that arrived and that were written. */
  received = 0;
  sent = 0;

  #reader = new RequestReader();
  #answers = Promise.resolve();
  #socket;
  #raw;

  /** `raw` is the TCP or Unix socket under `socket`. */
  constructor(index, socket, raw, { script, arrived }) {
    this.index = index;
    this.#socket = socket;
    this.#raw = raw;
    socket.setNoDelay?.(true);
    socket.on('data', (chunk) => {
      const at = performance.now();
      this.received += chunk.length;
      for (const request of this.#reader.push(chunk)) this.#take(request, at, script, arrived);
    });
    // A client may do as it likes.
    socket.on('error', () => {});
  }

  /** Ends the connection, as `ending` in an answer does. */
  finish(how) {
    if (how === 'end') this.#socket.end();
    else if (how === 'reset') this.#raw.resetAndDestroy();
    else if (how === 'cut') this.#raw.destroy();
  }

  #take(request, at, script, arrived) {
    Object.assign(request, { at, connection: this.index, position: this.requests.length });
    this.requests.push(request);
    arrived(request);
    const answer = script(request);
    this.#answers = this.#answers.then(() => this.#deliver(request, answer));
  }

  async #deliver(request, answer) {
    const { after = 0, parts, pause, ending } = answer.parts ? answer : { parts: [answer] };
    const wait = request.at + after - performance.now();
    // Timers count in whole milliseconds, rounded down.
    if (wait > 0) await sleep(Math.ceil(wait), undefined, { ref: false });
    for (const [index, part] of parts.entries()) {
      if (index > 0) await (pause ? sleep(pause) : turn());
      request.answeredAt = performance.now();
      await this.#write(part);
    }
    this.finish(ending);
    // Nothing can follow, though more may arrive.
    if (ending) await new Promise(() => {});
  }

  /** Until the system has taken it, or the connection has gone. */
  async #write(part) {
    if (this.#socket.destroyed || part.length === 0) return;
    const bytes = typeof part === 'string' ? Buffer.from(part, 'latin1') : part;
    this.sent += bytes.length;
    await new Promise((taken) => {
      this.#socket.write(bytes, taken);
    });
  }
}
