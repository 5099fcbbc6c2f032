import { randomBytes } from 'node:crypto';
import { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { usageError } from '../errors/millrace-error.js';
import { describeValue, type Shape, shape } from '../validation/shape.js';

/** A body that a call can send. */
export type RequestBody =
  | string
  | URLSearchParams
  | FormData
  | Blob
  | ArrayBuffer
  | ArrayBufferView
  | ReadableStream
  | AsyncIterable<Uint8Array | string>
  | null;

/** The body of one try, as undici takes it. */
export type SentBody = string | Uint8Array | AsyncIterable<Uint8Array | string> | null;

/** A body with the headers that `fetch` would derive from it. */
export interface EncodedBody {
  /** Returns the body for one try. */
  open(): SentBody;
  isEmpty: boolean;
  /** Whether it can be sent again. */
  isReplayable: boolean;
  /** `Content-Type`; `null` if it is not known. */
  type: string | null;
  /** `Content-Length`, where undici cannot derive it; otherwise `null`. */
  length: number | null;
}

const NO_BODY: EncodedBody = {
  open: () => null,
  isEmpty: true,
  isReplayable: true,
  type: null,
  length: null,
};

/** Refuses a value that is not a body, and a stream that has nothing left to send. */
export const bodyShape: Shape = (value, name) => {
  bodyKind(value, name);
  unreadBody(value, name);
};

const bodyKind = shape(
  'text, bytes, URLSearchParams, FormData, a Blob or a stream; JSON.stringify makes text of other values',
  (value) => value === null || typeof value === 'string' || isBytes(value) || isObjectBody(value),
);

/** Refuses a stream that was read before, such as a request that a body parser has consumed: nothing would be sent. */
const unreadBody = shape('a stream that was not read to its end and has no reader', (value) => {
  if (value instanceof ReadableStream)
    return !value.locked && !Readable.isDisturbed(value as unknown as Readable);
  return !(value instanceof Readable) || !(value.readableEnded || value.destroyed);
});

/** Encodes a body, with the type that `fetch` gives it. */
export function encodeBody(body: RequestBody | undefined): EncodedBody {
  if (body === null || body === undefined) return NO_BODY;
  if (typeof body === 'string') return encodeBytes(body, 'text/plain;charset=UTF-8');
  if (body instanceof ArrayBuffer) return encodeBytes(new Uint8Array(body), null);
  if (ArrayBuffer.isView(body)) {
    return encodeBytes(new Uint8Array(body.buffer, body.byteOffset, body.byteLength), null);
  }
  if (hasTag('URLSearchParams', body)) {
    return encodeBytes(String(body), 'application/x-www-form-urlencoded;charset=UTF-8');
  }
  if (isForm(body)) return encodeForm(body);
  if (isBlob(body)) return encodeFile(body, body.type || null);
  return {
    open: () => body as AsyncIterable<Uint8Array>,
    isEmpty: false,
    isReplayable: false,
    type: null,
    length: null,
  };
}

/**
 * Destroys a stream that was not sent: nobody else would close its file. An incoming request that is passed on stays
 * open, as its response is still to be sent.
 */
export function destroyBody(body: unknown): void {
  if (typeof body !== 'object' || body === null || body instanceof IncomingMessage) return;
  if (body instanceof ReadableStream) {
    if (!body.locked) body.cancel().catch(() => {});
    return;
  }
  const { destroy } = body as { destroy?: unknown };
  if (typeof destroy === 'function' && isStream(body)) Reflect.apply(destroy, body, []);
}

function encodeBytes(sent: string | Uint8Array, type: string | null): EncodedBody {
  return { open: () => sent, isEmpty: false, isReplayable: true, type, length: null };
}

/** Encodes a Blob or File; it is read while it is sent, as it may be a large file. */
function encodeFile(file: FileLike, type: string | null): EncodedBody {
  return {
    open: () => readFile(file),
    isEmpty: false,
    isReplayable: true,
    type,
    length: file.size,
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

/** Encodes `multipart/form-data` (RFC 7578); names are escaped as in the HTML standard. */
function encodeForm(form: FormData): EncodedBody {
  const boundary = `millrace-${randomBytes(16).toString('hex')}`;
  const parts: (Uint8Array | FileLike)[] = [];
  const add = (text: string) => parts.push(Buffer.from(text));
  for (const [name, value] of form as Iterable<[string, unknown]>) {
    add(
      `--${boundary}\r\nContent-Disposition: form-data; name="${escapeName(normalizeLines(name))}"`,
    );
    if (typeof value === 'string') {
      add(`\r\n\r\n${normalizeLines(value)}\r\n`);
      continue;
    }
    if (!isFileLike(value)) throw fieldError(name, value);
    const type = value.type || 'application/octet-stream';
    add(`; filename="${escapeName(value.name ?? 'blob')}"\r\nContent-Type: ${type}\r\n\r\n`);
    parts.push(value);
    add('\r\n');
  }
  add(`--${boundary}--\r\n`);
  const length = parts.reduce((sum, part) => sum + ('size' in part ? part.size : part.length), 0);
  const type = `multipart/form-data; boundary=${boundary}`;
  return { open: () => readParts(parts), isEmpty: false, isReplayable: true, type, length };
}

async function* readParts(parts: (Uint8Array | FileLike)[]): AsyncIterable<Uint8Array> {
  for (const part of parts) {
    if (part instanceof Uint8Array) yield part;
    else yield* readFile(part);
  }
}

function fieldError(name: string, value: unknown): Error {
  return usageError(
    `body: field ${describeValue(name)} of the FormData must be text, or a File with size and stream() or arrayBuffer() (got ${describeValue(value)})`,
  );
}

function normalizeLines(text: string): string {
  return text.replace(/\r\n?|\n/g, '\r\n');
}

const ESCAPES: Record<string, string> = { '\r': '%0D', '\n': '%0A', '"': '%22' };

function escapeName(name: string): string {
  return name.replace(/[\r\n"]/g, (character) => ESCAPES[character] ?? '');
}

function isBytes(value: unknown): boolean {
  return value instanceof ArrayBuffer || ArrayBuffer.isView(value);
}

function isObjectBody(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (hasTag('URLSearchParams', value) || isForm(value) || isBlob(value)) return true;
  return isStream(value);
}

function isStream(value: object): boolean {
  return Symbol.asyncIterator in value || isStreamWithoutIterator(value);
}

/** Whether a value is a stream without an async iterator, as old streams and those of some libraries are. */
function isStreamWithoutIterator(value: object): boolean {
  const { pipe, on } = value as { pipe?: unknown; on?: unknown };
  return typeof pipe === 'function' && typeof on === 'function';
}

/** Checks the class by its tag, since libraries have classes of their own. */
function hasTag(name: string, value: unknown): boolean {
  return Object.prototype.toString.call(value) === `[object ${name}]`;
}

/** Whether a value is a FormData that can be iterated; that of the npm package `form-data` is a stream. */
function isForm(value: unknown): value is FormData {
  return hasTag('FormData', value) && Symbol.iterator in (value as object);
}

function isBlob(value: unknown): value is Blob {
  return (hasTag('Blob', value) || hasTag('File', value)) && isFileLike(value);
}
