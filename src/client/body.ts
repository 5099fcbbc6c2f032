import { randomBytes } from 'node:crypto';
import { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { usageError } from '../errors.js';
import { type Shape, shape, shown } from '../validation/shape.js';

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

/**
 * Destroys a stream that was not sent: nobody else would close its file. A request that is passed on is left open, since
 * its response is still to be sent.
 */
export function discard(body: unknown): void {
  if (typeof body !== 'object' || body === null || body instanceof IncomingMessage) return;
  if (body instanceof ReadableStream) {
    if (!body.locked) body.cancel().catch(() => {});
    return;
  }
  const { destroy } = body as { destroy?: unknown };
  if (typeof destroy === 'function' && isStream(body)) Reflect.apply(destroy, body, []);
}

function whole(sent: string | Uint8Array, type: string | null): Body {
  return { open: () => sent, isNone: false, isWhole: true, type, length: null };
}

/** Reads a blob as it is sent: it may be a large file. */
function blob(given: FileLike, type: string | null): Body {
  return {
    open: () => readFile(given),
    isNone: false,
    isWhole: true,
    type,
    length: given.size,
  };
}

/** A Blob or File of any library. */
interface FileLike {
  readonly size: number;
  readonly type?: string;
  readonly name?: string;
  stream?(): AsyncIterable<Uint8Array>;
  arrayBuffer?(): Promise<ArrayBuffer>;
}

function isFileLike(value: unknown): value is FileLike {
  if (typeof value !== 'object' || value === null) return false;
  const { size, stream, arrayBuffer } = value as Partial<FileLike>;
  const isReadable = typeof stream === 'function' || typeof arrayBuffer === 'function';
  return typeof size === 'number' && isReadable;
}

async function* readFile(file: FileLike): AsyncIterable<Uint8Array> {
  const stream = file.stream?.();
  if (stream !== undefined && Symbol.asyncIterator in stream) yield* stream;
  else if (file.arrayBuffer) yield new Uint8Array(await file.arrayBuffer());
  else throw new TypeError('A file of the body cannot be read (millrace/client)');
}

/** Builds `multipart/form-data` (RFC 7578), with names escaped as the HTML standard says. */
function formOf(form: FormData): Body {
  const boundary = `millrace-${randomBytes(16).toString('hex')}`;
  const parts: (Uint8Array | FileLike)[] = [];
  const add = (text: string) => parts.push(Buffer.from(text));
  for (const [name, value] of form as Iterable<[string, unknown]>) {
    add(`--${boundary}\r\nContent-Disposition: form-data; name="${quoted(lines(name))}"`);
    if (typeof value === 'string') {
      add(`\r\n\r\n${lines(value)}\r\n`);
      continue;
    }
    if (!isFileLike(value)) throw fieldError(name, value);
    const type = value.type || 'application/octet-stream';
    add(`; filename="${quoted(value.name ?? 'blob')}"\r\nContent-Type: ${type}\r\n\r\n`);
    parts.push(value);
    add('\r\n');
  }
  add(`--${boundary}--\r\n`);
  const length = parts.reduce((sum, part) => sum + ('size' in part ? part.size : part.length), 0);
  const type = `multipart/form-data; boundary=${boundary}`;
  return { open: () => readParts(parts), isNone: false, isWhole: true, type, length };
}

async function* readParts(parts: (Uint8Array | FileLike)[]): AsyncIterable<Uint8Array> {
  for (const part of parts) {
    if (part instanceof Uint8Array) yield part;
    else yield* readFile(part);
  }
}

function fieldError(name: string, value: unknown): Error {
  return usageError(
    `body: field ${shown(name)} of the FormData must be text, or a File with size and stream() or arrayBuffer() (got ${shown(value)})`,
  );
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
  return isStream(value);
}

function isStream(value: object): boolean {
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
  return (isA('Blob', value) || isA('File', value)) && isFileLike(value);
}
