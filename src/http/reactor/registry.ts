import type { Connection } from '../connection/connection.js';
import type { NativeServer } from '../server/native-server.js';

/** The connections of this thread, by their number in the reactor. */
export const connections: (Connection | null)[] = [];
/** The servers of this thread that listen or have connections, by their number in the reactor. */
export const servers: (NativeServer | null)[] = [];
