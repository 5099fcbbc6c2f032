import type http from 'node:http';
import { native } from '../reactor/native.js';

/** RFC 9110, section 15.5.20: another connection finds whom this is for. */
export const MISDIRECTED =
  'HTTP/1.1 421 Misdirected Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n';

/** Whether a request that Node's own parser has read is for a server that shares its port. */
export function owns(id: number, request: http.IncomingMessage): boolean {
  const { url = '', headers } = request;
  return native.stackOwns(
    id,
    Buffer.from(url, 'latin1'),
    Buffer.from(headers.host ?? '', 'latin1'),
  );
}
