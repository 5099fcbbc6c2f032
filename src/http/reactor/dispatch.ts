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
  /** Notifies who waits for the end of the turn; returns whether there was one. */
  notifyAfterTurn(): boolean;
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
 * Dispatches a batch of `count` events; 0: the rest of the last one, after an exception, or when a listener runs the event loop
 * itself. The interrupted call then finds its batch dispatched.
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
      const isOfBody = events[at] === BODY || events[at] === BODY_READABLE;
      onThrown(error, connections[events[at + 1] as number] ?? null, isOfBody);
    }
  }
  notifyAfterTurn();
  handlers.endBatch();
  batch.cursor = batch.total = 0;
  fixDate(false);
}

/** Notifies who waits for the end of the turn, and sends what is written then. */
function notifyAfterTurn(): void {
  for (;;) {
    try {
      if (!handlers.notifyAfterTurn()) return;
      handlers.sendAll();
    } catch (error) {
      onThrown(error, null, false);
    }
  }
}

/**
 * Reports an exception: 'uncaughtException' decides whether the process continues, as after any callback of Node. If it does,
 * earlier responses are sent. In Node's parser, the ticks after a part of a body belong to its callback.
 */
function onThrown(thrown: unknown, connection: Connection | null, isOfBody: boolean): void {
  let error = thrown;
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
 * Whether no tick runs before the next event: as in Node, between a request and the part of its body that arrived with it, and
 * between its head or its end and an error after that.
 */
function isSamePacket(at: number): boolean {
  if (events[at + 1] !== events[at + EVENT_LENGTH + 1]) return false;
  const kind = events[at];
  const next = events[at + EVENT_LENGTH];
  if (next === NEEDS_NODE_PARSER)
    return kind !== BODY && events[at + EVENT_LENGTH + 4] !== REASON_UPGRADE;
  return kind === REQUEST && (next === BODY || next === END);
}
