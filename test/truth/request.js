const HEAD_END = Buffer.from('\r\n\r\n');
const CONTENT_LENGTH = /\r\ncontent-length: (\d+)\r\n/i;
const REQUEST_LINE = /^([!#$%&'*+\-.^_`|~0-9A-Za-z]+) (\S+) HTTP\/1\.1$/;
const FIELD = /^([!#$%&'*+\-.^_`|~0-9A-Za-z]+): (.*)$/;

/** A request as it arrived. */
export class Request {
  /** Place among all requests of the server, from 0. */
  index = -1;
  /** Index of its connection, and its place there. */
  connection = -1;
  position = -1;
  /**
   * When its last byte had arrived and when the last part of its answer was about to be written: milliseconds, monotonic,
   * as fine as nanoseconds. Both lie between the client's sending and its having the whole answer.
   */
  at = 0;
  answeredAt = null;

  #headLength;

  constructor(bytes, headLength) {
    /** Exactly what arrived. */
    this.bytes = bytes;
    this.#headLength = headLength;
  }

  get method() {
    return this.#line()[1];
  }

  get target() {
    return this.#line()[2];
  }

  /** Names and values in their order, as given. */
  get headers() {
    const [, ...fields] = this.#head().split('\r\n');
    return fields.map((field) => {
      const [, name, value] = FIELD.exec(field) ?? malformed(field);
      return [name, value];
    });
  }

  /** The value of the only header of this name, in any case; `undefined` without one. */
  header(name) {
    const found = this.headers.filter(([other]) => other.toLowerCase() === name.toLowerCase());
    if (found.length > 1) throw new Error(`${name} arrived ${found.length} times`);
    return found[0]?.[1];
  }

  get body() {
    return this.bytes.subarray(this.#headLength);
  }

  #head() {
    return this.bytes.latin1Slice(0, this.#headLength - HEAD_END.length);
  }

  #line() {
    const [line] = this.#head().split('\r\n', 1);
    return REQUEST_LINE.exec(line) ?? malformed(line);
  }
}

/** Splits the bytes of one connection into requests, by the framing that the engine uses: Content-Length or no body. */
export class RequestReader {
  #rest = Buffer.alloc(0);

  /** The requests that `chunk` completes. */
  *push(chunk) {
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    for (;;) {
      const headLength = this.#rest.indexOf(HEAD_END) + HEAD_END.length;
      if (headLength < HEAD_END.length) return;
      const [, length = 0] = CONTENT_LENGTH.exec(this.#rest.latin1Slice(0, headLength)) ?? [];
      const end = headLength + Number(length);
      if (this.#rest.length < end) return;
      yield new Request(this.#rest.subarray(0, end), headLength);
      this.#rest = this.#rest.subarray(end);
    }
  }
}

function malformed(line) {
  throw new Error(`not HTTP/1.1 as a client may send it: ${JSON.stringify(line)}`);
}
