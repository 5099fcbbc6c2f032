import { writeHeapSnapshot } from 'node:v8';
import type { HeapSnapshotInfo } from '../protocol.cjs';
import { now } from './clock.cjs';

/** Writes a snapshot of the heap to a new file. The process stands still meanwhile. */
export function takeHeapSnapshot(file: string, requests: number): HeapSnapshotInfo {
  const from = now();
  writeHeapSnapshot(file);
  return { requests, pausedMs: now() - from };
}
