import type { EventEmitter } from 'node:events';
import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import { ignoreErrors } from '../runtime/clock.cjs';
import { http2Finish, http2Start, type InboundMessage } from './channels.cjs';

type Emit = EventEmitter['emit'];

/**
 * Publishes the requests of servers of `node:http2`. Node.js has no channel for them in all its versions, so the emitting of
 * 'stream' is observed, which is how every stream reaches its server. It is observed on the prototypes of both kinds of servers,
 * which are known by an instance of each: so servers that listen already are observed too.
 */
export class Http2Streams {
  #undoSteps: (() => void)[] = [];

  install(): void {
    if (this.#undoSteps.length > 0) return;
    // Loaded late, as most services do not need it.
    const { createServer, createSecureServer } = process.getBuiltinModule('node:http2');
    this.#undoSteps = [createServer(), createSecureServer({})].map((server) =>
      observeStreams(Object.getPrototypeOf(server)),
    );
  }

  uninstall(): void {
    for (const undo of this.#undoSteps) undo();
    this.#undoSteps = [];
  }
}

/** Observes the streams of servers with this prototype; returns a function that ends that. */
function observeStreams(prototype: EventEmitter): () => void {
  const inherited: Emit = prototype.emit;
  let isOn = true;
  const emit: Emit = function (this: EventEmitter, event, ...args) {
    if (isOn && event === 'stream') publish(args[0], args[1]);
    return Reflect.apply(inherited, this, [event, ...args]);
  };
  define(prototype, emit);
  return () => {
    isOn = false;
    // What somebody has wrapped meanwhile has to stay.
    if (Object.hasOwn(prototype, 'emit') && prototype.emit === emit) {
      Reflect.deleteProperty(prototype, 'emit');
    }
  };
}

function define(prototype: EventEmitter, emit: Emit): void {
  const attributes = { configurable: true, writable: true, enumerable: false };
  Object.defineProperty(prototype, 'emit', { value: emit, ...attributes });
}

const publish = ignoreErrors((stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
  if (!http2Start.hasSubscribers && !http2Finish.hasSubscribers) return;
  const message: InboundMessage = {
    request: {
      method: headers[':method'],
      url: headers[':path'],
      socket: { localPort: stream.session?.socket.localPort },
    },
    response: stream,
  };
  stream.once('finish', () => http2Finish.publish(message));
  http2Start.publish(message);
});
