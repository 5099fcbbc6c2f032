import type { NativeUnfinished } from '../../native/addon.js';
import type { UnfinishedResponses } from '../result.js';

/** Converts the numbers of responses that had begun and not ended. */
export function convertUnfinished({ headMs, ...counts }: NativeUnfinished): UnfinishedResponses {
  return { ...counts, headMs: headMs ?? null };
}
