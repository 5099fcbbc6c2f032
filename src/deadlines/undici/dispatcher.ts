import { subscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { type DeadlineFacts, undiciError, type WaitingFor } from '../../outbound/errors.js';
import { EXEMPT } from '../../outbound/exemption.js';
import { internal } from '../../outbound/undici-internals.js';
import { isSignalHeard, OWN_TIME, takePatience } from '../call/abort-signals.js';
import { moved, unsent } from '../call/byte-counts.js';
import { type ApplicationLimits, Call, type Stage } from '../call/call.js';
import { Pieces, type StreamingHint, streamingHint } from '../call/streaming-bodies.js';
import type { Host, Hosts } from '../hosts.js';
import { pathOf } from '../http/socket-paths.js';
import { queuedAt, rememberClient } from './clients.js';
import { findConnections, rememberConnection } from './connections.js';
import { fieldOf } from './fields.js';
import { handlerOf, rememberHandlers } from './handlers.js';
import { addRedirect, takeRedirect } from './redirects.js';
import { type Fields, type Follower, follow, followerOf, type Request } from './requests.js';
import { countStream, isHeld, isHttp2, isUploading, streamsOn, watchReader } from './streams.js';

interface Message {
  request: Request;
  socket?: Socket;
}

/** undici's own, where nobody has set another one. */
const UNDICIS_TIMEOUT = 300_000;

/** Gives limits to all requests of all copies of undici that are begun from now on, those of `fetch` among them. */
export function limitUndici(hosts: Hosts): void {
  hostsOfCalls = hosts;
  rememberHandlers();
  const origins = new Origins(hosts);
  on('undici:request:create', ({ request }) => {
    const heard = isSignalHeard() ? takePatience(isOfFetch(request)) : 0;
    const patience = heard || takeRedirect(request);
    follow(request, new UndiciCall(origins.host(request.origin), request, patience));
  });
  on('undici:client:connected', ({ socket }) => {
    if (socket === undefined) return;
    // Streams have to be counted; to a host of another name a call goes as soon as it is known.
    if (isHttp2(socket) || pathOf(socket) !== undefined) watchSends();
    else rememberConnection(socket);
    const client = internal(socket, 'client');
    if (hasOwnLimit(client)) rememberClient(client);
  });
}

function on(channel: string, react: (message: Message) => void): void {
  subscribe(channel, react as (message: unknown) => void);
}

/** Those of all calls, once these have limits. */
let hostsOfCalls: Hosts | null = null;
let areSendsWatched = false;

/** From now on undici tells of each call that is sent: asked for where something has to be done at once, or is not found otherwise. */
function watchSends(): void {
  const hosts = hostsOfCalls;
  if (areSendsWatched || hosts === null) return;
  areSendsWatched = true;
  on('undici:client:sendHeaders', ({ request, socket }) => {
    const call = callOf(request);
    call?.sent(socket);
    const path = socket && pathOf(socket);
    if (path !== undefined) call?.moveTo(hosts.named(path));
  });
}

/** Hosts by origin: URLs are taken apart once. */
class Origins {
  readonly #hosts: Hosts;
  readonly #known = new Map<unknown, Host>();
  #lastOrigin: unknown;
  #last: Host | null = null;

  constructor(hosts: Hosts) {
    this.#hosts = hosts;
  }

  host(origin: unknown): Host {
    if (this.#last !== null && origin === this.#lastOrigin) return this.#last;
    this.#last = this.#known.get(origin) ?? this.#add(origin);
    this.#lastOrigin = origin;
    return this.#last;
  }

  #add(origin: unknown): Host {
    const text = String(origin);
    const host = this.#hosts.named(URL.canParse(text) ? new URL(text).hostname : text);
    if (typeof origin === 'string' && this.#known.size < 1000) this.#known.set(origin, host);
    return host;
  }
}

class UndiciCall extends Call implements Follower {
  /** How long the application waits by itself, as its signal tells. */
  declare private readonly patience: number;
  declare private readonly request: Request;
  declare private socket: Socket | null;
  /** Of the response. */
  declare private fields: Fields | null;
  /** Of HTTP/2: its connection has others. */
  declare private isStream: boolean;
  /** Of the body, where only they can tell what it is. */
  declare private pieces: Pieces | null;

  constructor(host: Host, request: Request, patience: number) {
    super(host);
    this.request = request;
    this.patience = patience;
    this.socket = null;
    this.fields = null;
    this.isStream = false;
    this.pieces = null;
  }

  protected get by() {
    return 'undici' as const;
  }

  sent(socket: Socket | undefined): void {
    this.socket = socket ?? null;
    if (socket === undefined || !isHttp2(socket)) return;
    this.isStream = true;
    countStream(socket, 1);
    watchReader(this.request);
  }

  override end(): void {
    if (this.isStream && this.isWatched && this.socket) countStream(this.socket, -1);
    super.end();
  }

  answered(status: number, fields: Fields): void {
    if (status >= 200) this.fields = fields;
    if (this.patience > 0) addRedirect(this.request, status, fields, this.patience);
  }

  /** It may be on a connection that nobody has told it of. One that was open before this module cannot be found: the next calls are told theirs. */
  private findConnection(): void {
    if (this.socket !== null && !this.socket.destroyed) return;
    findConnections(tellConnection);
    if (this.socket === null && this.request.abort) watchSends();
  }

  protected stage(): Stage {
    const { request, fields } = this;
    if (request.completed || request.aborted) return 'ended';
    this.findConnection();
    const { socket } = this;
    const lasting = this.lasting();
    if (lasting === 'unbound') return 'unbound';
    if (socket === null && !request.abort) return 'waiting';
    if (fields === null) {
      return socket && isWaitedFor(socket) ? 'application' : 'headers';
    }
    if (isUnread(request) || (socket && isPaused(socket, request))) return 'application';
    return lasting ?? 'body';
  }

  private lasting(): StreamingHint {
    const { fields, request } = this;
    if (fields === null) return null;
    const type = fieldOf(fields, 'content-type');
    const length = fieldOf(fields, 'content-length');
    const lasting = streamingHint({ type, length, path: request.path });
    if (lasting !== null || length !== undefined) return lasting;
    this.pieces ??= piecesOf(request);
    return this.pieces.areLines ? 'records' : null;
  }

  /** `NaN` where it cannot be seen, which is never the same: then only the total counts. */
  protected progress(): number {
    const { socket, fields } = this;
    // Versions 5 and 6 do not tell the connection of a stream of HTTP/2.
    if (socket === null) return Number.NaN;
    // Nor does a stream tell whether the application still writes, or waits for the peer.
    if (fields === null && this.isStream && isUploading(this.request)) return Number.NaN;
    return moved(socket) + (fields ? 0.5 : 0);
  }

  protected own(): ApplicationLimits {
    const { request, socket, patience } = this;
    if (patience === OWN_TIME || isExemptRequest(request)) return { total: true };
    const client = socket === null ? queuedAt(request) : internal(socket, 'client');
    const own: ApplicationLimits = {};
    const headers = request.headersTimeout ?? clientLimit(client, 'headers timeout');
    const idle = request.bodyTimeout ?? clientLimit(client, 'body timeout');
    if (headers !== undefined || patience > 0) own.headers = longer(headers, patience);
    if (idle !== undefined || patience > 0) own.idle = longer(idle, patience);
    return own;
  }

  protected errorFor(facts: DeadlineFacts, waitingFor: WaitingFor): Error {
    return undiciError(facts, waitingFor, 'millrace/deadlines');
  }

  /** On a connection: ends that, too. Before, it is taken from its queue. */
  protected fail(error: Error, isSilent: boolean): void {
    const { request, socket } = this;
    if (request.abort) request.abort(error);
    else if (request.onResponseError) request.onResponseError(error);
    else request.onError?.(error);
    // That ends a stream of HTTP/2 alone, and the calls to come would find the same dead connection.
    if (isSilent && this.isStream && socket && streamsOn(socket) === 0) socket.destroy(SILENT);
  }
}

/** What comes of a body from now on. */
function piecesOf(request: Request): Pieces {
  const pieces = new Pieces();
  const name = request.onResponseData ? 'onResponseData' : 'onData';
  const onData = request[name];
  if (onData !== undefined) {
    request[name] = function heard(this: Request, piece) {
      pieces.take(piece);
      return Reflect.apply(onData, this, [piece]);
    };
  }
  return pieces;
}

function tellConnection(request: object, socket: Socket): void {
  callOf(request)?.sent(socket);
}

function callOf(request: object): UndiciCall | undefined {
  return followerOf(request) as UndiciCall | undefined;
}

/** The peer has all that the application has written so far. */
function isWaitedFor(socket: Socket): boolean {
  return internal(socket, 'writing') === true && unsent(socket) === 0;
}

/** The application does not take what has arrived. */
function isPaused(socket: Socket, request: Request): boolean {
  if (isHttp2(socket)) return isHeld(request);
  const parser = internal(socket, 'parser') as { paused?: boolean } | undefined;
  return parser?.paused === true || socket.readableLength > 0;
}

/**
 * The application has the answer and has not begun to read it: then nobody may listen to the error of its body, either,
 * and versions 5 and 6 would end the process by it. Not so `fetch`, which reads ahead.
 */
function isUnread(request: Request): boolean {
  const { res } = handlerOf(request) as { res?: Partial<Readable> | null };
  if (!res || res.readableFlowing !== null) return false;
  return res.listenerCount?.('readable') === 0 && res.listenerCount('data') === 0;
}

/** It is a client's of `millrace/client`, which has limits of its own. */
function isExemptRequest(request: Request): boolean {
  return handlerOf(request).opaque === EXEMPT;
}

/** With a code by which undici keeps what waits for the connection, and opens another one. */
const SILENT = Object.assign(new Error('nothing has come over the connection'), {
  code: 'UND_ERR_INFO',
});

/** Of a limit that is set, where 0 is none, and how long the application waits by itself. */
function longer(limit: number | undefined, patience: number): number {
  return limit === 0 ? 0 : Math.max(limit ?? 0, patience);
}

/** `fetch` makes a handler for each call; all others have a class. */
function isOfFetch(request: Request): boolean {
  const handler = handlerOf(request);
  return Object.hasOwn(handler, 'onHeaders') || Object.hasOwn(handler, 'onResponseStart');
}

/** A limit of a client or pool that differs from undici's own. */
function clientLimit(client: unknown, name: string): number | undefined {
  if (typeof client !== 'object' || client === null) return undefined;
  const ms = internal(client, name);
  return typeof ms === 'number' && ms !== UNDICIS_TIMEOUT ? ms : undefined;
}

function hasOwnLimit(client: unknown): client is object {
  return ['headers timeout', 'body timeout'].some(
    (name) => clientLimit(client, name) !== undefined,
  );
}
