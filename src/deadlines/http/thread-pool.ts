import { randomFill } from 'node:crypto';

const byte = new Uint8Array(1);
let isProbing = false;

/** Begins a task for the pool of threads, in which names are looked up. */
export function probeThreadPool(): void {
  if (isProbing) return;
  isProbing = true;
  randomFill(byte, () => {
    isProbing = false;
  });
}

/** Whether the task begun last still waits for a thread: so do name lookups begun before it. */
export function isThreadPoolBusy(): boolean {
  return isProbing;
}
