import { parseFieldLines } from '../request/request-head.js';
import { nodeHttp2 } from './node-http2.js';

/** The fields of a request as `node:http2` has them. */
export interface RequestFields {
  /** The number of the stream. */
  id: number;
  headers: Record<string | symbol, unknown>;
  rawHeaders: string[];
}

/**
 * Fields of which only the first counts. Node keeps this list to itself; others are joined (RFC 9110, section 5.3).
 */
const SINGLE = new Set([
  ...[':authority', ':method', ':path', ':scheme', 'access-control-allow-credentials'],
  ...['access-control-max-age', 'access-control-request-method', 'age', 'authorization'],
  ...['content-encoding', 'content-language', 'content-length', 'content-location', 'content-md5'],
  ...['content-range', 'content-type', 'date', 'dnt', 'etag', 'expires', 'from', 'host'],
  ...['if-match', 'if-modified-since', 'if-none-match', 'if-range', 'if-unmodified-since'],
  ...['last-modified', 'location', 'max-forwards', 'proxy-authorization', 'range', 'referer'],
  ...['retry-after', 'tk', 'upgrade-insecure-requests', 'user-agent', 'x-content-type-options'],
]);

/** Letters by which the line `Pseudo` names the pseudo fields of a request; another one stands for the field `host`. */
const METHOD = 'm'.charCodeAt(0);
const PATH = 'p'.charCodeAt(0);
const SCHEME = 's'.charCodeAt(0);
const AUTHORITY = 'a'.charCodeAt(0);

/** Node's key for the names of fields that are never indexed. */
let kSensitive: symbol | undefined;

function noneSensitive(fields: RequestFields['headers']): void {
  kSensitive ??= nodeHttp2().sensitiveHeaders;
  fields[kSensitive] = [];
}

/**
 * Reads the fields of a request from its text. The line `Pseudo` (crates/stack/src/connection/session/h2/request.rs) says which
 * pseudo fields there were, in which order; `Host` before it is `:authority`, if that was among them.
 */
export function parseRequest(
  head: string,
  fieldCount: number,
  method: string,
  url: string,
): RequestFields {
  const lines = parseFieldLines(head, fieldCount * 2);
  const headers: RequestFields['headers'] = { __proto__: null } as never;
  const rawHeaders: string[] = [];
  const add = (name: string, value: string) => {
    headers[name] = value;
    rawHeaders.push(name, value);
  };
  let at = lines[0] === 'Pseudo' ? 0 : 2;
  const host = lines[1] as string;
  const pseudo = lines[at + 1] as string;
  const scheme = pseudo.indexOf(' ') + 1;
  const letters = pseudo.indexOf(' ', scheme);
  for (let place = letters + 1; place < pseudo.length; place++) {
    const letter = pseudo.charCodeAt(place);
    if (letter === METHOD) add(':method', method);
    else if (letter === PATH) add(':path', url);
    else if (letter === SCHEME) add(':scheme', pseudo.slice(scheme, letters));
    else if (letter === AUTHORITY) add(':authority', host);
    // A line of its own, unless it says the same.
    else if (pseudo.includes('a', letters)) add('host', host);
  }
  for (at += 2; at < lines.length; at += 2) {
    const name = lines[at] as string;
    // The session's own: no client of HTTP/2 may send it.
    if (name === 'transfer-encoding') continue;
    const value = lines[at + 1] as string;
    rawHeaders.push(name, value);
    addField(headers, name, value);
  }
  noneSensitive(headers);
  return { id: Number.parseInt(pseudo, 10), headers, rawHeaders };
}

/** Trailers as `node:http2` has them. */
export function parseTrailerFields(rawTrailers: string[]): RequestFields['headers'] {
  const trailers: RequestFields['headers'] = { __proto__: null } as never;
  for (let at = 0; at < rawTrailers.length; at += 2) {
    addField(trailers, rawTrailers[at] as string, rawTrailers[at + 1] as string);
  }
  noneSensitive(trailers);
  return trailers;
}

function addField(fields: RequestFields['headers'], name: string, value: string): void {
  const existing = fields[name];
  if (existing === undefined) fields[name] = name === 'set-cookie' ? [value] : value;
  else if (SINGLE.has(name)) return;
  else if (name === 'set-cookie') (existing as string[]).push(value);
  else fields[name] = `${existing}${name === 'cookie' ? '; ' : ', '}${value}`;
}
