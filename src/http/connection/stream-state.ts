import type { ServerSocket } from './socket.js';

/** What `stream.finished`, `OutgoingMessage.end` and others read off a stream's state. */
class StreamView {
  errored: Error | null = null;
  /** As with Node's own sockets, which say by themselves that they are closed. */
  readonly emitClose = false;
  readonly autoDestroy = true;
  readonly objectMode = false;
  readonly constructed = true;
  protected readonly socket: ServerSocket;

  constructor(socket: ServerSocket) {
    this.socket = socket;
  }
  get destroyed() {
    return this.socket.destroyed;
  }
  get closed() {
    return this.socket.closed;
  }
  get highWaterMark() {
    return this.socket.writableHighWaterMark;
  }
}

/** A socket's `_writableState`. */
export class WritableView extends StreamView {
  get corked() {
    return this.socket.corked;
  }
  set corked(calls: number) {
    this.socket.corked = calls;
  }
  get needDrain() {
    return this.socket.needDrain;
  }
  get ended() {
    return this.socket.writableEnded;
  }
  get ending() {
    return this.socket.writableEnded;
  }
  get finished() {
    return this.socket.writableFinished;
  }
  get length() {
    return this.socket.writableLength;
  }
  /** What waits is the reactor's. */
  getBuffer() {
    return [];
  }
}

/** A socket's `_readableState`: the bytes themselves never come here. */
export class ReadableView extends StreamView {
  readonly length = 0;
  /** Where it goes, see `pipe`. */
  readonly pipes: unknown[] = [];

  get ended() {
    return this.socket.readableEnded;
  }
  get endEmitted() {
    return this.socket.readableEnded;
  }
  get flowing() {
    return !this.socket.pausedReading;
  }
}
