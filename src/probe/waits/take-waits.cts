import type { ProbeObserver } from '../observer.cjs';
import { timers } from '../runtime/clock.cjs';
import { OutboundWaits } from './outbound-waits.cjs';
import type { WaitSamples } from './wait-samples.cjs';
import { WaitTracker } from './wait-tracker.cjs';

/** Share of the time in which requests that arrive are tracked; in the rest they have time to end. */
const ADMITTING_SHARE = 0.7;

/** Observations of waits that are in progress. */
const running = new Set<() => void>();

/**
 * Observes for some time what requests wait for.
 *
 * @param depth number of frames of each stack
 */
export async function takeWaits(
  { portFilter, requests, clientRequests, exchanges }: ProbeObserver,
  ms: number,
  depth: number,
): Promise<WaitSamples> {
  const tracker = new WaitTracker(portFilter, requests.routes, depth);
  const outbound = new OutboundWaits(tracker, clientRequests, exchanges);
  const stop = () => {
    if (!running.delete(stop)) return;
    outbound.stop();
    tracker.stop();
  };
  running.add(stop);
  try {
    tracker.start();
    outbound.start();
    await pause(ms * ADMITTING_SHARE);
    tracker.stopAdmitting();
    await pause(ms * (1 - ADMITTING_SHARE));
  } finally {
    stop();
  }
  return { ...(await tracker.reservoir.read()), requests: tracker.requests };
}

/** Ends all observations of waits. */
export function stopWaits(): void {
  for (const stop of running) stop();
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    timers.setTimeout(resolve, ms).unref();
  });
}
