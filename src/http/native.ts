import { AsyncResource } from 'node:async_hooks';
import { loadNative, type Native } from '../native.js';
import { EVENT_LENGTH } from './event.js';
import { isOff } from './off.js';

const EVENTS = 4096;
/** Entries of the outbox, and numbers of each: see `outbox.ts`. */
export const ENTRIES = 64;
export const ENTRY_LENGTH = 5;
const INPUT_BYTES = 1024 * 1024;
/** Bytes that are collected before they are sent. */
export const OUTPUT_BYTES = 256 * 1024;

interface Latin1Buffer extends Buffer {
  latin1Slice(start: number, end: number): string;
  latin1Write(text: string, offset: number): number;
  utf8Write(text: string, offset: number): number;
}

/** Memory shared with the reactor: events, bytes that came in, bytes to be sent and whose they are. */
export const events = new Int32Array(EVENTS * EVENT_LENGTH);
export const input = Buffer.allocUnsafeSlow(INPUT_BYTES) as Latin1Buffer;
export const output = Buffer.allocUnsafeSlow(OUTPUT_BYTES) as Latin1Buffer;
export const outbox = new Int32Array(ENTRIES * ENTRY_LENGTH);

/** The addon. Where the stack is off, nothing calls it. */
export const native = isOff ? ({} as Native) : loadNative();
export const functions = isOff
  ? ({} as ReturnType<Native['stackFunctions']>)
  : native.stackFunctions();

let started = false;
const nobody = new AsyncResource('MILLRACE');

/** Puts the reactor into this thread's loop, once; `false`: it is there. `onBatch` takes the number of events of a batch. */
export function start(onBatch: (count: number) => void): boolean {
  if (started) return false;
  started = true;
  // Batches come in the context of nobody, not in that of the first server that listens.
  nobody.runInAsyncScope(() => {
    native.stackStart(events, input, output, outbox, { events, input, output, outbox }, onBatch);
  });
  return true;
}
