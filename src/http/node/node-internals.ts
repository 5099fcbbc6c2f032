import type http from 'node:http';
import net, { type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { nodeHttp } from './node-http.js';

/**
 * What Node keeps on its own objects and does not declare. Everything here exists on Node 20 to 26;
 * what some versions lack is optional.
 */
export interface OutgoingInternals {
  _header: string | null;
  _headerSent: boolean;
  _hasBody: boolean;
  _contentLength: number | null;
  _last: boolean;
  _closed: boolean;
  _trailer: string;
  _expect_continue: boolean;
  _sent100: boolean;
  _keepAliveTimeout: number;
  _maxRequestsPerSocket: number;
  _onPendingData: (delta: number) => void;
  maxRequestsOnConnectionReached: boolean;
  outputData: unknown[];
  outputSize: number;
  destroyed: boolean;
  finished: boolean;
  socket: Socket | null;
  _finish(): void;
  _flush(): void;
  _implicitHeader(): void;
  _eventsCount: number;
}

export type Outgoing = Omit<http.ServerResponse, keyof OutgoingInternals> & OutgoingInternals;

export interface IncomingInternals {
  _consuming: boolean;
  _dumped: boolean;
  _dump(): void;
  _eventsCount: number;
  _readableState: {
    ended: boolean;
    endEmitted: boolean;
    resumeScheduled: boolean;
    flowing: boolean | null;
    closed: boolean;
    closeEmitted: boolean;
    destroyed: boolean;
    length: number;
    /** Where it goes, see `pipe`. */
    pipes: unknown[];
  };
  upgrade: boolean;
  joinDuplicateHeaders: boolean;
  _addHeaderLines(headers: string[], n: number): void;
}

export type Incoming = Omit<http.IncomingMessage, keyof IncomingInternals> & IncomingInternals;

/** A listener. */
export type Listener = (this: unknown, ...args: never[]) => void;
export type SocketEvents = Record<string | symbol, Listener | Listener[] | undefined>;

/** What Node keeps on the sockets of a server. */
export interface SocketInternals {
  _events: SocketEvents;
  _eventsCount: number;
  _handle: object | null;
  _httpMessage: Outgoing | null | undefined;
  _parent: object | null;
  _paused: boolean;
  _server: net.Server | null;
  server: net.Server;
  /** Kept after the handle is closed. */
  _peername?: object;
  parser: object | null;
  timeout: number | undefined;
  emit(event: string | symbol, ...args: unknown[]): boolean;
  _unrefTimer(): void;
  _onTimeout(): void;
  [key: symbol]: unknown;
}

/** A socket of a server's connection. */
export type NodeSocket = Omit<net.Socket, keyof SocketInternals> & SocketInternals;

export interface ServerInternals {
  _events: Record<string, unknown>;
  _handle: object | null;
  _pipeName?: string;
  _connections: number;
  _unref: boolean;
  _emitCloseIfDrained(): void;
  _listen2(...args: unknown[]): void;
  joinDuplicateHeaders?: boolean;
  allowHalfOpen: boolean;
  httpAllowHalfOpen: boolean;
  requireHostHeader: boolean;
  rejectNonStandardBodyWrites: boolean;
  connectionsCheckingInterval: number;
  insecureHTTPParser?: boolean;
  httpValidation?: string;
  blockList?: object;
  pauseOnConnect?: boolean;
  maxHeaderSize?: number;
  keepAliveTimeoutBuffer?: number;
  noDelay: boolean;
  keepAlive: boolean;
  keepAliveInitialDelay: number;
  highWaterMark?: number;
  shouldUpgradeCallback?(req: http.IncomingMessage): boolean;
  [key: symbol]: unknown;
}

export type HttpServer = http.Server & ServerInternals;

/** Runs what waits for the end of a callback: ticks and microtasks. */
export const drainTicks = ((): (() => void) => {
  const drain = (process as unknown as { _tickCallback(): void })._tickCallback;
  // With `--pending-deprecation` it is wrapped in a warning that is not the application's.
  const wrapped: unknown = Object.getPrototypeOf(drain);
  return wrapped === Function.prototype ? drain : (wrapped as () => void);
})();

/** Node's own handling of a connection: the listener that every `http.Server` has for 'connection'. */
export const nodeConnection = (
  nodeHttp as unknown as { _connectionListener(this: http.Server, socket: Duplex): void }
)._connectionListener;

/** A key that Node keeps on this object, found by its description; `undefined` where it has none. */
export function internalKey(object: object, description: string): symbol | undefined {
  return Object.getOwnPropertySymbols(object).find((key) => key.description === description);
}

/** Node's own module of incoming messages. */
const incomingModule = process.getBuiltinModule('_http_incoming') as { getRawHeader?: unknown };

/** Whether Node creates `headers` of each request to look for Host. From 26.12 on it looks in `rawHeaders`. */
export const readsHeaders = incomingModule.getRawHeader === undefined;

/** Node's own module of outgoing messages. */
const outgoingModule = process.getBuiltinModule('_http_outgoing') as { kUniqueHeaders?: symbol };

/** No response, as channels would report one. */
const probe = new nodeHttp.OutgoingMessage();

function outgoingKey(description: string): symbol {
  return internalKey(probe, description) ?? Symbol(description);
}

/** Marks a response that owes a 'drain'. */
export const kNeedDrain = outgoingKey('kNeedDrain');
/** A response's own count of `cork` calls. */
export const kCorked = outgoingKey('corked');
/** Throw for a body where there must be none. */
export const kRejectBody = outgoingKey('kRejectNonStandardBodyWrites');
/** Chunks of a corked response; Node 22 and later. */
export const kChunkedBuffer = internalKey(probe, 'kChunkedBuffer');
export const kChunkedLength = internalKey(probe, 'kChunkedLength');
/** Whether all bytes are sent, and the callbacks that wait for that; Node 26. */
export const kWritableFinished = internalKey(probe, 'kWritableFinished');
export const kEndCallbacks = outgoingKey('kEndCallbacks');
/** Fields set with `setHeader`, by lower-case name; null if there are none. */
export const kOutHeaders = outgoingKey('kOutHeaders');
/** Header fields that are never repeated. */
export const kUniqueHeaders: symbol = outgoingModule.kUniqueHeaders ?? Symbol('kUniqueHeaders');
/** The native connection of a socket or a response. */
export const kConnection: unique symbol = Symbol('millrace.connection');

const socketProbe = new net.Socket();
function socketKey(description: string): symbol {
  return internalKey(socketProbe, description) ?? Symbol(description);
}
/** The timer of `setTimeout`. */
export const kTimeout = socketKey('timeout');
/** The bytes that waited to be sent when this was looked at last. */
export const kLastWriteQueueSize = socketKey('lastWriteQueueSize');
