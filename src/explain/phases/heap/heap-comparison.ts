import { createReadStream, statSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { bytes, time } from '../../../format/units.js';
import type { Answers, Commands, HeapSnapshotInfo } from '../../../probe/protocol.cjs';
import { withTemporaryFolder } from '../../../process/temporary-folder.js';
import { compareHeaps, summarizeHeap } from '../../allocations/growth.js';
import {
  type HeapSnapshot,
  readHeapSnapshot,
} from '../../allocations/heap-snapshot/heap-snapshot.js';
import { SnapshotError } from '../../allocations/heap-snapshot/scanner.js';
import type { GrowingClass } from '../../result.js';
import type { ServerUnderTest } from '../../target/server-under-test.js';
import { setInlining } from '../../target/without-inlining.js';

/** Largest heap of which a snapshot is taken: V8 needs up to eight times as much memory for it, and seconds. */
const MAX_HEAP_BYTES = 96e6;
/** Largest file of a snapshot that is read. */
const MAX_FILE_BYTES = 600e6;
/** Bytes by which the heap should grow between the snapshots, and the range of the load's length until then. */
const WANTED_BYTES = 16e6;
const [MIN_GROWTH_MS, MAX_GROWTH_MS] = [150, 2500];
/** Longest warm-up, in which caches fill and code is compiled. */
const WARMUP_MS = 1000;
/** Time for a snapshot of a small heap, and for reading two. */
const SNAPSHOT_MS = 1500;
const READ_MS = 1500;
/** How much longer the second snapshot takes, as the heap is larger by then. */
const SECOND_SNAPSHOT_FACTOR = 2;

/** The classes that grew, and how long the process stood still to find out. */
export interface HeapComparison {
  growth: GrowingClass[];
  pausedMs: number;
}

/** What a comparison depends on. */
export interface ComparisonOptions {
  /** Bytes that the heap grows by per second, if known. */
  bytesPerSecond: number | null;
  /** Whether so much time is left. */
  fits(ms: number): boolean;
}

/** Estimates how long a comparison takes. */
export function estimateComparisonMs({ startMs }: ServerUnderTest): number {
  return startMs + 500 + WARMUP_MS + MAX_GROWTH_MS + 2 * SNAPSHOT_MS + READ_MS;
}

/**
 * Compares the heap of a new server before and after some load. A new one is small, and what follows is not disturbed:
 * a snapshot stops the process, and leaves it slower. Returns the reason as text if it cannot be done.
 */
export async function compareNewHeaps(
  subject: ServerUnderTest,
  options: ComparisonOptions,
): Promise<HeapComparison | string> {
  await subject.restart();
  await subject.runBlock({ settleMs: 0, measureMs: chooseLength(options, WARMUP_MS) });
  await setInlining(subject, false);
  const pid = subject.hub?.processes.find(({ serving }) => serving)?.pid;
  if (pid === undefined) return 'no process of the new server has the probe';
  const heapBytes = Math.max(0, ...((await subject.hub?.command('collect', {})) ?? []));
  if (heapBytes > MAX_HEAP_BYTES) {
    return `a new server has a heap of ${bytes(heapBytes)}; snapshots are taken of at most ${bytes(MAX_HEAP_BYTES)}`;
  }
  let folder = '';
  try {
    folder = await withTemporaryFolder('millrace-heap', async (created) => created);
    return await compareInFolder(subject, pid, folder, options);
  } catch (error) {
    subject.signal.throwIfAborted();
    if (subject.endReason !== null) throw error;
    return (error as Error).message;
  } finally {
    if (folder !== '') await rm(folder, { recursive: true, force: true });
  }
}

async function compareInFolder(
  subject: ServerUnderTest,
  pid: number,
  folder: string,
  options: ComparisonOptions,
): Promise<HeapComparison | string> {
  const [first, second] = [join(folder, 'before'), join(folder, 'after')];
  const before = await takeSnapshot(subject, pid, first);
  const earlier = summarizeHeap(await readSnapshot(first, false));
  await rm(first);
  const measureMs = chooseLength(options, MAX_GROWTH_MS);
  const neededMs = measureMs + SECOND_SNAPSHOT_FACTOR * before.pausedMs + READ_MS;
  if (!options.fits(neededMs)) {
    return `the first snapshot took ${time(before.pausedMs)}, and no time is left for the second; give it more time (--budget)`;
  }
  await command(subject, 'liveAllocations', { pid, on: true });
  await subject.runBlock({ settleMs: 0, measureMs });
  const allocated = await command(subject, 'liveAllocations', { pid, on: false });
  const after = await takeSnapshot(subject, pid, second);
  const requests = after.requests - before.requests;
  if (requests <= 0) return 'no request ended between the snapshots';
  const snapshot = await readSnapshot(second, true);
  return {
    growth: compareHeaps(earlier, snapshot, allocated, requests),
    pausedMs: before.pausedMs + after.pausedMs,
  };
}

/** Chooses a length of load in which the heap grows by a bounded amount. */
function chooseLength({ bytesPerSecond }: ComparisonOptions, mostMs: number): number {
  const ms = bytesPerSecond === null ? mostMs : (WANTED_BYTES / bytesPerSecond) * 1000;
  return Math.round(Math.min(mostMs, Math.max(MIN_GROWTH_MS, ms)));
}

async function takeSnapshot(
  subject: ServerUnderTest,
  pid: number,
  file: string,
): Promise<HeapSnapshotInfo> {
  const info = await command(subject, 'heapSnapshot', { pid, file, ms: SNAPSHOT_TIMEOUT_MS });
  if (!info) throw new SnapshotError('the process has ended');
  const size = statSync(file, { throwIfNoEntry: false })?.size;
  if (size === undefined)
    throw new SnapshotError('the heap snapshot was written to another file system (a container?)');
  if (size > MAX_FILE_BYTES)
    throw new SnapshotError(
      `the heap snapshot has ${bytes(size)}; at most ${bytes(MAX_FILE_BYTES)} are read`,
    );
  return info;
}

/** How much longer than other commands a snapshot may take. */
const SNAPSHOT_TIMEOUT_MS = 7000;

/** Sends a command for one process. Returns its answer; `null` if it has none. */
async function command<Name extends 'liveAllocations' | 'heapSnapshot'>(
  { hub }: ServerUnderTest,
  name: Name,
  args: Commands[Name],
): Promise<Answers[Name] | null> {
  const answers = (await hub?.command(name, args)) ?? [];
  return answers.find((answer) => answer !== null) ?? null;
}

async function readSnapshot(file: string, edges: boolean): Promise<HeapSnapshot> {
  const snapshot = await readHeapSnapshot(createReadStream(file), { edges });
  if (snapshot instanceof SnapshotError) throw snapshot;
  return snapshot;
}
