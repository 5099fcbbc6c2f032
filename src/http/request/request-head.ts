import { nodeHttp } from '../node/node-http.js';
import { type Incoming, internalKey, kConnection } from '../node/node-internals.js';
import { findName } from './field-names.js';

const kHead = Symbol('millrace.head');
const kRaw = Symbol('millrace.rawHeaders');
const kHeadersCount = internalKey(
  new nodeHttp.IncomingMessage(null as never),
  'kHeadersCount',
) as symbol;

interface Lazy {
  socket?: { [kConnection]?: { isFallback: boolean } } | null;
  [kHead]?: string | undefined;
  [kRaw]?: string[] | undefined;
  [key: symbol]: unknown;
}

/**
 * Gives a request its head, start line and all. Fields are taken out of it when somebody asks: `rawHeaders` becomes
 * an accessor on `http.IncomingMessage.prototype`, which Node's own getters for `headers` and
 * `headersDistinct` read.
 */
export function setHead(request: Incoming, head: string, fields: number): void {
  const lazy = request as unknown as Lazy;
  lazy[kRaw] = undefined;
  lazy[kHead] = head;
  lazy[kHeadersCount] = fields * 2;
}

/**
 * Makes `rawHeaders` of requests on native connections ask `setHead`'s string when somebody reads it. Other messages, as those of
 * clients, have a property of their own, as with Node.
 */
export function installHead(): void {
  Object.defineProperty(nodeHttp.IncomingMessage.prototype, 'rawHeaders', {
    configurable: true,
    enumerable: true,
    get(this: Lazy): string[] | undefined {
      const head = this[kHead];
      if (this[kRaw] === undefined && head !== undefined) {
        this[kRaw] = parseFieldLines(head, this[kHeadersCount] as number);
        this[kHead] = undefined;
      }
      return this[kRaw];
    },
    set(this: Lazy, value: string[]) {
      if (this.socket?.[kConnection]?.isFallback === false) this[kRaw] = value;
      else Object.defineProperty(this, 'rawHeaders', { ...OWN, value });
    },
  });
}

const OWN = { writable: true, enumerable: true, configurable: true };

/** Length below which V8 copies a part of a string. A longer part refers to the whole, and keeps it in memory. */
const MIN_REFERRING = 13;

/** Takes a part out of a head, without keeping the head in memory. */
export function copyPart(head: string, start: number, end: number): string {
  const part = head.slice(start, end);
  // V8 copies a concatenation before it takes a part of it.
  return part.length < MIN_REFERRING ? part : ` ${part}`.slice(1);
}

/**
 * Names and values in turn, so many of them. The reactor has checked the head: each line is `name: value` with CRLF, and an empty line
 * ends it.
 */
export function parseFieldLines(head: string, count: number): string[] {
  const fields: string[] = new Array(count);
  let at = head.indexOf('\n') + 1;
  for (let index = 0; index < count; index += 2) {
    const end = head.indexOf('\n', at);
    const colon = head.indexOf(':', at);
    let from = colon + 1;
    let to = end - 1;
    while (from < to && isSpace(head.charCodeAt(from))) from++;
    while (to > from && isSpace(head.charCodeAt(to - 1))) to--;
    fields[index] = findName(head, at, colon) ?? copyPart(head, at, colon);
    fields[index + 1] = copyPart(head, from, to);
    at = end + 1;
  }
  return fields;
}

function isSpace(code: number): boolean {
  return code === 32 || code === 9;
}

/** Trailer lines, as `parseFieldLines` gives fields. */
export function parseTrailers(lines: string): string[] {
  const count = lines.split('\n').length - 1;
  return parseFieldLines(`\n${lines}`, count * 2);
}
