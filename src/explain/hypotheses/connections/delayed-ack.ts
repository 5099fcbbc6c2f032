/** Delayed-acknowledgement timers of kernels in ms: 40 and 200 ms, with their tolerances. */
const DELAYED_ACK_MS = [
  [36, 48],
  [190, 216],
] as const; // Source: Linux: TCP_DELACK_MIN is 40 ms, TCP_DELACK_MAX 200 ms; the tolerance is judgment

export const LONG_ACK_MS = DELAYED_ACK_MS[1][0];

/** Whether a gap in ms has the length of a delayed-acknowledgement timer. */
export function isDelayedAck(gapMs: number): boolean {
  return DELAYED_ACK_MS.some(([low, high]) => gapMs >= low && gapMs <= high);
}
