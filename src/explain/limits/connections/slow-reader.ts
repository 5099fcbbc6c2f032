import type { Limit } from '../limit.js';

export const SLOW_READER = {
  id: 'slow-reader',
  group: 'connections and TCP',
  text: {
    title: 'A client that reads slowly',
    what: 'The client reads slower than the server writes, and responses wait in the sockets.',
    shows: "The server's sockets contain unacknowledged bytes, and the window is closed.",
    experiment: 'None yet. A client that reads faster would raise throughput.',
    formula: 'bytes per second of a connection = window / round trip',
    remedy: 'A faster client, a larger window, or fewer bytes.',
    detected: 'not detected yet',
    note: 'The generator reads at once, or generator-saturated is the limit; a load cannot have slow clients yet.',
  },
  needsOwnLoad: 'how fast clients read is not seen',
  detectors: [],
} satisfies Limit;
