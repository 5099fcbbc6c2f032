import { EventEmitter } from 'node:events';
import net from 'node:net';
import { nodeHttp } from '../node/node-http.js';
import { type Listener, nodeConnection, type SocketEvents } from '../node/node-internals.js';
import { isAssignSocketUnpatched } from '../node/node-methods.js';
import { emitClose } from '../node/response-close.js';
import type { Connection, HttpSocket } from '../state/connection.js';

/*
 * The listeners that Node's own code adds to each connection of a server. Applications find them, add others before and
 * after them, remove them, call them and add them again. A native connection works without them. When the application
 * reads its listeners, it gets listeners of the same names in the same order; they are Node's own if those work for it.
 */

/** Creates the replacements for a connection. After its fallback they call Node's own listeners. */
const replacements: Record<string, (connection: Connection, ...args: never[]) => void> = {
  data: function socketOnData(connection, bytes: Buffer) {
    if (connection.isFallback) forward(connection, 'data', bytes);
    else connection.nativeServer.fallBackForRawData(connection, bytes);
  },
  end: function socketOnEnd(connection) {
    if (connection.isFallback) forward(connection, 'end');
    else connection.nativeServer.onEnd(connection);
  },
  close: function socketOnClose(connection) {
    if (connection.isFallback) forward(connection, 'close');
    else connection.nativeServer.abort(connection);
  },
  drain: function socketOnDrain(connection) {
    if (connection.isFallback) forward(connection, 'drain');
    else connection.nativeServer.drain(connection);
  },
  // A native socket has started and stopped its reading itself.
  resume: function onSocketResume({ isStream, socket }) {
    if (isStream) socketOnResume?.call(socket);
  },
  pause: function onSocketPause({ isStream, socket }) {
    if (isStream) socketOnPause?.call(socket);
  },
};

function toListenerList(value: SocketEvents[string]): Listener[] {
  return value === undefined ? [] : typeof value === 'function' ? [value] : value;
}

/** Makes an array of listeners as `EventEmitter` does: newer versions store in it whether it is being called. */
function createListenerArray(listeners: readonly Listener[]): SocketEvents[string] {
  const emitter = new EventEmitter().setMaxListeners(0);
  for (const listener of listeners) emitter.on('any', listener as never);
  return (emitter as unknown as { _events: SocketEvents })._events.any;
}

/** A connection as Node sets it up, without a handle. */
const sample = new net.Socket() as net.Socket & { _events: SocketEvents };
nodeConnection.call(new nodeHttp.Server(), sample);
/** Its listeners: all events that it has a place for, in order. */
const ofNode = Reflect.ownKeys(sample._events).map(
  (event) => [event as string, toListenerList(sample._events[event])] as const,
);
/** The listener that each `net.Socket` has. */
export const [streamEnd] = sample.listeners('end') as Listener[];
const count = ofNode.filter(([, listeners]) => listeners.length > 0).length;
sample.destroy();

const [socketOnTimeout] = sample.listeners('timeout') as ((this: object) => void)[];
const [socketOnError] = sample.listeners('error') as ((this: object, error: Error) => void)[];
const [socketOnResume] = sample.listeners('resume') as ((this: object) => void)[];
const [socketOnPause] = sample.listeners('pause') as ((this: object) => void)[];

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
  const response = (this as HttpSocket)._httpMessage;
  if (response) emitClose(response);
};
// Not if the method was replaced: the replacement would see an object that is no response.
if (isAssignSocketUnpatched) {
  nodeHttp.ServerResponse.prototype.assignSocket.call(
    { emit() {}, _flush() {} } as never,
    {
      on(_event: string, listener: Listener) {
        onServerResponseClose = listener;
      },
    } as never,
  );
}

/** Creates the listeners that Node adds to a connection and for the response in progress. */
export function createListeners(connection: Connection): SocketEvents {
  const events: SocketEvents = Object.create(null);
  connection.replacedListeners = {};
  for (const [event, listeners] of ofNode) {
    const replacement = replacements[event]?.bind(undefined, connection) as Listener | undefined;
    if (replacement === undefined) {
      events[event] = listeners[0];
      continue;
    }
    connection.replacedListeners[event] = replacement;
    // Node's own HTTP listener comes last.
    const all = [...listeners.slice(0, -1), replacement];
    if (event === 'close' && connection.socket._httpMessage) all.push(onServerResponseClose);
    events[event] = all.length > 1 ? createListenerArray(all) : replacement;
  }
  connection.eventsCount = count;
  return events;
}

/** Whether the application has removed Node's listener for the bytes of a connection. */
export function hasRemovedDataListener({ socket, replacedListeners }: Connection): boolean {
  return (
    replacedListeners !== null &&
    !socket.listeners('data').includes(replacedListeners.data as never)
  );
}

/**
 * Puts Node's own listeners, which were just added to a connection, in the places of their replacements; those that the
 * application has removed stay removed.
 */
export function restoreListeners(connection: Connection, before: SocketEvents): void {
  const { socket, replacedListeners: replaced } = connection;
  if (replaced === null) return;
  const own: Record<string, Listener> = {};
  for (const [event, listeners] of Object.entries(socket._events)) {
    own[event] = toListenerList(listeners).at(-1) as Listener;
  }
  const events: SocketEvents = Object.create(null);
  let heard = 0;
  for (const event of Reflect.ownKeys(before) as string[]) {
    const all = toListenerList(before[event]).map((listener) =>
      listener === replaced[event] ? (own[event] as Listener) : listener,
    );
    events[event] = all.length > 1 ? createListenerArray(all) : all[0];
    if (all.length > 0) heard++;
  }
  socket._events = events;
  socket._eventsCount = heard;
  connection.nodeListeners = own;
}

/** Calls Node's own listener of a connection that fell back: the application may have kept its replacement. */
function forward({ socket, nodeListeners }: Connection, event: string, ...args: unknown[]): void {
  // Without a parser, Node has removed its listeners.
  if (socket.parser) nodeListeners?.[event]?.apply(socket, args as never[]);
}
