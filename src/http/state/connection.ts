import type { AsyncResource } from 'node:async_hooks';
import type { Native } from '../../native/addon.js';
import type {
  Incoming,
  kConnection,
  Listener,
  NodeSocket,
  Outgoing,
  SocketEvents,
} from '../node/node-internals.js';
import type { NativeServer } from './native-server.js';
import { NONE } from './none.js';
import { type Callback, SendState } from './send-state.js';

/** The socket of a connection, as the stack sees it. */
export type HttpSocket = NodeSocket & { [kConnection]: Connection };

/** Parses the rest of a connection in place of the reactor. */
export interface FallbackParser {
  /** The end of the stream is an error. */
  readonly expectsMore: boolean;
  /** Returns how many of these bytes belong to the body if it ends within them. */
  parse(bytes: Buffer, packet: Buffer): number | null;
  close?(): void;
}

export type Addresses = ReturnType<Native['stackAddresses']>;
export type PeerAddress = Addresses['remote'];

/** What `setKeepAlive` takes in place of its arguments, from Node 24 on. */
export interface KeepAliveOptions {
  enable?: boolean;
  initialDelay?: number;
  interval?: number | undefined;
  count?: number | undefined;
}

/** A method of a socket that adds a listener. */
export type ListenerMethod = (this: HttpSocket, ...args: never[]) => unknown;

/**
 * A connection that the reactor owns: what the stack knows of it, and what may be asked of it
 * (`connection/native-connection.ts`). Applications have its `socket`, which finds it under `kConnection`.
 */
export abstract class Connection extends SendState {
  /** Number in the reactor; -1 after the end. */
  id: number;
  readonly nativeServer: NativeServer;
  /** A `NativeSocket`, until something else than its members is used: then the same object is a `net.Socket` of Node's own. */
  socket!: HttpSocket;
  isStream = false;
  /** The listeners of a native socket, once the application may have read them; until then Node's own are assumed. */
  events: SocketEvents | null = null;
  eventsCount = 0;
  /** The replacements of Node's own listeners among them. */
  replacedListeners: Record<string, Listener> | null = null;
  /** Whether Node's own code has the connection, and its listeners, by event. */
  isFallback = false;
  nodeListeners: Record<string, Listener> | null = null;
  /** The methods by which that code lets listeners be added. */
  nodeListenerMethods: Record<string, ListenerMethod> | null = null;
  /** Options that the application has set on a native socket; otherwise they are the server's. */
  noDelay: boolean | null = null;
  keepAlive: KeepAliveOptions | null = null;
  /** The request whose body is being received. */
  receiving: Incoming | null = null;
  /** Unanswered requests, the oldest first. */
  incoming: Incoming[] = NONE;
  /** The last request that was answered before its end was emitted, until then. */
  ending: Incoming | null = null;
  /** Responses that wait for their turn, and their approximate size in bytes. */
  outgoing: Outgoing[] = NONE;
  outgoingData = 0;
  requestsCount = 0;
  /** Number of requests that the reactor has reported: the index of the next one. */
  requestIndex = 0;
  /** Whether the last response has been sent: what comes behind its request is no request. */
  isLastSent = false;
  /** Reads the rest of the connection in place of the reactor. */
  fallbackParser: FallbackParser | null = null;
  /** Whether bytes go to the socket as they come: Node's own code parses them. */
  isRaw = false;
  /** Whether the socket's timeout is the keep-alive time. */
  isKeepAliveTimeout = false;
  /** Whether the peer's side has ended within a message. */
  endedWithin = false;
  /** Handles an unusual request when the responses before it have been sent. */
  afterResponses: (() => void) | null = null;
  /** Whether the application, or a full request, has stopped the reading. */
  isPaused = false;
  /** Whether the peer's side has ended. */
  readableEnded = false;
  /** Our side of a native socket: `end()` was called, and it has taken effect. */
  writableEnded = false;
  writableFinished = false;
  destroysWhenFinished = false;
  /** Whether a native socket was destroyed; a stream keeps it itself. */
  isNativeDestroyed = false;
  isCloseEmitted = false;
  /** Index of the request whose timeout was reported; -1: none. */
  lateRequest = -1;
  /** Whether the server has handled an error. */
  failed = false;
  /** Whether the application wants it to keep the process alive, and whether it does. */
  isReferenced = true;
  keepsAlive = true;
  /** Address of the peer, if it was read before the end of the connection. */
  peer: PeerAddress = undefined;
  /** Stands for the bytes that waited to be sent when the socket became a stream. */
  backlog: Buffer | null = null;

  constructor(id: number, nativeServer: NativeServer) {
    super();
    this.id = id;
    this.nativeServer = nativeServer;
  }

  abstract readonly destroyed: boolean;
  /** Whether our side ends behind what was written. */
  abstract readonly endsSide: boolean;
  /** Whether the application may have listeners on the socket, or has replaced its `emit`. */
  abstract readonly isObserved: boolean;
  /** Whether a TLS handshake is in progress. */
  abstract readonly isHandshaking: boolean;
  /** Whether responses may go past the socket's stream: it has none yet, and our side is open. */
  abstract readonly canBypassStream: boolean;
  abstract getEvents(): SocketEvents;
  /** What a response calls when bytes of it begin to wait for the socket, or no longer do. */
  abstract readonly onPendingData: (delta: number) => void;

  /** The asynchronous context of the connection's own events. */
  abstract readonly nativeContext: AsyncResource;
  /** The context of the transport, and so of 'close'; over TLS it is that of the handle below. */
  abstract readonly transportContext: AsyncResource;
  /** The asynchronous context of what Node's parser reports. */
  abstract readonly requestsContext: AsyncResource;
  /** Runs `action` in the asynchronous context of the connection's requests, as Node's parser does with all it reports. */
  abstract inContext<A extends unknown[]>(action: (...args: A) => void, ...args: A): void;
  /** Sets the asynchronous context of further requests to the present one. */
  abstract enterContext(): void;
  /** Keeps the current context for callbacks and events that report later that bytes have been sent. */
  abstract keepContext(): void;
  /** The context of the last response, in which the end of the keep-alive time is reported. */
  abstract readonly idleContext: AsyncResource | null;
  abstract keepIdleContext(): void;
  /** Ends the asynchronous contexts: the connection is closed, or Node's. */
  abstract endContexts(): void;
  /** Puts the timers of the socket, and of the one below TLS, off: bytes have come or left. */
  abstract refreshTimer(): void;

  abstract readonly bytesRead: number;
  abstract readonly bytesWritten: number;
  /** As in Node, a socket that is gone has its peer's address if it was asked for before, and none of its own. */
  abstract readonly remote: PeerAddress;
  /** The peer's address while the connection is open. */
  abstract readonly openRemote: PeerAddress;
  abstract readonly local: Addresses['local'];
  abstract setNoDelay(on: boolean): void;
  abstract setKeepAlive(options: KeepAliveOptions): void;
  abstract setReferenced(isReferenced: boolean): void;
  abstract setPaused(isPaused: boolean): void;

  abstract cork(): void;
  abstract uncork(): void;
  /** Counts what was written in this turn, as a stream does, even if it has been sent by now; `false`: wait for 'drain'. */
  abstract recordWrite(bytes: number): boolean;
  /** Nothing that was written waits any more; through TLS it waits until that is reported. */
  abstract resetWritten(): void;
  /** Reads the number of waiting bytes from the reactor, including responses from the cache. */
  abstract countQueued(): void;
  /** Calls back when all bytes written so far have been sent. */
  abstract afterWrite(callback: Callback): void;
  /** Handles the reactor's result for an entry of the batch. */
  abstract onBatchSent(result: number, count: number): void;
  /** Handles the reactor's result of a send: the number of waiting bytes, or a negative error number. */
  abstract onSent(result: number, count: number): void;

  /** Ends our side after the bytes that were written. */
  abstract end(): void;
  abstract destroySoon(): void;
  abstract destroy(): void;
  /** Closes the connection of a stream that is destroyed. */
  abstract closeStream(reset: boolean, error: Error | null): void;
  /** Closes the connection in the reactor. */
  abstract close(reset: boolean): void;
  /** Closes the socket below TLS, after this one's handle: of two handles libuv closes the later one first. */
  abstract closeBelow(): void;
}
