import { nodeHttp } from '../install/node-http.js';
import { type Incoming, internalKey } from '../install/node-internals.js';
import { sliceName } from './field-names.js';

const kHead = Symbol('millrace.head');
const kRaw = Symbol('millrace.rawHeaders');
const kHeadersCount = internalKey(
  new nodeHttp.IncomingMessage(null as never),
  'kHeadersCount',
) as symbol;

interface Lazy {
  [kHead]?: string;
  [kRaw]?: string[];
  [key: symbol]: unknown;
}

/**
 * Gives a request its head, start line and all. Fields are taken out of it when somebody asks: `rawHeaders` becomes
 * an accessor on `http.IncomingMessage.prototype`, which Node's own getters for `headers` and
 * `headersDistinct` read.
 */
export function setHead(request: Incoming, head: string, fields: number): void {
  const lazy = request as unknown as Lazy;
  lazy[kRaw] = undefined as never;
  lazy[kHead] = head;
  lazy[kHeadersCount] = fields * 2;
}

/** Makes `rawHeaders` of requests ask `setHead`'s string when somebody reads it. */
export function installHead(): void {
  Object.defineProperty(nodeHttp.IncomingMessage.prototype, 'rawHeaders', {
    configurable: true,
    enumerable: true,
    get(this: Lazy): string[] | undefined {
      if (this[kRaw] === undefined && this[kHead] !== undefined) {
        this[kRaw] = fieldsOf(this[kHead], this[kHeadersCount] as number);
      }
      return this[kRaw];
    },
    set(this: Lazy, value: string[]) {
      this[kRaw] = value;
    },
  });
}

/**
 * Names and values in turn, so many of them. The reactor has checked the head: each line is `name: value` with CRLF, and an empty line
 * ends it.
 */
function fieldsOf(head: string, count: number): string[] {
  const fields: string[] = new Array(count);
  let at = head.indexOf('\n') + 1;
  for (let index = 0; index < count; index += 2) {
    const end = head.indexOf('\n', at);
    const colon = head.indexOf(':', at);
    let from = colon + 1;
    let to = end - 1;
    while (from < to && isSpace(head.charCodeAt(from))) from++;
    while (to > from && isSpace(head.charCodeAt(to - 1))) to--;
    fields[index] = sliceName(head, at, colon);
    fields[index + 1] = head.slice(from, to);
    at = end + 1;
  }
  return fields;
}

function isSpace(code: number): boolean {
  return code === 32 || code === 9;
}

/** Trailer lines, as `fieldsOf` gives fields. */
export function parseTrailers(lines: string): string[] {
  const count = lines.split('\n').length - 1;
  return fieldsOf(`\n${lines}`, count * 2);
}
