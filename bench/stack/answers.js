// Checks the responses to numbered requests on one connection, which must arrive in order.

/** Reads the responses of a connection to requests for `/0`, `/1`, `/2` and so on; each response contains its target. */
export class Answers {
  /** Number of responses that arrived in order. */
  count = 0;
  /** Description of the first wrong response, or null. */
  fault = null;
  #rest = '';

  /** Reads the next bytes; ignores them after a fault. */
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

  /** Finds the end of the response that begins at `start`; null if it is not complete. */
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
