import { randomBytes } from 'node:crypto';
import { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { type Shape, shape } from '../validation/shape.js';

/** What a call may send. */
export type GivenBody =
  | string
  | URLSearchParams
  | FormData
  | Blob
  | ArrayBuffer
  | ArrayBufferView
  | ReadableStream
  | AsyncIterable<Uint8Array | string>
  | null;

/** What undici takes for one try. */
export type SentBody = string | Uint8Array | AsyncIterable<Uint8Array | string> | null;

/** A body that can be sent, and what `fetch` would say of it. */
export interface Body {
  /** For one try. */
  open(): SentBody;
  isNone: boolean;
  /** It can be sent again. */
  isWhole: boolean;
  /** The media type; `null` where nothing is known. */
  type: string | null;
  /** Its bytes, where undici does not see them by itself. */
  length: number | null;
}

const none: Body = { open: () => null, isNone: true, isWhole: true, type: null, length: null };

/** Refuses what cannot be sent. */
export const bodyShape: Shape = (value, name) => {
  kind(value, name);
  unread(value, name);
};

const kind = shape(
  'text, bytes, URLSearchParams, FormData, a Blob or a stream; JSON.stringify makes text of other values',
  (value) => value === null || typeof value === 'string' || isBytes(value) || isOfClass(value),
);

/** Nothing would be sent of another one, as of a request that a parser of bodies has read before it is passed on. */
const unread = shape('a stream that nobody has read to its end, and nobody reads', (value) => {
  if (value instanceof ReadableStream)
    return !value.locked && !Readable.isDisturbed(value as unknown as Readable);
  return !(value instanceof Readable) || !(value.readableEnded || value.destroyed);
});

/** How a body is sent: with the type that `fetch` gives it. */
export function bodyOf(given: GivenBody | undefined): Body {
  if (given === null || given === undefined) return none;
  if (typeof given === 'string') return whole(given, 'text/plain;charset=UTF-8');
  if (given instanceof ArrayBuffer) return whole(new Uint8Array(given), null);
  if (ArrayBuffer.isView(given)) {
    return whole(new Uint8Array(given.buffer, given.byteOffset, given.byteLength), null);
  }
  if (isA('URLSearchParams', given)) {
    return whole(String(given), 'application/x-www-form-urlencoded;charset=UTF-8');
  }
  if (isForm(given)) return formOf(given);
  if (isBlob(given)) return blob(given, given.type || null);
  return {
    open: () => given as AsyncIterable<Uint8Array>,
    isNone: false,
    isWhole: false,
    type: null,
    length: null,
  };
}

/** Gives up a stream that was not sent: nobody else may close its file. A request that is passed on has an answer to come. */
export function discard(given: GivenBody | undefined): void {
  if (typeof given !== 'object' || given === null || given instanceof IncomingMessage) return;
  const { destroy } = given as { destroy?: unknown };
  if (typeof destroy === 'function') Reflect.apply(destroy, given, []);
  else if (given instanceof ReadableStream && !given.locked) given.cancel().catch(() => {});
}

function whole(sent: string | Uint8Array, type: string | null): Body {
  return { open: () => sent, isNone: false, isWhole: true, type, length: null };
}

/** A blob is read as it is sent: it may be a large file. */
function blob(given: Blob, type: string | null): Body {
  return { open: () => given.stream(), isNone: false, isWhole: true, type, length: given.size };
}

/** `multipart/form-data` (RFC 7578), with names escaped as the HTML standard says. */
function formOf(form: FormData): Body {
  const boundary = `millrace-${randomBytes(16).toString('hex')}`;
  const parts: (string | Blob)[] = [];
  for (const [name, value] of form) {
    parts.push(`--${boundary}\r\nContent-Disposition: form-data; name="${quoted(lines(name))}"`);
    if (typeof value === 'string') {
      parts.push('\r\n\r\n', lines(value), '\r\n');
      continue;
    }
    const type = value.type || 'application/octet-stream';
    parts.push(
      `; filename="${quoted(value.name)}"\r\nContent-Type: ${type}\r\n\r\n`,
      value,
      '\r\n',
    );
  }
  parts.push(`--${boundary}--\r\n`);
  return blob(new Blob(parts), `multipart/form-data; boundary=${boundary}`);
}

function lines(text: string): string {
  return text.replace(/\r\n?|\n/g, '\r\n');
}

const ESCAPES: Record<string, string> = { '\r': '%0D', '\n': '%0A', '"': '%22' };

function quoted(name: string): string {
  return name.replace(/[\r\n"]/g, (character) => ESCAPES[character] ?? '');
}

function isBytes(value: unknown): boolean {
  return value instanceof ArrayBuffer || ArrayBuffer.isView(value);
}

function isOfClass(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (isA('URLSearchParams', value) || isForm(value) || isBlob(value)) return true;
  return Symbol.asyncIterator in value || isOldStream(value);
}

/** Of an older kind, or of a library, without an iterator. */
function isOldStream(value: object): boolean {
  const { pipe, on } = value as { pipe?: unknown; on?: unknown };
  return typeof pipe === 'function' && typeof on === 'function';
}

/** By name: libraries bring classes of their own. */
function isA(name: string, value: unknown): boolean {
  return Object.prototype.toString.call(value) === `[object ${name}]`;
}

/** The `FormData` of the npm package `form-data` is a stream and cannot be gone through. */
function isForm(value: unknown): value is FormData {
  return isA('FormData', value) && Symbol.iterator in (value as object);
}

function isBlob(value: unknown): value is Blob {
  return value instanceof Blob;
}
