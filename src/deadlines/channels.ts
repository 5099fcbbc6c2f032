import { channel } from 'node:diagnostics_channel';
import type { DeadlineName } from '../outbound/limits.js';

/** The names of the diagnostics channels on which calls are told. */
export const channels = {
  /** A call has ended: `CallEnded`. */
  end: 'millrace:deadlines:end',
  /** A limit has fired: `LimitReached`. It is told before the application gets the error. */
  hit: 'millrace:deadlines:hit',
} as const;

/** A call that has ended. */
export interface CallEnded {
  host: string;
  /** Whose call it was. */
  by: 'http' | 'undici';
  elapsedMs: number;
  /** The limit that ended it; `null` if none did. */
  limit: DeadlineName | null;
}

/** A limit that has fired. */
export interface LimitReached {
  host: string;
  /** Whose call, or connection, it was. */
  by: 'http' | 'undici' | 'socket';
  limit: DeadlineName;
  limitMs: number;
  elapsedMs: number;
  /** What the application gets. */
  error: Error;
}

export const endChannel = channel(channels.end);
export const hitChannel = channel(channels.hit);
