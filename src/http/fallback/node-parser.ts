import type http from 'node:http';
import { Duplex } from 'node:stream';
import { nodeHttp } from '../node/node-http.js';
import { drainTicks, nodeConnection, type ServerInternals } from '../node/node-internals.js';
import { emit } from '../node/node-methods.js';
import { completeRequest } from '../request/exchange.js';
import type { Connection } from '../state/connection.js';

type AnyServer = http.Server & Partial<ServerInternals>;

/** A server with the same parser, and one connection of it that is fed by hand. */
function createParserConnection(
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
  const parsing = nodeHttp.createServer(options, onRequest);
  parsing.maxHeadersCount = server.maxHeadersCount;
  parsing.on('clientError', onError);
  // An application that replaces `emit` of servers does not see this one.
  parsing.emit = emit as never;
  const duplex = new Duplex({ read() {}, write: (_chunk, _encoding, done) => done() });
  nodeConnection.call(parsing, duplex);
  duplex.on('error', () => {});
  return duplex;
}

/**
 * Asks the host's parser about bytes that the reactor found unusual, so that what is accepted and what is
 * rejected, and with which error, is Node's own decision. `bytes` start a request, or follow `before`; `null`: a request's
 * head is not complete and the stream has ended. `packet` is what was read last, which ends with them. Gives the error, and the
 * number of the requests before it whose head is complete.
 */
export function parseWithNode(
  server: AnyServer,
  bytes: Buffer | null,
  packet?: Buffer,
  before?: string,
): { error: Error | null; requests: number } {
  let error: Error | null = null;
  let requests = 0;
  const duplex = createParserConnection(
    server,
    (found) => {
      error ??= found;
    },
    () => {
      requests++;
    },
  );
  if (before) duplex.emit('data', Buffer.from(before));
  requests = 0;
  for (const part of bytes ? inPackets(bytes, packet) : [Buffer.from('GET')]) {
    duplex.emit('data', part);
  }
  if (bytes === null) duplex.emit('end');
  duplex.destroy();
  if (error && bytes && packet) inPacket(error, bytes, packet);
  return { error, requests };
}

/** Splits bytes as they were received: `packet` is what was read last, which ends with them. */
export function inPackets(bytes: Buffer, packet?: Buffer): Buffer[] {
  const before = packet ? bytes.length - packet.length : 0;
  return before > 0 ? [bytes.subarray(0, before), bytes.subarray(before)] : [bytes];
}

/** Completes an error with the packet that it was found in, of which the parser got only the end. */
function inPacket(error: Error & { bytesParsed?: number }, bytes: Buffer, packet: Buffer): Error {
  const before = Math.max(0, packet.length - bytes.length);
  const bytesParsed = before + (error.bytesParsed ?? 0);
  return Object.assign(error, { bytesParsed, rawPacket: packet });
}

/** Reads the rest of a chunked body, from where the reactor found something unusual, with the host's parser. */
export class NodeParserBody {
  /** The end of the stream is an error. */
  readonly expectsMore = true;
  readonly #duplex: Duplex;
  readonly #connection: Connection;
  #request: http.IncomingMessage | null = null;
  #bytes: Buffer = Buffer.alloc(0);
  #packet: Buffer = this.#bytes;
  #parsed = 0;
  /** A part of the body was in the line that was read last. */
  #began = false;
  /** Names and values of trailers that the parser has put aside. */
  #trailers = 0;

  /** `prelude` brings the parser to the state of the reactor's. */
  constructor(server: AnyServer, connection: Connection, prelude: string) {
    this.#connection = connection;
    let skipped = prelude.startsWith('1') ? 1 : 0;
    this.#duplex = createParserConnection(
      server,
      (error: Error & { bytesParsed?: number }) => {
        const bytesParsed = this.#parsed + (error.bytesParsed ?? 0);
        Object.assign(error, { bytesParsed });
        try {
          this.#tick(connection);
        } finally {
          connection.nativeServer.onError(connection, inPacket(error, this.#bytes, this.#packet));
        }
      },
      (inner) => {
        this.#request = inner;
        inner.on('data', (chunk: Buffer) => {
          this.#began = true;
          const rest = chunk.subarray(skipped);
          skipped = Math.max(0, skipped - chunk.length);
          if (rest.length > 0 && connection.receiving?.push(rest) === false)
            connection.socket.pause();
        });
        inner.on('end', () => {
          this.#duplex.destroy();
          const request = connection.receiving;
          connection.receiving = null;
          if (request === null) return;
          request.complete = true;
          const { rawTrailers } = inner;
          if (rawTrailers.length > 0) request._addHeaderLines(rawTrailers, rawTrailers.length);
          completeRequest(request);
        });
      },
    );
    const head = 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n';
    this.#duplex.emit('data', Buffer.from(head + prelude));
  }

  /** Parses further bytes; returns how many of them belong to the body if it ends within them. A body ends with a line. */
  parse(bytes: Buffer, packet: Buffer): number | null {
    const connection = this.#connection;
    this.#bytes = bytes;
    this.#packet = packet;
    for (this.#parsed = 0; this.#parsed < bytes.length; ) {
      const line = bytes.indexOf(LF, this.#parsed);
      const end = line < 0 ? bytes.length : line + 1;
      this.#duplex.emit('data', bytes.subarray(this.#parsed, end));
      this.#parsed = end;
      if (this.#request?.complete) return end;
      this.#tick(connection);
      if (connection.destroyed) return null;
    }
    return null;
  }

  /** Runs the ticks that Node runs after each part of a body, and after each part of many trailers. */
  #tick(connection: Connection): void {
    const { parser } = this.#duplex as Duplex & { parser?: { _headers?: string[] } | null };
    const trailers = parser?._headers?.length ?? 0;
    // It flows from the first tick on.
    if (!this.#began && !this.#request?.readableLength && trailers === this.#trailers) return;
    this.#began = false;
    this.#trailers = trailers;
    drainTicks();
    connection.nativeServer.endEarlyResponse(connection);
  }

  /** The connection is gone: Node's parser is kept by Node until its own connection closes. */
  close(): void {
    this.#duplex.destroy();
  }
}

const LF = 0x0a;
