// The answers to numbered requests on one connection, which must come in order.

/** Takes the bytes of a connection on which `/0`, `/1`, `/2` and so on were asked for, answered with their own target. */
export class Answers {
  /** How many came in order. */
  count = 0;
  /** What is wrong with the first that is not as it should be, or null. */
  fault = null;
  #rest = '';

  /** Takes the next bytes; nothing after a fault. */
  push(bytes) {
    if (this.fault) return;
    const text = this.#rest + bytes.toString('latin1');
    let position = 0;
    while (!this.fault) {
      const end = this.#takeOne(text, position);
      if (end === null) break;
      position = end;
    }
    this.#rest = text.slice(position);
  }

  /** Where the answer that begins at `start` ends; null if it is not complete. */
  #takeOne(text, start) {
    const headEnd = text.indexOf('\r\n\r\n', start);
    if (headEnd < 0) return null;
    const head = text.slice(start, headEnd);
    const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
    if (!head.startsWith('HTTP/1.1 200 ') || length === undefined) {
      this.fault = `instead of answer ${this.count}: ${head.split('\r\n', 1)[0]}`;
      return null;
    }
    const end = headEnd + 4 + Number(length);
    if (end > text.length) return null;
    const body = text.slice(headEnd + 4, end);
    if (body !== `/${this.count}`) {
      this.fault = `instead of the answer to /${this.count}: that to ${body}`;
      return null;
    }
    this.count++;
    return end;
  }
}
