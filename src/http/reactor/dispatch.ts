import { drainTicks } from '../node/node-internals.js';
import type { Connection } from '../state/connection.js';
import { fixDate } from './date.js';
import { batch } from './event-batch.js';
import {
  BODY,
  BODY_READABLE,
  END,
  EVENT_LENGTH,
  NEEDS_NODE_PARSER,
  REASON_UPGRADE,
  REQUEST,
} from './events.js';
import { reportException } from './internal-errors.js';
import { events, start } from './native.js';
import { connections } from './registry.js';

/** What the stack does with the reactor's events (`server/connection-events.ts`). One object has it, so that each call has one target. */
export interface ConnectionEvents {
  /** Called once: the reactor is in this thread's loop. */
  onStart(): void;
  /** Called before and after the events of a batch. */
  beginBatch(): void;
  endBatch(): void;
  /** Handles an event, which begins at this index of the batch. */
  onEvent(kind: number, id: number, at: number): void;
  /** Whether the next event is of the same connection, so that short responses to both are sent together. */
  isPipelined(at: number): boolean;
  /** Sends what was written, and reports that it has been sent. */
  sendAll(): void;
  /** Stops the parsing of a connection whose listener has thrown for a part of a body. */
  failBody(connection: Connection): void;
}

let handlers: ConnectionEvents;

/** Sets what is called for the events; to be called before a server listens. */
export function handleEvents(connectionEvents: ConnectionEvents): void {
  handlers = connectionEvents;
}

/** Adds the reactor to this thread's loop. */
export function startReactor(): void {
  if (start(onBatch)) handlers.onStart();
}

/**
 * Takes a batch of so many events; none: what is left of the last one, where something was thrown, or where a listener runs
 * the event loop itself. That one then finds its batch taken when it comes back.
 */
function onBatch(count: number): void {
  if (count > 0) {
    batch.cursor = 0;
    batch.total = count;
  }
  handlers.beginBatch();
  fixDate(true);
  while (batch.cursor < batch.total) {
    const at = batch.cursor * EVENT_LENGTH;
    batch.cursor++;
    try {
      handlers.onEvent(events[at] as number, events[at + 1] as number, at);
      if (batch.cursor < batch.total && isSamePacket(at)) continue;
      drainTicks();
      if (batch.cursor < batch.total && handlers.isPipelined(at)) continue;
      handlers.sendAll();
    } catch (error) {
      onThrown(error, at);
    }
  }
  handlers.endBatch();
  batch.cursor = batch.total = 0;
  fixDate(false);
}

/**
 * As from any callback of Node's, 'uncaughtException' decides whether the process goes on; if it does, what was
 * answered before leaves. With Node's parser, ticks behind a part of a body are within its callback.
 */
function onThrown(thrown: unknown, at: number): void {
  let error = thrown;
  const connection = connections[events[at + 1] as number] ?? null;
  const isOfBody = events[at] === BODY || events[at] === BODY_READABLE;
  for (;;) {
    reportException(error, connection);
    if (connection && isOfBody) handlers.failBody(connection);
    try {
      drainTicks();
      handlers.sendAll();
      return;
    } catch (next) {
      error = next;
    }
  }
}

/**
 * With Node, no tick comes between a request and the first of its body that has come with it, nor between its head or its
 * end and what is wrong behind that.
 */
function isSamePacket(at: number): boolean {
  if (events[at + 1] !== events[at + EVENT_LENGTH + 1]) return false;
  const kind = events[at];
  const next = events[at + EVENT_LENGTH];
  if (next === NEEDS_NODE_PARSER)
    return kind !== BODY && events[at + EVENT_LENGTH + 4] !== REASON_UPGRADE;
  return kind === REQUEST && (next === BODY || next === END);
}
