/** Events of the reactor, as `crates/stack/src/batch/event.rs` numbers them: kind, connection, details. */
export const EVENT_LENGTH = 8;

/** In the place of an event that was taken out of its turn. */
export const NONE = 0;
export const OPEN = 1;
export const REQUEST = 2;
export const BODY = 3;
export const END = 4;
export const EOF = 5;
export const CLOSED = 6;
export const DRAINED = 7;
export const NEEDS_NODE_PARSER = 8;
export const IDLE = 9;
export const ACCEPT_FAILED = 10;
export const RAW = 11;
export const ANSWERED = 15;
export const BODY_READABLE = 17;

/** Flags of a request. The number of its fields stands above them. */
export const FLAG_KEEP_ALIVE = 1;
export const FLAG_HTTP_1_0 = 2;
export const FLAG_BODY = 4;
export const FLAG_EXPECT = 8;
export const FLAG_HOST = 16;
export const FLAG_STORED = 32;
export const FIELDS_SHIFT = 8;

/** Why the reactor leaves bytes to Node's parser. */
export const REASON_UPGRADE = 1;
export const REASON_BODY = 2;
export const REASON_CLOSED = 3;
