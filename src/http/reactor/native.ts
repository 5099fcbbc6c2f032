import { AsyncResource } from 'node:async_hooks';
import { loadNative, type Native } from '../../native/addon.js';
import { isOff } from './disabled.js';

interface Latin1Buffer extends Buffer {
  latin1Slice(start: number, end: number): string;
  latin1Write(text: string, offset: number): number;
  utf8Write(text: string, offset: number): number;
}

/** The addon; not called if the stack is off. */
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
 * Memory shared with the reactor: events, received bytes, bytes to send and their connections. The reactor relies on the
 * memory not moving: no array is passed on by the importers of this module.
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
  // Batches have no asynchronous context, instead of that of the first server that listens.
  nobody.runInAsyncScope(() => native.stackStart(onBatch, onFailure));
  started = true;
  return true;
}

/** Reports a failure of the stack. If the stack cannot continue at all, 'uncaughtException' decides about the process. */
function onFailure(message: string, isFatal: boolean): void {
  if (isFatal) native.stackFatal(new Error(message));
  else process.emitWarning(message);
}
