import { batch } from '../reactor/event-batch.js';
import {
  BODY,
  BODY_READABLE,
  END,
  EVENT_LENGTH,
  NEEDS_NODE_PARSER,
  NONE,
  RAW,
  REQUEST,
} from '../reactor/events.js';
import { events, native } from '../reactor/native.js';
import type { Connection } from '../state/connection.js';

/** Node's codes and reasons for a parser in whose callback an application has thrown. */
const HEAD = { code: 'HPE_CB_HEADERS_COMPLETE', reason: 'User callback error' };
const REST = { code: 'HPE_JS_EXCEPTION', reason: 'JS Exception' };

const OF_PARSER = new Set([REQUEST, BODY, END, NEEDS_NODE_PARSER, RAW]);

/**
 * Stops the parsing of a connection after an exception of the application that the process survives. As with Node's parser, the
 * rest of the received bytes is dropped, and the next bytes are an error: 'clientError', or a 400 and the end of the connection.
 */
export function failParsing(connection: Connection, where: 'head' | 'rest'): void {
  const id = connection.id;
  if (id < 0) return;
  const bytesParsed = parsedBytes(id);
  for (let at = batch.cursor * EVENT_LENGTH; at < batch.total * EVENT_LENGTH; at += EVENT_LENGTH) {
    if (events[at + 1] === id && OF_PARSER.has(events[at] as number)) events[at] = NONE;
  }
  connection.fallbackParser?.close?.();
  connection.fallbackParser = new FailedParser(connection, where, bytesParsed);
  native.stackProceedRaw(id);
}

/**
 * Bytes up to the end of the event that is being taken, counted from the first that this batch contains of the connection. What
 * was received apart from the batch is a read of its own.
 */
function parsedBytes(id: number): number {
  const current = (batch.cursor - 1) * EVENT_LENGTH;
  if (events[current] === BODY_READABLE) return events[current + 3] as number;
  for (let at = 0; at <= current; at += EVENT_LENGTH) {
    if (events[at + 1] !== id || !OF_PARSER.has(events[at] as number)) continue;
    const end = (events[current + 2] as number) + (events[current + 3] as number);
    return end - (events[at + 2] as number);
  }
  return 0;
}

/** Reports an error for all further bytes. */
class FailedParser {
  readonly expectsMore = false;
  readonly #connection: Connection;
  readonly #error: { code: string; reason: string };
  readonly #bytesParsed: number;

  constructor(connection: Connection, where: 'head' | 'rest', bytesParsed: number) {
    this.#connection = connection;
    this.#error = where === 'head' ? HEAD : REST;
    this.#bytesParsed = bytesParsed;
  }

  parse(_bytes: Buffer, rawPacket: Buffer): null {
    const { code, reason } = this.#error;
    const details = { code, reason, bytesParsed: this.#bytesParsed, rawPacket };
    const error = Object.assign(new Error(`Parse Error: ${reason}`), details);
    this.#connection.nativeServer.onError(this.#connection, error);
    return null;
  }
}
