import { once } from 'node:events';
import { request as requestByHttp1 } from 'node:http';
import { connect as connectHttp2, type IncomingHttpHeaders } from 'node:http2';
import { connect, isIP, type Socket } from 'node:net';
import { connect as connectTls, type SecureContextOptions, TLSSocket } from 'node:tls';
import type { NativeOrigin, NativePlan } from '../../native/addon.js';
import type { SampleResponse } from '../observe/types.js';

/** A request on a connection of its own. */
export interface SingleRequest {
  origin: NativeOrigin;
  /** The versions of HTTP; absent: HTTP/1.1 alone. */
  http2: NativePlan['http2'];
  security: SecureContextOptions & { rejectUnauthorized?: boolean };
  method: string;
  target: string;
  /** `Host` included. */
  headers: Record<string, string | string[]>;
  body: Uint8Array | undefined;
  signal: AbortSignal;
}

type Response = Omit<SampleResponse, 'rsaBits'>;

/** Names of protocols for ALPN (RFC 7301), by what connections with TLS offer. */
const PROTOCOLS = { http1: ['http/1.1'], http2: ['h2'], either: ['h2', 'http/1.1'] };

/** Sends a request in the version of HTTP that the load would speak; `null` if there is no complete response. */
export async function sendSingleRequest(request: SingleRequest): Promise<SampleResponse | null> {
  const socket = open(request);
  const abort = () => socket.destroy();
  request.signal.addEventListener('abort', abort);
  try {
    const event = socket instanceof TLSSocket ? 'secureConnect' : 'connect';
    await once(socket, event, { signal: request.signal });
    const rsaBits = readRsaBits(socket);
    const response = await send(request, socket);
    return response && { ...response, rsaBits };
  } catch {
    // The load says better what is wrong with the server.
    return null;
  } finally {
    request.signal.removeEventListener('abort', abort);
    socket.destroy();
  }
}

function open({ origin, http2, security }: SingleRequest): Socket | TLSSocket {
  const { host, port, unixPath, tls, serverName = host } = origin;
  const place = unixPath === undefined ? { host, port } : { path: unixPath };
  if (!tls) return connect(place);
  const verified = isIP(serverName) ? {} : { servername: serverName };
  const offered = PROTOCOLS[http2?.tls ?? 'http1'];
  return connectTls({ ...place, ...security, ...verified, ALPNProtocols: offered });
}

function send(request: SingleRequest, socket: Socket | TLSSocket): Promise<Response | null> {
  const { http2 } = request;
  const isSecure = socket instanceof TLSSocket;
  const speaksHttp2 = isSecure ? socket.alpnProtocol === 'h2' : http2?.cleartext;
  if (speaksHttp2) return sendByHttp2(request, socket);
  // Without the protocol that was offered alone the load does not go on either.
  return isSecure && http2?.tls === 'http2' ? Promise.resolve(null) : sendByHttp1(request, socket);
}

function sendByHttp1(
  { method, target, headers, body }: SingleRequest,
  socket: Socket,
): Promise<Response | null> {
  return new Promise((resolve) => {
    const fail = () => resolve(null);
    const request = requestByHttp1(
      { createConnection: () => socket, method, path: target, headers },
      (response) => {
        let bodyBytes = 0;
        response.on('data', (chunk: Buffer) => {
          bodyBytes += chunk.length;
        });
        response.on('error', fail);
        response.on('end', () => {
          resolve({ status: response.statusCode ?? 0, headers: response.headers, bodyBytes });
        });
      },
    );
    request.on('error', fail);
    request.on('close', fail);
    request.end(body);
  });
}

function sendByHttp2(request: SingleRequest, socket: Socket): Promise<Response | null> {
  const scheme = socket instanceof TLSSocket ? 'https' : 'http';
  const session = connectHttp2(`${scheme}://localhost`, { createConnection: () => socket });
  return new Promise((resolve) => {
    const stream = session.request(toFields(request), { endStream: request.body === undefined });
    let head: Pick<Response, 'status' | 'headers'> | null = null;
    let bodyBytes = 0;
    let isComplete = false;
    stream.on(
      'response',
      ({ ':status': status = 0, ...headers }: IncomingHttpHeaders & { ':status'?: number }) => {
        head = { status, headers };
      },
    );
    stream.on('data', (chunk: Buffer) => {
      bodyBytes += chunk.length;
    });
    stream.on('end', () => {
      isComplete = true;
    });
    // A stream that the server resets has an end as well.
    stream.on('close', () => {
      resolve(head && isComplete && stream.rstCode === 0 ? { ...head, bodyBytes } : null);
    });
    stream.on('error', () => resolve(null));
    session.on('error', () => resolve(null));
    if (request.body !== undefined) stream.end(request.body);
  });
}

/** Fields that belong to a connection of HTTP/1.1 (RFC 9113, section 8.2.2), and `Host`, which is a pseudo-header field. */
const OF_HTTP1 = new Set([
  'host',
  'connection',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
]);

function toFields({ method, target, headers }: SingleRequest): Record<string, string | string[]> {
  const fields = Object.entries(headers).map(
    ([name, value]) => [name.toLowerCase(), value] as const,
  );
  const [, host = ''] = fields.find(([name]) => name === 'host') ?? [];
  return {
    ':method': method,
    ':path': target,
    ':authority': String(host),
    ...Object.fromEntries(fields.filter(([name]) => !OF_HTTP1.has(name))),
  };
}

/** Reads the size of the RSA key of the peer's certificate. */
function readRsaBits(socket: Socket | TLSSocket): number | null {
  if (!(socket instanceof TLSSocket)) return null;
  const { modulus, bits } = socket.getPeerCertificate();
  return modulus === undefined ? null : (bits ?? null);
}
