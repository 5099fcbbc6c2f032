import type http from 'node:http';
import { native } from '../reactor/native.js';
import type { NativeServer } from '../state/connection.js';

/*
 * Requests that Node's own code answers, whose responses the reactor does not see: those with an unsafe method make entries
 * of the server's cache out of date.
 */

interface Asked {
  nativeServer: NativeServer;
  secure: boolean;
  method: string;
  target: string;
  host: string;
}

/** As they have arrived: applications change `url`. */
const asked = new WeakMap<object, Asked>();

/** Remembers a request whose response may make entries of the cache stale. */
export function watchOutcome(nativeServer: NativeServer, request: http.IncomingMessage): void {
  const { method = '', url: target = '', rawHeaders, socket } = request;
  if (method === 'GET' || method === 'HEAD') return;
  const hosts = rawHeaders.filter(
    (_, at) => at % 2 === 1 && /^host$/i.test(rawHeaders[at - 1] ?? ''),
  );
  // With several Host fields, the one that the application uses is unknown.
  if (hosts.length > 1) return;
  const secure = 'encrypted' in socket && socket.encrypted === true;
  asked.set(request, { nativeServer, secure, method, target, host: hosts[0] ?? '' });
}

/** Called with each response head that Node's own code has rendered. */
export function onHead(response: {
  req: object;
  _header: string | null;
  statusCode: number;
}): void {
  const about = asked.get(response.req);
  if (about === undefined) return;
  const { nativeServer, secure, method, target, host } = about;
  const header = response._header ?? '';
  if (nativeServer.id < 0) return;
  native.stackCacheOutdate(nativeServer.id, {
    secure,
    method,
    target: Buffer.from(target, 'latin1'),
    host: Buffer.from(host, 'latin1'),
    status: response.statusCode,
    fields: Buffer.from(header.slice(header.indexOf('\r\n') + 2), 'latin1'),
  });
}
