import { subscribe } from 'node:diagnostics_channel';
import type { ClientHttp2Stream } from 'node:http2';
import { isIP, type Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { countMovedBytes } from '../../outbound/byte-counts.js';
import { createUndiciError, type DeadlineFacts, type WaitingFor } from '../../outbound/errors.js';
import { EXEMPT } from '../../outbound/exemption.js';
import {
  findConnection,
  isReadingPaused,
  isWaitingToWrite,
  rememberConnection,
} from '../../outbound/undici-connections.js';
import { readInternal } from '../../outbound/undici-internals.js';
import { hasSignalTimeout, takeSignalTimeout, UNKNOWN_TIMEOUT } from '../call/abort-signals.js';
import { type ApplicationLimits, type CallStage, LimitedCall } from '../call/call.js';
import { findStreamingHint, RecordDetector, type StreamingHint } from '../call/streaming-bodies.js';
import { findUrlHost } from '../host-name.js';
import type { Host, Hosts } from '../hosts.js';
import { endPendingConnections } from '../http/connects.js';
import { getSocketPath } from '../http/socket-paths.js';
import { findClientWithRequest, rememberClient } from './clients.js';
import { findField } from './fields.js';
import { awaitWrapper, findHandler, patchHandlerWrapper } from './handlers.js';
import { recordRedirect, takeRedirectTimeout } from './redirects.js';
import {
  findTracker,
  type HeaderFields,
  type RequestTracker,
  trackRequest,
  type UndiciRequest,
} from './request-tracking.js';
import {
  addStreams,
  closeConnection,
  countStreams,
  destroyStream,
  findSession,
  isStreamWaitingToWrite,
  observeSession,
} from './streams.js';
import { allowUnreadBody } from './unread-bodies.js';

interface ClientMessage {
  request: UndiciRequest;
  socket?: Socket;
}

/** undici's default for `headersTimeout` and `bodyTimeout`. */
const UNDICI_DEFAULT_TIMEOUT_MS = 300_000;

/** Limits all requests of all copies of undici begun from now on, including those of `fetch`. */
export function limitUndici(hosts: Hosts): void {
  activeHosts = hosts;
  awaitWrapper();
  const origins = new HostsByOrigin(hosts);
  subscribeTo('undici:request:create', ({ request }) => {
    const ofSignal = hasSignalTimeout() ? takeSignalTimeout('undici', isFetchRequest(request)) : 0;
    const signalTimeout = ofSignal || takeRedirectTimeout(request);
    const host = findCalledHost(request);
    const called = host === undefined ? origins.find(request.origin) : hosts.find(host);
    trackRequest(request, new UndiciCall(called, request, signalTimeout));
  });
  subscribeTo('undici:client:connected', ({ socket }) => {
    // The application may have chosen the dispatcher of another copy.
    patchHandlerWrapper();
    if (socket === undefined) return;
    // Calls over a socket in the file system get its limits at once.
    if (getSocketPath(socket) !== undefined) subscribeToSends();
    if (!observeStreams(socket)) rememberConnection(socket);
    const client = readInternal(socket, 'client');
    if (hasClientLimit(client)) rememberClient(client);
  });
}

function subscribeTo(channel: string, react: (message: ClientMessage) => void): void {
  subscribe(channel, react as (message: unknown) => void);
}

/**
 * Finds the host that the application calls where it is not that of the request's origin: a proxy is asked for a URL
 * or a tunnel, and an interceptor that looks up names puts an address into the origin and the name into Host.
 */
function findCalledHost({ method, path, host, origin }: UndiciRequest): string | undefined {
  if (method === 'CONNECT') return findUrlHost(`http://${path}`);
  if (!path.startsWith('/')) return findUrlHost(path);
  if (!host) return undefined;
  const name = findUrlHost(`http://${host}`);
  return name !== undefined && isAddress(findUrlHost(String(origin))) ? name : undefined;
}

/** Whether the host of a URL is an address. */
function isAddress(host = ''): boolean {
  return isIP(host) !== 0 || host.startsWith('[');
}

/** The hosts of all calls, once these have limits. */
let activeHosts: Hosts | null = null;
let isSubscribedToSends = false;

/**
 * Subscribes to each request that is sent: needed where something has to be done at once, and where a connection is
 * not found otherwise.
 */
function subscribeToSends(): void {
  const hosts = activeHosts;
  if (isSubscribedToSends || hosts === null) return;
  isSubscribedToSends = true;
  subscribeTo('undici:client:sendHeaders', ({ request, socket }) => {
    const call = findCall(request);
    if (socket === undefined) return;
    if (!observeStreams(socket)) call?.onConnection(socket);
    const path = getSocketPath(socket);
    if (path !== undefined) call?.moveTo(hosts.find(path));
  });
}

/** Observes the streams of a connection, if it is one of HTTP/2. */
function observeStreams(socket: Socket): boolean {
  const session = findSession(socket);
  if (session === undefined) return false;
  observeSession(session, (request, stream) => findCall(request)?.onStream(stream, socket));
  return true;
}

/** Hosts by origin, so that each URL is parsed once. */
class HostsByOrigin {
  readonly #hosts: Hosts;
  readonly #byOrigin = new Map<unknown, Host>();
  #lastOrigin: unknown;
  #last: Host | null = null;

  constructor(hosts: Hosts) {
    this.#hosts = hosts;
  }

  find(origin: unknown): Host {
    if (this.#last !== null && origin === this.#lastOrigin) return this.#last;
    this.#last = this.#byOrigin.get(origin) ?? this.#add(origin);
    this.#lastOrigin = origin;
    return this.#last;
  }

  #add(origin: unknown): Host {
    const text = String(origin);
    const host = this.#hosts.find(URL.canParse(text) ? new URL(text).hostname : text);
    if (typeof origin === 'string' && this.#byOrigin.size < 1000) this.#byOrigin.set(origin, host);
    return host;
  }
}

class UndiciCall extends LimitedCall implements RequestTracker {
  /** The application's own timeout in milliseconds, as its signal tells; 0: unknown. */
  declare private readonly signalTimeout: number;
  declare private readonly request: UndiciRequest;
  declare private socket: Socket | null;
  /** Headers of the response. */
  declare private headers: HeaderFields | null;
  /** Its stream, if it is a call by HTTP/2, whose connection may have others. */
  declare private stream: ClientHttp2Stream | null;
  /** Detects records in the body, where the headers cannot tell. */
  declare private records: RecordDetector | null;

  constructor(host: Host, request: UndiciRequest, signalTimeout: number) {
    super(host);
    this.request = request;
    this.signalTimeout = signalTimeout;
    this.socket = null;
    this.headers = null;
    this.stream = null;
    this.records = null;
  }

  protected get by() {
    return 'undici' as const;
  }

  onConnection(socket: Socket): void {
    this.socket = socket;
  }

  /** Called with each stream of the call: undici sends it again if its connection is refused. */
  onStream(stream: ClientHttp2Stream, socket: Socket): void {
    if (!this.isScheduled) return;
    this.leaveStream();
    this.stream = stream;
    this.socket = socket;
    addStreams(socket, 1);
  }

  override end(): void {
    if (this.isScheduled) this.leaveStream();
    super.end();
  }

  private leaveStream(): void {
    if (this.stream !== null && this.socket !== null) addStreams(this.socket, -1);
  }

  onHeaders(status: number, fields: HeaderFields): void {
    if (status >= 200) this.headers = fields;
    if (this.signalTimeout > 0) recordRedirect(this.request, status, fields, this.signalTimeout);
  }

  /**
   * Finds the connection of the request. One that was open before this module was loaded cannot be found; the next
   * requests on it are reported by undici.
   */
  private findConnection(): void {
    if (this.socket !== null && !this.socket.destroyed) return;
    this.socket = findConnection(this.request) ?? this.socket;
    if (this.socket === null && this.request.abort) subscribeToSends();
  }

  protected findStage(): CallStage {
    const { request, headers } = this;
    if (request.completed || request.aborted) return 'ended';
    this.findConnection();
    const { socket } = this;
    const hint = this.findStreamingHint();
    if (hint === 'unbounded') return 'unbounded';
    if (socket === null && !request.abort) return 'waiting';
    if (this.isWaitingToWrite()) return 'application';
    if (headers === null) return 'headers';
    if (isUnread(request) || this.isPaused()) return 'application';
    return hint ?? 'body';
  }

  /** Whether the peer has received all that the application has written so far, and more is to come. */
  private isWaitingToWrite(): boolean {
    const { socket, stream, request } = this;
    if (stream !== null) return Boolean(request.body) && isStreamWaitingToWrite(stream);
    return socket !== null && isWaitingToWrite(socket);
  }

  /** Whether the application does not read what has arrived. */
  private isPaused(): boolean {
    const { socket, stream } = this;
    if (stream !== null) return stream.isPaused();
    return socket !== null && isReadingPaused(socket);
  }

  private findStreamingHint(): StreamingHint {
    const { headers, request } = this;
    if (headers === null) return null;
    const type = findField(headers, 'content-type');
    const length = findField(headers, 'content-length');
    const hint = findStreamingHint({ type, length, path: request.path });
    if (hint !== null || length !== undefined) return hint;
    this.records ??= observeChunks(request);
    return this.records.hasRecords ? 'records' : null;
  }

  /** `NaN`, which equals nothing, where its connection is not known: then only the total applies. */
  protected countBytes(): number {
    const { socket, headers } = this;
    return socket === null ? Number.NaN : countMovedBytes(socket) + (headers ? 0.5 : 0);
  }

  protected readApplicationLimits(): ApplicationLimits {
    const { request, socket, signalTimeout } = this;
    if (signalTimeout === UNKNOWN_TIMEOUT || isExemptRequest(request)) return { total: true };
    const client =
      socket === null ? findClientWithRequest(request) : readInternal(socket, 'client');
    const limits: ApplicationLimits = {};
    const headers = request.headersTimeout ?? readClientLimit(client, 'headers timeout');
    const idle = request.bodyTimeout ?? readClientLimit(client, 'body timeout');
    if (headers !== undefined || signalTimeout > 0)
      limits.headers = extendLimit(headers, signalTimeout);
    if (idle !== undefined || signalTimeout > 0) limits.idle = extendLimit(idle, signalTimeout);
    return limits;
  }

  protected createError(facts: DeadlineFacts, waitingFor: WaitingFor): Error {
    return createUndiciError(facts, waitingFor, 'millrace/deadlines');
  }

  /** Ends the request and its HTTP/1 connection, or removes the request from its queue. */
  protected fail(error: Error, isSilent: boolean): void {
    const { request, socket } = this;
    allowUnreadBody(error);
    if (request.abort) request.abort(error);
    else if (request.onResponseError) request.onResponseError(error);
    else request.onError?.(error);
    if (socket === null) endUnusedConnections(this.host, error);
    if (this.stream) destroyStream(this.stream, error);
    // Otherwise the next calls would use the same dead connection.
    if (isSilent && this.stream && socket && countStreams(socket) === 0) closeConnection(socket);
  }
}

/** Ends the connections that are being opened if no other call to the host may wait for them. */
function endUnusedConnections(host: Host, error: Error): void {
  if (host.counters.inFlight === 0) endPendingConnections(host, error);
}

/** Observes the chunks of a body from now on. */
function observeChunks(request: UndiciRequest): RecordDetector {
  const detector = new RecordDetector();
  const name = request.onResponseData ? 'onResponseData' : 'onData';
  const onData = request[name];
  if (onData !== undefined) {
    request[name] = function observe(this: UndiciRequest, chunk) {
      detector.addChunk(chunk);
      return Reflect.apply(onData, this, [chunk]);
    };
  }
  return detector;
}

function findCall(request: object): UndiciCall | undefined {
  return findTracker(request) as UndiciCall | undefined;
}

/**
 * Whether the application has the response and has not begun to read it. It cannot be seen behind handlers that hide
 * that of the request. `fetch` reads ahead, and is never in this state.
 */
function isUnread(request: UndiciRequest): boolean {
  const { res } = findHandler(request) as { res?: Partial<Readable> | null };
  if (!res || res.readableFlowing !== null) return false;
  return res.listenerCount?.('readable') === 0 && res.listenerCount('data') === 0;
}

/** Whether it is a request of `millrace/client`, which has limits of its own. */
function isExemptRequest(request: UndiciRequest): boolean {
  return findHandler(request).opaque === EXEMPT;
}

/** Returns the longer of a timeout and that of the signal; 0, no timeout, wins. */
function extendLimit(limit: number | undefined, signalTimeout: number): number {
  return limit === 0 ? 0 : Math.max(limit ?? 0, signalTimeout);
}

/**
 * Whether it is a request of `fetch`, which makes a handler object for each call; the handlers of all others have a
 * class.
 */
function isFetchRequest(request: UndiciRequest): boolean {
  const handler = findHandler(request);
  return Object.hasOwn(handler, 'onHeaders') || Object.hasOwn(handler, 'onResponseStart');
}

/** Reads a timeout of a client or pool; `undefined` if it is undici's default. */
function readClientLimit(client: unknown, name: string): number | undefined {
  if (typeof client !== 'object' || client === null) return undefined;
  const ms = readInternal(client, name);
  return typeof ms === 'number' && ms !== UNDICI_DEFAULT_TIMEOUT_MS ? ms : undefined;
}

function hasClientLimit(client: unknown): client is object {
  return ['headers timeout', 'body timeout'].some(
    (name) => readClientLimit(client, name) !== undefined,
  );
}
