import { dateLine } from '../reactor/date.js';
import {
  invalidConnectionField,
  invalidPseudoField,
  invalidToken,
  invalidValue,
} from './errors.js';

/** Fields of a message: values are strings, numbers or lists of them. */
export type Fields = Record<string | symbol, unknown>;

const TOKEN = /^[\^_`a-zA-Z\-0-9!#$%&'*+.|~]+$/;
/** What would end a line, or is no byte of a field's value. */
const INVALID = /[\0\r\n]|[^\0-\xff]/;

/** Fields of a connection of HTTP/1.1 (RFC 9113, section 8.2.2). */
const OF_CONNECTION = new Set([
  ...['connection', 'upgrade', 'http2-settings', 'keep-alive', 'proxy-connection'],
  'transfer-encoding',
]);

/** Names that were seen and may be sent, as they were written. Bounded: names may come from outside. */
const names = new Set<string>();
const MAX_NAMES = 1000;

/** Whether a response of this status has no content. */
export function isBodiless(status: number): boolean {
  return status === 204 || status === 304;
}

/** The head of a final response as text of HTTP/1.1; its content follows in chunks, where it has any. */
export function responseHead(status: number, fields: Fields, sendsDate: boolean): string {
  let head = `HTTP/1.1 ${status} \r\n${fieldLines(fields, ':status')}`;
  if (sendsDate && (fields.date === undefined || fields.date === null)) head += dateLine();
  return isBodiless(status) ? `${head}\r\n` : `${head}transfer-encoding: chunked\r\n\r\n`;
}

/** The lines of fields. Throws Node's errors for those that HTTP/2 does not have; `pseudo` is the pseudo field that may be there. */
export function fieldLines(fields: Fields, pseudo?: string): string {
  let lines = '';
  for (const name of Object.keys(fields)) {
    const value = fields[name];
    if (value === undefined || name === '') continue;
    if (!names.has(name)) {
      if (name === pseudo) continue;
      checkField(name, value);
    }
    if (typeof value === 'string') lines += fieldLine(name, value);
    else if (Array.isArray(value)) for (const one of value) lines += fieldLine(name, String(one));
    else lines += fieldLine(name, String(value));
  }
  return lines;
}

function fieldLine(name: string, value: string): string {
  if (INVALID.test(value)) throw invalidValue(name);
  return `${name}: ${value}\r\n`;
}

/** Throws for a field that may not be sent, and remembers the name of another. */
function checkField(written: string, value: unknown): void {
  const name = written.toLowerCase();
  if (name.startsWith(':')) throw invalidPseudoField(name);
  if (!TOKEN.test(name)) throw invalidToken(name);
  if (OF_CONNECTION.has(name) || (name === 'te' && value !== 'trailers')) {
    throw invalidConnectionField(name);
  }
  if (name !== 'te' && names.size < MAX_NAMES) names.add(written);
}
