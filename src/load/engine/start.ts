import { setTimeout as sleep } from 'node:timers/promises';
import type { NativePlan } from '../../native/addon.js';
import type { Plan } from '../plan/plan.js';
import type { Snapshots } from './snapshots.js';

/** How long before the start the engine begins to open connections: less than servers keep idle ones. */
export const SETUP_MS = 2000;

/** Interval of the snapshots that say how long it is until then. */
const TURN_MS = 100;

/** Waits until connections are to be opened for a load that begins at `startAtMs`. Rejects with the signal's reason. */
export async function waitForStart(
  startAtMs: number | null,
  snapshots: Snapshots,
  signal: AbortSignal | undefined,
): Promise<void> {
  if (startAtMs === null) return;
  for (;;) {
    const leftMs = startAtMs - wallClockMs();
    if (leftMs <= SETUP_MS) return;
    snapshots.pushWait(leftMs);
    await sleep(Math.min(TURN_MS, leftMs - SETUP_MS), undefined, signal && { signal }).catch(
      (error: unknown) => {
        signal?.throwIfAborted();
        throw error;
      },
    );
  }
}

/** The engine's plan with the time that is left until the start, and by how much that has passed already. */
export function planStart({ native, startAtMs }: Plan): { native: NativePlan; overdueMs: number } {
  if (startAtMs === null) return { native, overdueMs: 0 };
  const leftMs = startAtMs - wallClockMs();
  return {
    native: { ...native, startAfterMs: Math.max(0, leftMs) },
    overdueMs: Math.max(0, -leftMs),
  };
}

/** Largest difference between two clocks that show the same time, one of them in whole milliseconds. */
const SAME_MS = 2;

/** The time of the wall clock, with a fraction unless the clock has been set since this process began. */
export function wallClockMs(): number {
  const [fine, coarse] = [performance.timeOrigin + performance.now(), Date.now()];
  return Math.abs(fine - coarse) < SAME_MS ? fine : coarse;
}
