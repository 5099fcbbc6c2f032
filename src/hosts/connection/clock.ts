import { wallClockMs } from '../../load/engine/start.js';
import type { ClockResult } from '../../load/result.js';
import type { Session } from './session.js';

/** Number of messages whose answers are timed. */
const ROUND_TRIPS = 10;

/** A clock, and how long a message to its host and back takes. */
export interface MeasuredClock extends ClockResult {
  roundTripMs: number;
}

/**
 * Measures by how much the clock of a host is ahead. The host read it at some time between a message and its answer: the
 * shortest round trip bounds the error by half of its length.
 */
export async function measureClock(session: Pick<Session, 'readClock'>): Promise<MeasuredClock> {
  let best: MeasuredClock | null = null;
  for (let index = 0; index < ROUND_TRIPS; index++) {
    const { atMs, sentMs, heardMs } = await session.readClock();
    const hereMs = wallClockMs() - (performance.now() - (sentMs + heardMs) / 2);
    const roundTripMs = heardMs - sentMs;
    if (best !== null && roundTripMs >= best.roundTripMs) continue;
    best = { offsetMs: atMs - hereMs, boundMs: roundTripMs / 2, roundTripMs };
  }
  if (best === null) throw new RangeError('no round trip');
  return best;
}
