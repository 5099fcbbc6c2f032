import { type ClientHttp2Session, connect, type IncomingHttpHeaders } from 'node:http2';
import { connect as connectSocket } from 'node:net';
import type { SecureContextOptions } from 'node:tls';

/** A request by HTTP/2. */
export interface Http2Request {
  url: URL;
  method: string;
  headers: Record<string, string | string[]>;
  body: Uint8Array | undefined;
  security: SecureContextOptions & { rejectUnauthorized?: boolean; servername?: string };
  socketPath: string | undefined;
  signal: AbortSignal;
  /** Is given the connection's socket when the head of the response has come. */
  onSocket: (socket: ClientHttp2Session['socket']) => void;
}

/** The response to it. */
export interface Http2Response {
  status: number;
  headers: IncomingHttpHeaders;
  bodyBytes: number;
}

/** Fields that belong to a connection of HTTP/1.1 (RFC 9113, section 8.2.2), and Host, which is a pseudo-header field. */
const OF_HTTP1 = [
  'host',
  'connection',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
];

/** Sends a request on a connection of its own; `null` if there is no complete response. */
export async function sendHttp2Request(request: Http2Request): Promise<Http2Response | null> {
  const { url, method, body, security, socketPath, signal } = request;
  const session = connect(url.origin, {
    ...security,
    ...(socketPath !== undefined && { createConnection: () => connectSocket(socketPath) }),
  });
  try {
    return await new Promise<Http2Response | null>((resolve) => {
      const fail = () => resolve(null);
      session.on('error', fail);
      signal.addEventListener('abort', fail);
      const stream = session.request(toFields(request), { endStream: body === undefined });
      let head: { status: number; headers: IncomingHttpHeaders } | null = null;
      let bodyBytes = 0;
      stream.on('response', ({ ':status': status = 0, ...headers }) => {
        head = { status, headers };
        request.onSocket(session.socket);
      });
      stream.on('data', (chunk: Buffer) => {
        bodyBytes += chunk.length;
      });
      stream.on('error', fail);
      stream.on('end', () => resolve(head && { ...head, bodyBytes }));
      if (body !== undefined) stream.end(body);
      else if (method === 'HEAD') stream.resume();
    });
  } finally {
    session.destroy();
  }
}

function toFields({ url, method, headers }: Http2Request): Record<string, string | string[]> {
  const host = Object.entries(headers).find(([name]) => name.toLowerCase() === 'host');
  const others = Object.entries(headers).filter(([name]) => !OF_HTTP1.includes(name.toLowerCase()));
  return {
    ':method': method,
    ':path': `${url.pathname}${url.search}`,
    ':authority': String(host?.[1] ?? url.host),
    ...Object.fromEntries(others.map(([name, value]) => [name.toLowerCase(), value])),
  };
}
