import http from 'node:http';
import { Duplex } from 'node:stream';
import { complete } from './exchange.js';
import type { ServerInternals } from './internals.js';
import type { ServerSocket } from './socket.js';

type AnyServer = http.Server & Partial<ServerInternals>;

/** Node's own handling of a connection: the listener that every `http.Server` has for 'connection'. */
export const nodeConnection = (
  http as unknown as { _connectionListener(this: http.Server, socket: Duplex): void }
)._connectionListener;

/** A server with the same parser, and one connection of it that is fed by hand. */
function parserOf(
  server: AnyServer,
  onError: (error: Error) => void,
  onRequest: (request: http.IncomingMessage) => void,
): Duplex {
  const options: http.ServerOptions & { httpValidation?: string } = {};
  if (server.maxHeaderSize) options.maxHeaderSize = server.maxHeaderSize;
  if (server.httpValidation) options.httpValidation = server.httpValidation;
  else if (server.insecureHTTPParser !== undefined) {
    options.insecureHTTPParser = server.insecureHTTPParser;
  }
  const parsing = http.createServer(options, onRequest);
  parsing.maxHeadersCount = server.maxHeadersCount;
  parsing.on('clientError', onError);
  const duplex = new Duplex({ read() {}, write: (_chunk, _encoding, done) => done() });
  nodeConnection.call(parsing, duplex);
  duplex.on('error', () => {});
  return duplex;
}

/**
 * Asks the host's parser about bytes that the reactor found unusual, so that what is accepted and what is
 * rejected, and with which error, is Node's own decision. `bytes` start a request, or follow `before`; `null`: a request's
 * head is not complete and the stream has ended.
 */
export function judge(
  server: AnyServer,
  bytes: Buffer | null,
  before?: string,
): { error: Error | null } {
  let error: Error | null = null;
  const duplex = parserOf(
    server,
    (found) => {
      error ??= found;
    },
    () => {},
  );
  if (before) duplex.emit('data', Buffer.from(before));
  duplex.emit('data', bytes ?? Buffer.from('GET'));
  if (bytes === null) duplex.emit('end');
  duplex.destroy();
  if (error && bytes) Object.assign(error, { rawPacket: bytes });
  return { error };
}

/** Reads the rest of a chunked body, from where the reactor found something unusual, with the host's parser. */
export class HostBody {
  readonly #duplex: Duplex;
  #request: http.IncomingMessage | null = null;
  #packet: Uint8Array = Buffer.alloc(0);
  #taken = 0;

  /** `prelude` leads the parser to where the reactor's stands. */
  constructor(server: AnyServer, socket: ServerSocket, prelude: string) {
    let skipped = prelude.startsWith('1') ? 1 : 0;
    this.#duplex = parserOf(
      server,
      (error) => socket.home.onError(socket, this.#inPacket(error)),
      (inner) => {
        this.#request = inner;
        inner.on('data', (chunk: Buffer) => {
          const rest = chunk.subarray(skipped);
          skipped = Math.max(0, skipped - chunk.length);
          if (rest.length > 0 && socket.receiving?.push(rest) === false) socket.pause();
        });
        inner.on('end', () => {
          this.#duplex.destroy();
          const request = socket.receiving;
          socket.receiving = null;
          if (request === null) return;
          request.complete = true;
          const { rawTrailers } = inner;
          if (rawTrailers.length > 0) request._addHeaderLines(rawTrailers, rawTrailers.length);
          complete(request);
        });
      },
    );
    const head = 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n';
    this.#duplex.emit('data', Buffer.from(head + prelude));
  }

  /** Reads on; gives how many of these bytes are the body's if it ends in them. A body ends with a line. */
  take(bytes: Buffer): number | null {
    this.#packet = bytes;
    for (this.#taken = 0; this.#taken < bytes.length; ) {
      const line = bytes.indexOf(LF, this.#taken);
      const end = line < 0 ? bytes.length : line + 1;
      this.#duplex.emit('data', bytes.subarray(this.#taken, end));
      this.#taken = end;
      if (this.#request?.complete) return end;
    }
    return null;
  }

  /** The connection is gone: Node's parser is kept by Node until its own connection closes. */
  close(): void {
    this.#duplex.destroy();
  }

  /** An error that was found in a line is told of the packet. */
  #inPacket(error: Error & { bytesParsed?: number }): Error {
    const bytesParsed = this.#taken + (error.bytesParsed ?? 0);
    return Object.assign(error, { bytesParsed, rawPacket: this.#packet });
  }
}

const LF = 0x0a;
