import { EventEmitter } from 'node:events';
import net from 'node:net';
import { inspect } from 'node:util';
import {
  kConnection,
  kLastWriteQueueSize,
  kTimeout,
  type SocketEvents,
} from '../node/node-internals.js';
import type { Connection, HttpSocket, KeepAliveOptions } from '../state/connection.js';
import { seconds, TAKES_OPTIONS } from './keep-alive.js';
import { getParser } from './lent-parser.js';
import { isWithinTimeout } from './progress.js';
import {
  becomeStream,
  fallBackForDataListener,
  getListenerMethod,
  setEncoding,
} from './stream-socket.js';

type Self = HttpSocket;
type Method = (this: Self, ...args: never[]) => unknown;

/**
 * The members that servers use for each connection or request, and that need no stream. **This table is all that the
 * stack imitates of `net.Socket`**; using any other member makes the socket a `net.Socket` of Node's own
 * (`becomeStream`). `test/integration/stack/connection/native-members.test.js` compares each with Node's.
 */
const getters: Record<string, (this: Self) => unknown> = {
  destroyed() {
    return this[kConnection].isNativeDestroyed;
  },
  closed() {
    return this[kConnection].isNativeDestroyed;
  },
  writable() {
    const connection = this[kConnection];
    return !connection.isNativeDestroyed && !connection.writableEnded;
  },
  readable() {
    const connection = this[kConnection];
    return !connection.isNativeDestroyed && !connection.readableEnded;
  },
  // What is appended counts as sent, as small writes leave at once with Node, unless the socket is corked or of TLS.
  writableLength() {
    const { corked, bytesSinceDrain, queued, nativeServer } = this[kConnection];
    return corked > 0 || nativeServer.isSecure ? bytesSinceDrain : queued;
  },
  writableHighWaterMark() {
    return this[kConnection].nativeServer.highWaterMark;
  },
  /** `http.IncomingMessage` takes it over. */
  readableHighWaterMark() {
    return this[kConnection].nativeServer.highWaterMark;
  },
  writableCorked() {
    return this[kConnection].corked;
  },
  bytesRead() {
    return this[kConnection].bytesRead;
  },
  bytesWritten() {
    return this[kConnection].bytesWritten;
  },
  parser() {
    return getParser(this[kConnection]);
  },
};

const methods: Record<string, Method> = {
  /** Node's getters of addresses call these. */
  _getpeername() {
    return this[kConnection].remote ?? {};
  },
  _getsockname() {
    return this[kConnection].local ?? {};
  },
  on(event: string | symbol, listener: never) {
    if (fallBackForDataListener(this[kConnection], event))
      return this.on(event as string, listener);
    return EventEmitter.prototype.on.call(this, event, listener);
  },
  prependListener(event: string | symbol, listener: never) {
    if (fallBackForDataListener(this[kConnection], event))
      return this.prependListener(event as string, listener);
    return EventEmitter.prototype.prependListener.call(this, event, listener);
  },
  removeListener: EventEmitter.prototype.removeListener as Method,
  removeAllListeners: EventEmitter.prototype.removeAllListeners as Method,
  /** Node's code for responses calls these two. */
  cork() {
    this[kConnection].cork();
  },
  uncork() {
    this[kConnection].uncork();
  },
  setEncoding,
  pause() {
    const connection = this[kConnection];
    if (!connection.isPaused) {
      connection.setPaused(true);
      this.emit('pause');
    }
    return this;
  },
  resume() {
    const connection = this[kConnection];
    if (connection.isPaused) {
      connection.setPaused(false);
      process.nextTick(emitResume, this);
    }
    return this;
  },
  setNoDelay(on: boolean = true) {
    const connection = this[kConnection];
    connection.noDelay = Boolean(on);
    connection.setNoDelay(connection.noDelay);
    return this;
  },
  setKeepAlive(
    enable: boolean | KeepAliveOptions = false,
    initialDelay = 0,
    interval?: number,
    count?: number,
  ) {
    let options: KeepAliveOptions = { enable: enable as boolean, initialDelay, interval, count };
    if (TAKES_OPTIONS && enable !== null && typeof enable === 'object') options = enable;
    const delayMs = seconds(options.initialDelay) * 1000;
    const connection = this[kConnection];
    connection.keepAlive = { enable: Boolean(options.enable), initialDelay: delayMs };
    connection.setKeepAlive(options);
    return this;
  },
  ref() {
    this[kConnection].setReferenced(true);
    return this;
  },
  unref() {
    this[kConnection].setReferenced(false);
    return this;
  },
  destroySoon() {
    const connection = this[kConnection];
    if (connection.isObserved) return ofStream(this, 'destroySoon').call(this);
    connection.destroySoon();
    return undefined;
  },
  destroy(error?: Error) {
    const connection = this[kConnection];
    if (connection.isNativeDestroyed) return this;
    if (error || connection.isObserved) return ofStream(this, 'destroy').call(this, error as never);
    connection.destroy();
    return this;
  },
  _onTimeout() {
    if (!isWithinTimeout(this[kConnection])) ofStream(this, '_onTimeout').call(this);
  },
};
methods.addListener = methods.on as Method;
methods.off = methods.removeListener as Method;

function emitResume(socket: Self): void {
  socket.emit('resume');
}

/** A method of the stream that the socket becomes. */
function ofStream(socket: Self, name: string | symbol): Method {
  const stream = becomeStream(socket[kConnection]);
  return Reflect.get(Object.getPrototypeOf(stream), name, socket) as Method;
}

/**
 * Gives a method of the table to the stream once the socket is one: an application that has wrapped the method on an object calls
 * it later, too.
 */
function untilStream(name: string, method: Method): Method {
  const value: Method = function (...args) {
    if (!this[kConnection].isStream) return method.apply(this, args);
    return (getListenerMethod(this[kConnection], name) ?? ofStream(this, name)).apply(this, args);
  };
  Object.defineProperty(value, 'name', { value: method.name });
  Object.defineProperty(value, 'length', { value: method.length });
  return value;
}

/** Members of Node's own that work on a socket without a stream. */
const WORKS = new Set<string | symbol>([
  ...['constructor', 'address', 'setTimeout', '_unrefTimer'],
  ...['remoteAddress', 'remotePort', 'remoteFamily', 'localAddress', 'localPort', 'localFamily'],
]);
/** Fields that a native socket has, or whose absence Node's code for emitters and timers takes for their default. */
const FIELDS = new Set<string | symbol>([
  ...['server', '_server', '_parent', '_maxListeners'],
  ...[kTimeout, kLastWriteQueueSize],
]);
const FIELD_DESCRIPTIONS = new Set(['kCapture', 'shapeMode']);

/**
 * Creates the prototype of the native sockets, above `base`: `net.Socket.prototype` or one of TLS, with further members. Members of
 * `base` that are not in the table, and fields that its constructor sets, make the socket a stream.
 */
export function createNativePrototype(base: object, more: PropertyDescriptorMap = {}): object {
  const prototype = Object.create(base, { ...tableMembers(base), ...more });
  for (let from: object = base; from !== EventEmitter.prototype; ) {
    for (const key of Reflect.ownKeys(from)) {
      if (WORKS.has(key) || Object.hasOwn(prototype, key) || isUpdateTimer(key)) continue;
      defineTrap(prototype, key, Object.getOwnPropertyDescriptor(from, key) as PropertyDescriptor);
    }
    from = Object.getPrototypeOf(from);
  }
  for (const key of Reflect.ownKeys(new net.Socket())) {
    const isField = FIELDS.has(key) || FIELD_DESCRIPTIONS.has((key as symbol).description ?? '');
    if (!isField && !Object.hasOwn(prototype, key))
      defineTrap(prototype, key, { value: undefined });
  }
  return prototype;
}

function isUpdateTimer(key: string | symbol): boolean {
  return typeof key === 'symbol' && key.description === 'kUpdateTimer';
}

/** A method calls the stream's; anything else is read from the stream, or written to it. */
function defineTrap(prototype: object, key: string | symbol, node: PropertyDescriptor): void {
  const { enumerable = true } = node;
  if (typeof node.value === 'function') {
    const value = function (this: Self, ...args: unknown[]) {
      return (ofStream(this, key) as (...args: unknown[]) => unknown).apply(this, args);
    };
    Object.defineProperty(value, 'name', { value: node.value.name });
    Object.defineProperty(value, 'length', { value: node.value.length });
    Object.defineProperty(prototype, key, {
      value,
      enumerable,
      writable: true,
      configurable: true,
    });
    return;
  }
  Object.defineProperty(prototype, key, {
    get(this: Self) {
      return Reflect.get(becomeStream(this[kConnection]), key, this);
    },
    ...((node.set || !node.get) && { set: overwrite(key) }),
    enumerable,
    configurable: true,
  });
}

function tableMembers(base: object): PropertyDescriptorMap {
  const descriptors: PropertyDescriptorMap = {};
  for (const [name, get] of Object.entries(getters)) {
    const set = isSettable(base, name) && { set: overwrite(name) };
    descriptors[name] = { get, ...set, configurable: true, enumerable: true };
  }
  for (const [name, method] of Object.entries(methods)) {
    const value = untilStream(name, method);
    descriptors[name] = { value, writable: true, configurable: true, enumerable: true };
  }
  descriptors._events = {
    get(this: Self) {
      return this[kConnection].getEvents();
    },
    set(this: Self, events: SocketEvents) {
      this[kConnection].events = events;
    },
    configurable: true,
  };
  descriptors._eventsCount = {
    get(this: Self) {
      const connection = this[kConnection];
      connection.getEvents();
      return connection.eventsCount;
    },
    set(this: Self, count: number) {
      this[kConnection].eventsCount = count;
    },
    configurable: true,
  };
  Object.assign(descriptors, {
    [inspect.custom]: {
      value(this: Self, _depth: number, options: object, inspectValue: typeof inspect) {
        return inspectValue(becomeStream(this[kConnection]), options);
      },
      configurable: true,
    },
  });
  return descriptors;
}

/** Whether Node lets applications set what it has a getter for, or a field. */
function isSettable(base: object, name: string): boolean {
  for (let from: object | null = base; from; from = Object.getPrototypeOf(from)) {
    const descriptor = Object.getOwnPropertyDescriptor(from, name);
    if (descriptor) return descriptor.set !== undefined;
  }
  return true;
}

/** Setting a getter of Node's does what the stream makes of it. */
function overwrite(name: string | symbol): (this: Self, value: unknown) => void {
  return function (value) {
    Reflect.set(becomeStream(this[kConnection]), name, value, this);
  };
}

export type NativeSocketClass = new (connection: Connection) => HttpSocket;

/** Creates the class of the native sockets whose prototype is this one. */
export function createNativeSocketClass(prototype: object): NativeSocketClass {
  function NativeSocket(this: HttpSocket, connection: Connection) {
    const { server } = connection.nativeServer;
    this[kConnection] = connection;
    this.server = server;
    this._server = server;
    this._parent = null;
    this._paused = false;
    this._httpMessage = undefined;
  }
  NativeSocket.prototype = prototype;
  return NativeSocket as unknown as NativeSocketClass;
}
