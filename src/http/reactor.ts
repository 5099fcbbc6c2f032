import {
  ACCEPT_FAILED,
  BODY,
  CLOSED,
  DOUBT_BODY,
  DOUBT_UPGRADE,
  DRAINED,
  END,
  EOF,
  EVENT_LENGTH,
  IDLE,
  OPEN,
  RAW,
  REQUEST,
  UNSURE,
} from './event.js';
import { complete } from './exchange.js';
import { trailersOf } from './head.js';
import { METHODS } from './methods.js';
import { events, input, start } from './native.js';
import { flush, pending, setInTurn, settle } from './output.js';
import { servers, sockets } from './server.js';
import type { ServerSocket } from './socket.js';

const drainTicks = (process as unknown as { _tickCallback(): void })._tickCallback;

/** Where in the batch we are. A handler that throws ends the call; the next one goes on behind it. */
let cursor = 0;

/** Puts the reactor into this thread's loop. */
export function startReactor(): void {
  start(onBatch);
}

function onBatch(count: number): void {
  setInTurn(true);
  if (cursor > 0) settleAll();
  while (cursor < count) {
    const at = cursor * EVENT_LENGTH;
    cursor++;
    const kind = events[at] as number;
    const id = events[at + 1] as number;
    take(kind, id, at);
    if (cursor < count && continues(id, at + EVENT_LENGTH)) continue;
    drainTicks();
    settleAll();
  }
  cursor = 0;
  setInTurn(false);
}

/** The next event is a part of the same message: nothing comes in between. */
function continues(id: number, next: number): boolean {
  const kind = events[next];
  return events[next + 1] === id && (kind === BODY || kind === END);
}

function settleAll(): void {
  while (pending() !== null) {
    flush();
    if (settle()) drainTicks();
  }
  while (settle()) {
    drainTicks();
    flush();
  }
}

function take(kind: number, id: number, at: number): void {
  if (kind === OPEN) {
    const home = servers[events[at + 2] as number];
    const socket = home?.open(id);
    if (socket && home) home.connected(socket);
    return;
  }
  if (kind === ACCEPT_FAILED) return;
  const socket = sockets[id];
  if (!socket) return;
  const a = events[at + 2] as number;
  const b = events[at + 3] as number;
  switch (kind) {
    case REQUEST: {
      const head = input.latin1Slice(a, a + b);
      const flags = events[at + 4] as number;
      const url = head.slice(events[at + 5] as number, events[at + 6] as number);
      socket.bytesRead += b;
      socket.run(head, METHODS[events[at + 7] as number] as string, url, flags);
      break;
    }
    case BODY:
      onBody(socket, a, b);
      break;
    case END:
      onEnd(socket, a, b);
      break;
    case EOF:
      socket.home.onEof(socket, a === 1);
      break;
    case CLOSED:
      socket.home.onReset(socket, a);
      break;
    case DRAINED:
      socket.queued = 0;
      socket.home.settle(socket);
      break;
    case UNSURE: {
      const doubt = events[at + 4] as number;
      const reason = doubt === DOUBT_UPGRADE ? 'upgrade' : doubt === DOUBT_BODY ? 'body' : 'head';
      socket.home.onUnsure(socket, Buffer.from(input.subarray(a, a + b)), reason, events[at + 5] as number);
      break;
    }
    case RAW:
      socket.foreign?.take(Buffer.from(input.subarray(a, a + b)));
      break;
    case IDLE:
      socket.home.onIdle(socket);
      break;
  }
}

function onBody(socket: ServerSocket, offset: number, length: number): void {
  socket.bytesRead += length;
  if (socket.timeout > 0) socket._unrefTimer();
  const request = socket.receiving;
  if (request === null || request._dumped) return;
  const chunk = Buffer.allocUnsafe(length);
  chunk.set(input.subarray(offset, offset + length));
  if (!request.push(chunk)) socket.pause();
}

function onEnd(socket: ServerSocket, offset: number, length: number): void {
  const request = socket.receiving;
  socket.receiving = null;
  socket.bytesRead += length;
  if (request === null) return;
  if (length > 0) {
    request.complete = true;
    const trailers = trailersOf(input.latin1Slice(offset, offset + length));
    request._addHeaderLines(trailers, trailers.length);
  }
  complete(request);
  if (socket.pausedReading && !socket._paused) socket.resume();
}
