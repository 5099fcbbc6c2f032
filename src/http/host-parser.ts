import http from 'node:http';
import { Duplex } from 'node:stream';
import type { ServerInternals } from './internals.js';
import type { ServerSocket } from './socket.js';

/** What Node's own parser says about bytes. */
export interface Verdict {
  /** As 'clientError' would give it; `null` if nothing is wrong so far. */
  error: Error | null;
}

const CHUNKED = Buffer.from('POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n');

/**
 * Asks the host's parser about bytes that the reactor found unusual, so that what is accepted and what is
 * rejected, and with which error, is Node's own decision. `bytes` start a request, or a chunk of
 * a body; `null`: the stream has ended.
 */
export function judge(
  server: http.Server & Partial<ServerInternals>,
  socket: ServerSocket,
  bytes: Buffer | null,
  inBody = false,
): Verdict {
  const options: http.ServerOptions & { httpValidation?: string } = {};
  if (server.maxHeaderSize) options.maxHeaderSize = server.maxHeaderSize;
  if (server.httpValidation) options.httpValidation = server.httpValidation;
  else if (server.insecureHTTPParser !== undefined) {
    options.insecureHTTPParser = server.insecureHTTPParser;
  }
  const judging = http.createServer(options);
  let error: Error | null = null;
  judging.on('clientError', (found: Error) => {
    error ??= found;
  });
  judging.on('request', () => {});
  const duplex = new Duplex({ read() {}, write: (_chunk, _encoding, done) => done() });
  nodeConnection.call(judging, duplex);
  duplex.on('error', () => {});
  if (inBody || bytes === null) duplex.emit('data', CHUNKED);
  if (bytes) duplex.emit('data', bytes);
  else duplex.emit('end');
  duplex.destroy();
  if (error && bytes) Object.assign(error, { rawPacket: bytes });
  void socket;
  return { error };
}

/** Node's own handling of a connection: the listener that every `http.Server` has for 'connection'. */
export const nodeConnection = (
  http as unknown as { _connectionListener(this: http.Server, socket: Duplex): void }
)._connectionListener;
