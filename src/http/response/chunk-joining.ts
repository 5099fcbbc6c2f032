import type http from 'node:http';
import { nodeHttp } from '../node/node-http.js';
import { kChunkedBuffer, kChunkedLength, kCorked, type Outgoing } from '../node/node-internals.js';
import { isWriteUnpatched } from '../node/node-methods.js';
import { appendBytes, appendLineEnd, appendText } from '../sending/output-buffer.js';
import type { Connection } from '../state/connection.js';

/*
 * From Node 26 on, what is written to a chunked response in one turn of the loop is one chunk: `write` keeps it in the
 * response, in threes of data, encoding and callback, until a tick or `end` sends it.
 */

type Keyed = Record<symbol, unknown>;

/** Whether Node joins the chunks of one turn: its `write` then corks the response, not the socket alone. */
export const joinsChunks = ((): boolean => {
  if (!isWriteUnpatched) return false;
  const message = new nodeHttp.OutgoingMessage() as unknown as Outgoing & Keyed;
  const socket = {
    ...{ writable: true, writableCorked: 0, writableLength: 0, writableHighWaterMark: 1 },
    cork() {},
    uncork() {},
    write: () => true,
  };
  Object.assign(message, { socket, _header: 'sent', _hasBody: true, chunkedEncoding: true });
  (message as unknown as http.OutgoingMessage).write('a');
  return message[kCorked] === 1;
})();

/** What stands for "no callback" in a chunk of the short path. */
const nothing = () => {};

/** The same in one of Node's own: a function that does nothing, as its source shows. */
let noCallback: unknown;

function doesNothing(callback: unknown): boolean {
  if (callback === noCallback || callback === nothing) return true;
  if (Function.prototype.toString.call(callback) !== '() => {}') return false;
  noCallback = callback;
  return true;
}

/** Whether a response keeps chunks that nobody waits for. */
export function keepsChunks(response: Outgoing): boolean {
  const chunks = (response as Outgoing & Keyed)[kChunkedBuffer as symbol] as unknown[];
  for (let at = 2; at < chunks.length; at += 3) if (!doesNothing(chunks[at])) return false;
  return chunks.length > 0;
}

/**
 * Keeps a chunk, the first of a turn or behind others, and says whether more may follow: as Node's `write` does, but that
 * `send` is what a tick calls.
 */
export function keepChunk(
  connection: Connection,
  response: Outgoing,
  data: string | Uint8Array,
  send: (response: Outgoing) => void,
): boolean {
  const keyed = response as Outgoing & Keyed;
  if (!keyed[kCorked]) {
    keyed[kCorked] = 1;
    connection.cork();
    process.nextTick(send, response);
  }
  (keyed[kChunkedBuffer as symbol] as unknown[]).push(data, undefined, nothing);
  (keyed[kChunkedLength as symbol] as number) += byteLength(data);
  const { writableLength, writableHighWaterMark } = response as unknown as http.ServerResponse;
  return writableLength < writableHighWaterMark;
}

function byteLength(data: string | Uint8Array): number {
  return typeof data === 'string' ? Buffer.byteLength(data) : data.byteLength;
}

/** Appends what a response keeps, and the body's last part, as one chunk; returns the bytes of the chunk. */
export function appendKept(
  connection: Connection,
  response: Outgoing,
  head: string,
  last: string | Uint8Array | null,
): number {
  const keyed = response as Outgoing & Keyed;
  const chunks = keyed[kChunkedBuffer as symbol] as unknown[];
  let length = keyed[kChunkedLength as symbol] as number;
  if (last !== null) length += byteLength(last);
  appendText(connection, `${head}${length.toString(16)}\r\n`, true);
  for (let at = 0; at < chunks.length; at += 3) {
    append(connection, chunks[at] as string | Uint8Array, chunks[at + 1] as BufferEncoding);
  }
  if (last !== null) append(connection, last);
  appendLineEnd(connection);
  chunks.length = 0;
  keyed[kChunkedLength as symbol] = 0;
  keyed[kCorked] = 0;
  return length;
}

function append(
  connection: Connection,
  data: string | Uint8Array,
  encoding?: BufferEncoding | null,
): void {
  if (typeof data !== 'string') appendBytes(connection, data);
  else if (!encoding || encoding === 'utf8') appendText(connection, data, false);
  else appendBytes(connection, Buffer.from(data, encoding));
}
