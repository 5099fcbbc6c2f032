import type http from 'node:http';
import { onHead } from '../cache/invalidation.js';
import { nodeHttp } from '../node/node-http.js';
import { kConnection, kOutHeaders, kUniqueHeaders, type Outgoing } from '../node/node-internals.js';
import { isStoreHeaderUnpatched } from '../node/node-methods.js';
import { dateLine } from '../reactor/date.js';

type StoreHeader = (this: Outgoing, firstLine: string, headers: unknown) => void;

const prototype = nodeHttp.OutgoingMessage.prototype as unknown as { _storeHeader: StoreHeader };
const nodeStoreHeader = prototype._storeHeader;

/** What a field's name asks for. */
const PLAIN = 0;
const CONTENT_LENGTH = 1;
const DATE = 2;
const OTHER = 3;

const KINDS = new Map([
  ['content-length', CONTENT_LENGTH],
  ['date', DATE],
  ['connection', OTHER],
  ['transfer-encoding', OTHER],
  ['expect', OTHER],
  ['trailer', OTHER],
  ['keep-alive', OTHER],
  ['content-disposition', OTHER],
  ['cookie', OTHER],
]);

/** Names that were seen and are valid, as they were written. Bounded: names may come from outside. */
const names = new Map<string, number>();
const MAX_NAMES = 1000;

function kindOf(name: string): number {
  const known = names.get(name);
  if (known !== undefined) return known;
  // Node's own code refuses what is no token (RFC 9110, section 5.6.2).
  if (!/^[\^_`a-zA-Z\-0-9!#$%&'*+.|~]+$/.test(name)) return OTHER;
  const kind = KINDS.get(name.toLowerCase()) ?? PLAIN;
  if (names.size < MAX_NAMES) names.set(name, kind);
  return kind;
}

const INVALID = /[^\t\x20-\x7e\x80-\xff]/;

let keepAliveTimeout = -1;
let keepAliveLines = '';

function keepAlive(timeout: number): string {
  if (timeout !== keepAliveTimeout) {
    keepAliveTimeout = timeout;
    keepAliveLines = 'Connection: keep-alive\r\n';
    if (timeout) keepAliveLines += `Keep-Alive: timeout=${Math.floor(timeout / 1000)}\r\n`;
  }
  return keepAliveLines;
}

/**
 * Renders the head of a response as Node does, for the usual case: a kept connection, fields in an object or set with
 * `setHeader`, values that are strings or numbers, none of the fields that steer the connection. Anything
 * else is Node's own code, before anything has changed.
 */
function storeHeader(this: Outgoing, firstLine: string, headers: unknown): void {
  const self = this as Outgoing & Record<symbol, unknown> & http.ServerResponse;
  const set = self[kOutHeaders] as Record<string, [string, unknown]> | null;
  if (
    self[kConnection] === undefined ||
    !canUseFastPath(self) ||
    (headers !== undefined &&
      headers !== null &&
      (typeof headers !== 'object' || Array.isArray(headers)))
  ) {
    nodeStoreHeader.call(this, firstLine, headers);
    if (self.req !== undefined) onHead(self);
    return;
  }
  let header = firstLine;
  let length: unknown;
  let dated = false;
  for (const key in headers as Record<string, unknown>) {
    let name = key;
    let value: unknown;
    if (headers === set)
      [name, value] = (set as Record<string, [string, unknown]>)[key] as [string, unknown];
    else if (Object.hasOwn(headers as object, key))
      value = (headers as Record<string, unknown>)[key];
    else continue;
    const kind = kindOf(name);
    const text = typeof value === 'string';
    if (
      kind === OTHER ||
      !(text || typeof value === 'number') ||
      (text && INVALID.test(value as string))
    ) {
      nodeStoreHeader.call(this, firstLine, headers);
      return;
    }
    header += `${name}: ${value}\r\n`;
    if (kind === CONTENT_LENGTH) length = value;
    else if (kind === DATE) dated = true;
  }
  if (self.sendDate && !dated) header += dateLine();
  header += keepAlive(self._keepAliveTimeout);
  if (length !== undefined) {
    self._contentLength = +(length as number);
  } else if (!self._hasBody) {
    self.chunkedEncoding = false;
  } else if (typeof self._contentLength === 'number') {
    header += `Content-Length: ${self._contentLength}\r\n`;
  } else {
    header += 'Transfer-Encoding: chunked\r\n';
    self.chunkedEncoding = true;
  }
  self._header = `${header}\r\n`;
  self._headerSent = false;
}

/** Nothing that was set on the response steers its connection or its framing. */
function canUseFastPath(
  response: Outgoing & http.ServerResponse & Record<symbol, unknown>,
): boolean {
  const removed = response as unknown as {
    _removedConnection: boolean;
    _removedContLen: boolean;
    _removedTE: boolean;
    _defaultKeepAlive: boolean;
  };
  return (
    response.shouldKeepAlive &&
    response.useChunkedEncodingByDefault &&
    !response.chunkedEncoding &&
    !response.maxRequestsOnConnectionReached &&
    !(response._maxRequestsPerSocket > 0) &&
    removed._defaultKeepAlive &&
    !removed._removedConnection &&
    !removed._removedContLen &&
    !removed._removedTE &&
    !response[kUniqueHeaders]
  );
}

export function installStoreHeader(): void {
  if (!isStoreHeaderUnpatched) return;
  prototype._storeHeader = storeHeader;
}
