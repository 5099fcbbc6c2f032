import { packageVersion } from '../../environment/version.js';
import { usageError } from '../../errors/millrace-error.js';
import type { NativeHeader } from '../../native/addon.js';
import { listHeaders } from '../../validation/headers.js';
import { describeValue, mustBe } from '../../validation/shape.js';
import { CALL_FIELDS } from '../grpc/message.js';
import { readText, splitLines } from '../input/text.js';
import type { LoadOptions } from '../options.js';
import type { Location } from './url.js';

/** The headers of a request, without those that the engine adds. */
export interface HeaderSection {
  headers: NativeHeader[];
  /** Whether a header asks for `Connection: close`. */
  close: boolean;
}

/** What requests have that are no calls of gRPC. */
const ACCEPT_ALL: readonly NativeHeader[] = [{ name: 'Accept', value: '*/*' }];

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

/** Reads the headers of an option, in their order. */
export function readHeaders(headers: LoadOptions['headers'], where: string): NativeHeader[] {
  if (headers === undefined) return [];
  return listHeaders(headers).map(([name, value]) => readHeader(name, value, where));
}

/** Splits `Name: value` at the colon. */
export function splitHeader(line: string, where: string): [name: string, value: string] {
  // A pseudo-header field of HTTP/2 begins with one.
  const colon = line.indexOf(':', 1);
  if (colon < 0) throw usageError(`${where} must be 'Name: value' (got '${line}')`);
  return [line.slice(0, colon).trim(), line.slice(colon + 1).trim()];
}

/** Reads a file with one header per line; blank lines and lines that begin with `#` are skipped. */
export function readHeaderFile(path: string): [name: string, value: string][] {
  return splitLines(readText(path, 'header file', { once: true })).flatMap((line, index) =>
    /^\s*(#|$)/.test(line) ? [] : [splitHeader(line, `${path}:${index + 1}`)],
  );
}

/**
 * Completes a request's own headers with the run's and the defaults; its own take precedence, then the run's. `isCall`: it
 * is a call of gRPC.
 */
export function completeHeaders(
  own: NativeHeader[],
  shared: NativeHeader[],
  location: Location,
  isCall: boolean,
): NativeHeader[] {
  const specified = [...own, ...shared.filter(({ name }) => !hasHeader(own, name))];
  const { authority, authorization } = location;
  const defaults: NativeHeader[] = [
    { name: 'Host', value: authority },
    { name: 'User-Agent', value: `millrace/${packageVersion()}` },
    ...(isCall ? CALL_FIELDS : ACCEPT_ALL),
  ];
  if (authorization !== undefined) defaults.push({ name: 'Authorization', value: authorization });
  return [...defaults.filter(({ name }) => !hasHeader(specified, name)), ...specified];
}

/** Removes the headers that the engine sets itself, and refuses those that contradict it. */
export function frameHeaders(
  headers: NativeHeader[],
  bodyBytes: number,
  where: string,
): HeaderSection {
  let close = false;
  const kept = headers.filter(({ name, value }) => {
    switch (name.toLowerCase()) {
      case 'connection':
        close ||= readConnectionHeader(value, where);
        return false;
      case 'content-length':
        if (Number(value) === bodyBytes) return false;
        throw usageError(
          `${where}: Content-Length must be ${bodyBytes}, the length of the body (got ${value}): leave it out, it is set automatically`,
        );
      case 'transfer-encoding':
        throw usageError(
          `${where}: Transfer-Encoding is not supported (got ${value}): leave it out, bodies are sent with a Content-Length`,
        );
      default:
        return true;
    }
  });
  if (kept.filter(({ name }) => name.toLowerCase() === 'host').length > 1) {
    throw usageError(`${where}: the header Host must occur once`);
  }
  return { headers: kept, close };
}

/** The pseudo-header fields of requests (RFC 9113, section 8.3.1), and where they come from. */
const PSEUDO_HEADERS = new Map([
  [':method', 'the method'],
  [':scheme', 'the URL'],
  [':path', 'the URL'],
  [':authority', 'the URL, or from the header Host'],
]);

function readHeader(name: unknown, value: unknown, where: string): NativeHeader {
  const source = typeof name === 'string' ? PSEUDO_HEADERS.get(name.toLowerCase()) : undefined;
  if (source !== undefined) {
    throw usageError(`${where}: ${name} cannot be set as a header: it comes from ${source}`);
  }
  if (typeof name !== 'string' || !TOKEN.test(name)) {
    throw usageError(
      `${where}: the name of a header must consist of letters, digits and - (got ${describeValue(name)})`,
    );
  }
  if (typeof value !== 'string') {
    throw mustBe(`${where}: ${name}`, 'text', value);
  }
  // RFC 9110, 5.5: tabs, visible ASCII characters, spaces and obs-text.
  if (/[^\t\x20-\x7e\u0080-\uffff]/.test(value)) {
    throw usageError(
      `${where}: the value of ${name} contains a character that a header cannot contain`,
    );
  }
  return { name, value };
}

function readConnectionHeader(value: string, where: string): boolean {
  const option = value.trim().toLowerCase();
  if (option === 'close') return true;
  if (option === 'keep-alive') return false;
  throw usageError(`${where}: Connection must be close or keep-alive (got ${value})`);
}

function hasHeader(headers: NativeHeader[], name: string): boolean {
  return headers.some((header) => header.name.toLowerCase() === name.toLowerCase());
}
