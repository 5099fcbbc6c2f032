import type { Connection } from '../state/connection.js';
import type { NativeServer } from '../state/native-server.js';

/** The connections of this thread, by their number in the reactor. */
export const connections: (Connection | null)[] = [];
/** The servers of this thread that listen or have connections, by their number in the reactor. */
export const servers: (NativeServer | null)[] = [];
