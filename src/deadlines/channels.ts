import { channel } from 'node:diagnostics_channel';
import type { DeadlineName } from '../outbound/limits.js';

/** The names of the diagnostics channels. */
export const channels = {
  /** A call has ended; the message is `CallEnded`. */
  end: 'millrace:deadlines:end',
  /** A limit has fired; the message is `LimitReached`, published before the application receives the error. */
  hit: 'millrace:deadlines:hit',
} as const;

/** Message of the channel `end`. */
export interface CallEnded {
  host: string;
  /** The library that made the call. */
  by: 'http' | 'undici';
  elapsedMs: number;
  /** The limit that ended the call; `null` if none did. */
  limit: DeadlineName | null;
}

/** Message of the channel `hit`. */
export interface LimitReached {
  host: string;
  /** The library that made the call; `socket` for a connection. */
  by: 'http' | 'undici' | 'socket';
  limit: DeadlineName;
  limitMs: number;
  elapsedMs: number;
  /** The error that the application receives. */
  error: Error;
}

export const callEndChannel = channel(channels.end);
export const limitHitChannel = channel(channels.hit);
