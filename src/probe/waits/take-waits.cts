import type { ProbeObserver } from '../observer.cjs';
import type { WaitSamples } from '../protocol.cjs';
import { now, pause } from '../runtime/clock.cjs';
import { readLoopTimes } from '../runtime/event-loop.cjs';
import { Admission } from './admission.cjs';
import { OutboundWaits } from './outbound-waits.cjs';
import { WaitTracker } from './wait-tracker.cjs';

/** Share of the time in which requests that arrive are tracked; in the rest they have time to end. */
const ADMITTING_SHARE = 0.7;
/** Share of busy time up to which the hooks, which run in the rest, cost nearly no throughput. */
const MAX_FREE_SHARE = 0.75;
/** Share of the time that may be spent on requests that are tracked: of a loop that has time left, and of a busy one. */
const [FREE_SPENT_SHARE, BUSY_SPENT_SHARE] = [0.03, 0.01];
/** A busy loop is observed for short times: requests are tracked for so long, and followed to their end. */
const SLICE_MS = 100;
/** Length of the pauses between them, in relation to them: the hooks may double the time of a request. */
const PAUSES = 9;
const FIRST_PAUSE_MS = 30;
const POLL_MS = 5;

/** Observations of waits that are in progress. */
const running = new Set<() => void>();

/**
 * Observes for some time what requests wait for: all the time if the event loop has time left, else a small part of it.
 *
 * @param depth number of frames of each stack
 */
export async function takeWaits(
  { portFilter, requests, clientRequests, dispatches, exchanges }: ProbeObserver,
  ms: number,
  depth: number,
): Promise<WaitSamples> {
  const admission = new Admission(BUSY_SPENT_SHARE);
  const tracker = new WaitTracker(portFilter, requests.routes, admission, depth);
  const outbound = new OutboundWaits(tracker, { clientRequests, dispatches, exchanges });
  let isStopped = false;
  const untilMs = now() + ms;
  const endSlice = () => {
    outbound.stop();
    tracker.stop();
  };
  const stop = () => {
    isStopped = true;
    endSlice();
  };
  running.add(stop);
  try {
    let pauseMs = Math.min(FIRST_PAUSE_MS, ms / 4);
    for (;;) {
      const busy = await measureBusyShare(Math.min(pauseMs, untilMs - now()));
      const [fromMs, leftMs] = [now(), untilMs - now()];
      if (isStopped || leftMs <= 0) break;
      const isFree = busy <= MAX_FREE_SHARE;
      const sliceMs = isFree ? leftMs : Math.min(SLICE_MS, leftMs);
      admission.share = isFree ? FREE_SPENT_SHARE : BUSY_SPENT_SHARE;
      tracker.start();
      outbound.start();
      await pause(sliceMs * ADMITTING_SHARE);
      tracker.stopAdmitting();
      // Requests of a free loop are awaited until the end, to have it take as long as the caller expects.
      await pause(fromMs + sliceMs - now());
      while (!isStopped && tracker.openCount > 0 && now() < untilMs) await pause(POLL_MS);
      endSlice();
      pauseMs = PAUSES * (now() - fromMs);
    }
  } finally {
    running.delete(stop);
    stop();
  }
  return { ...(await tracker.reservoir.read()), requests: tracker.requests };
}

/** Ends all observations of waits. */
export function stopWaits(): void {
  for (const stop of running) stop();
}

/** Measures for some time the share in which the event loop is busy. */
async function measureBusyShare(ms: number): Promise<number> {
  const before = readLoopTimes();
  await pause(ms);
  const after = readLoopTimes();
  const activeMs = after.activeMs - before.activeMs;
  return activeMs / Math.max(1, activeMs + after.idleMs - before.idleMs);
}
