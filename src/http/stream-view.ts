import type { ServerSocket } from './socket.js';

/** What `stream.finished`, `OutgoingMessage.end` and others read off a socket's `_writableState`. */
export class WritableView {
  errored: Error | null = null;
  readonly emitClose = true;
  readonly autoDestroy = true;
  readonly objectMode = false;
  readonly constructed = true;
  readonly #socket: ServerSocket;

  constructor(socket: ServerSocket) {
    this.#socket = socket;
  }
  get corked() {
    return this.#socket.corked;
  }
  set corked(calls: number) {
    this.#socket.corked = calls;
  }
  get needDrain() {
    return this.#socket.needDrain;
  }
  get ended() {
    return this.#socket.writableEnded;
  }
  get ending() {
    return this.#socket.writableEnded;
  }
  get finished() {
    return this.#socket.writableFinished;
  }
  get length() {
    return this.#socket.writableLength;
  }
  get destroyed() {
    return this.#socket.destroyed;
  }
  get closed() {
    return this.#socket.closed;
  }
  get highWaterMark() {
    return this.#socket.writableHighWaterMark;
  }
}

/** The same for `_readableState`: the bytes themselves never come here. */
export class ReadableView {
  errored: Error | null = null;
  readonly length = 0;
  readonly emitClose = true;
  readonly autoDestroy = true;
  readonly objectMode = false;
  readonly constructed = true;
  readonly #socket: ServerSocket;

  constructor(socket: ServerSocket) {
    this.#socket = socket;
  }
  get ended() {
    return this.#socket.readableEnded;
  }
  get endEmitted() {
    return this.#socket.readableEnded;
  }
  get flowing() {
    return !this.#socket.pausedReading;
  }
  get destroyed() {
    return this.#socket.destroyed;
  }
  get closed() {
    return this.#socket.closed;
  }
  get highWaterMark() {
    return this.#socket.readableHighWaterMark;
  }
}
