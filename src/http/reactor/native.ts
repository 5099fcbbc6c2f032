import { AsyncResource } from 'node:async_hooks';
import { loadNative, type Native } from '../../native.js';
import { isOff } from '../install/disabled.js';

interface Latin1Buffer extends Buffer {
  latin1Slice(start: number, end: number): string;
  latin1Write(text: string, offset: number): number;
  utf8Write(text: string, offset: number): number;
}

/** The addon. Where the stack is off, nothing calls it. */
export const native = isOff ? ({} as Native) : loadNative();
export const functions = isOff
  ? ({} as ReturnType<Native['stackFunctions']>)
  : native.stackFunctions();

interface Memory {
  events: Int32Array;
  input: Latin1Buffer;
  output: Latin1Buffer;
  outbox: Int32Array;
}

/**
 * Memory shared with the reactor: events, bytes that came in, bytes to be sent and whose they are. The reactor trusts that
 * it stays where it is: no array leaves this module's importers.
 */
export const {
  events,
  input,
  output,
  outbox: batchEntries,
}: Memory = isOff
  ? { events: new Int32Array(), input: none(), output: none(), outbox: new Int32Array() }
  : (native.stackMemory() as Memory);

function none(): Latin1Buffer {
  return Buffer.alloc(0) as unknown as Latin1Buffer;
}

/** Numbers in one entry of a batch of writes: see `write-batch.ts`. */
export const ENTRY_LENGTH = 5;
export const MAX_ENTRIES = batchEntries.length / ENTRY_LENGTH;
/** Bytes that are collected before they are sent. */
export const OUTPUT_BYTES = output.length;

let started = false;
const nobody = new AsyncResource('MILLRACE');

/** Puts the reactor into this thread's loop, once; `false`: it is there. `onBatch` takes the number of events of a batch. */
export function start(onBatch: (count: number) => void): boolean {
  if (started) return false;
  // Batches come in the context of nobody, not in that of the first server that listens.
  nobody.runInAsyncScope(() => native.stackStart(onBatch, onFailure));
  started = true;
  return true;
}

/** The stack cannot do what it should. Where it can do nothing at all, 'uncaughtException' decides what becomes of the process. */
function onFailure(message: string, isFatal: boolean): void {
  if (isFatal) native.stackFatal(new Error(message));
  else process.emitWarning(message);
}
