import type { Connection, NativeServer } from '../state/connection.js';

/** The connections of this thread, by their number in the reactor. */
export const connections: (Connection | null)[] = [];
/** The servers of this thread that listen or have connections, by their number in the reactor. */
export const servers: (NativeServer | null)[] = [];
