import { EventEmitter } from 'node:events';
import net from 'node:net';
import type { ServerSocket } from '../connection/socket.js';
import { nodeHttp } from '../install/node-http.js';
import { nodeConnection } from '../install/node-internals.js';
import { assigns } from '../install/node-methods.js';
import { emitClose } from '../request/exchange.js';

/*
 * The listeners that Node's own code adds to each connection of a server. Applications find them, add others before and
 * after them, remove them, call them and add them again. A native connection works without them. When the application
 * reads its listeners, it gets listeners of the same names in the same order; they are Node's own if those work for it.
 */

type Listener = (this: unknown, ...args: never[]) => void;
export type Events = Record<string | symbol, Listener | Listener[] | undefined>;
/** Replacements of Node's own listeners of a connection, by event. */
export type StandIns = Record<string, Listener>;

/** Creates the replacements for a connection. After its fallback they call Node's own listeners. */
const perConnection: Record<string, (socket: ServerSocket, ...args: never[]) => void> = {
  data: function socketOnData(socket, bytes: Buffer) {
    if (!forward(socket, 'data', bytes)) socket.nativeServer.wantsBytes(socket, bytes);
  },
  end: function socketOnEnd(socket) {
    if (!forward(socket, 'end')) socket.nativeServer.onEnd(socket);
  },
  close: function socketOnClose(socket) {
    if (!forward(socket, 'close')) socket.nativeServer.abort(socket);
  },
  drain: function socketOnDrain(socket) {
    if (!forward(socket, 'drain')) socket.nativeServer.drain(socket);
  },
};

/**
 * Replacements of the listeners that start and stop a handle, and that replace `write` when the peer has ended its
 * side.
 */
const idle: Record<string, Listener> = {
  end: function onReadableStreamEnd() {},
  resume: function onSocketResume() {},
  pause: function onSocketPause() {},
};

function toListenerList(value: Events[string]): Listener[] {
  return value === undefined ? [] : typeof value === 'function' ? [value] : value;
}

/** Makes an array of listeners as `EventEmitter` does: newer versions store in it whether it is being called. */
function listed(listeners: readonly Listener[]): Events[string] {
  const emitter = new EventEmitter().setMaxListeners(0);
  for (const listener of listeners) emitter.on('any', listener as never);
  return (emitter as unknown as { _events: Events })._events.any;
}

/** A connection as Node sets it up, without a handle. */
const sample = new net.Socket() as net.Socket & { _events: Events };
nodeConnection.call(new nodeHttp.Server(), sample);
/** Its listeners: all events that it has a place for, in order. */
const ofNode = Reflect.ownKeys(sample._events).map(
  (event) => [event as string, toListenerList(sample._events[event])] as const,
);
const count = ofNode.filter(([, listeners]) => listeners.length > 0).length;
sample.destroy();

const [socketOnTimeout] = sample.listeners('timeout') as ((this: object) => void)[];
const [socketOnError] = sample.listeners('error') as ((this: object, error: Error) => void)[];

/** Handles a timeout without another listener as Node does. */
export function nodeTimeout(socket: object): void {
  socketOnTimeout?.call(socket);
}

/**
 * Handles an error as Node does: 'clientError' decides; without a listener the default error response is sent and the
 * connection closed.
 */
export function nodeError(socket: object, error: Error): void {
  socketOnError?.call(socket, error);
}

/** The listener that reports the end of the connection to its response. */
let onServerResponseClose: Listener = function onServerResponseClose(this: unknown) {
  const response = (this as ServerSocket)._httpMessage;
  if (response) emitClose(response);
};
// Not if the method was replaced: the replacement would see an object that is no response.
if (assigns) {
  nodeHttp.ServerResponse.prototype.assignSocket.call(
    { emit() {}, _flush() {} } as never,
    {
      on(_event: string, listener: Listener) {
        onServerResponseClose = listener;
      },
    } as never,
  );
}

/** Builds the listeners that Node adds to a connection and for the response in progress. */
export function nodeListeners(socket: ServerSocket): Events {
  const events: Events = Object.create(null);
  for (const [event, listeners] of ofNode) {
    events[event] = listeners.length > 0 ? (idle[event] ?? listeners[0]) : undefined;
  }
  socket.standIns = {};
  for (const [event, listeners] of ofNode) {
    const standIn = perConnection[event]?.bind(undefined, socket) as Listener | undefined;
    if (standIn === undefined) continue;
    socket.standIns[event] = standIn;
    // Node's own HTTP listener comes last.
    const others = listeners.slice(0, -1).map((listener) => idle[event] ?? listener);
    const all = [...others, standIn];
    if (event === 'close' && socket._httpMessage !== null) all.push(onServerResponseClose);
    events[event] = all.length > 1 ? listed(all) : standIn;
  }
  socket._eventsCount = count;
  return events;
}

/** Whether the application has removed Node's listener for the bytes of a connection. */
export function isTakenOver(socket: ServerSocket): boolean {
  const { standIns } = socket;
  return standIns !== null && !socket.listeners('data').includes(standIns.data as never);
}

/**
 * Puts Node's own listeners, which were just added to a connection, in the places of their replacements; those that the
 * application has removed stay removed.
 */
export function takePlaces(ordinary: net.Socket, before: Events, standIns: StandIns): void {
  const emitter = ordinary as unknown as { _events: Events; _eventsCount: number };
  const own: StandIns = {};
  const first: StandIns = {};
  for (const [event, listeners] of Object.entries(emitter._events)) {
    own[event] = toListenerList(listeners).at(-1) as Listener;
    first[event] = toListenerList(listeners)[0] as Listener;
  }
  const events: Events = Object.create(null);
  let heard = 0;
  for (const event of Reflect.ownKeys(before) as string[]) {
    const all = toListenerList(before[event]).map((listener) => {
      if (listener === standIns[event]) return own[event] as Listener;
      return listener === idle[event] ? (first[event] as Listener) : listener;
    });
    events[event] = all.length > 1 ? listed(all) : all[0];
    if (all.length > 0) heard++;
  }
  emitter._events = events;
  emitter._eventsCount = heard;
  nodeListenersByStandIns.set(standIns, own);
}

/** Node's own listeners of connections that fell back, by their replacements. */
const nodeListenersByStandIns = new WeakMap<StandIns, StandIns>();

/**
 * Calls Node's own listener of a connection that fell back: the application may have kept its replacement. Returns
 * whether it fell back.
 */
function forward(socket: ServerSocket, event: string, ...args: unknown[]): boolean {
  const { standIns } = socket;
  const listener = standIns && nodeListenersByStandIns.get(standIns)?.[event];
  if (!listener) return false;
  // Without a parser, Node has removed its listeners.
  if (socket.parser) listener.apply(socket, args as never[]);
  return true;
}
