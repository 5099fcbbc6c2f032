import { AsyncResource } from 'node:async_hooks';
import http, { ClientRequest, type IncomingMessage } from 'node:http';
import https from 'node:https';
import type { Socket } from 'node:net';
import { DeadlineError, type DeadlineFacts, type WaitingFor } from '../../outbound/errors.js';
import { type Made, OWN_TIME, offerSignals, takePatience } from '../call/abort-signals.js';
import { moved, unsent } from '../call/byte-counts.js';
import { type ApplicationLimits, Call, type Stage } from '../call/call.js';
import { giveUp } from '../call/cancel-queued.js';
import { Pieces, type StreamingHint, streamingHint } from '../call/streaming-bodies.js';
import type { Host, Hosts } from '../hosts.js';
import { replace } from './patch-method.js';

/** What Node keeps on a request and does not declare. */
interface Internals {
  res?: IncomingMessage | null;
  timeout?: number;
  socketPath?: string | null;
  /** That of follow-redirects. */
  _redirectable?: object;
  agent?: { options?: { timeout?: number } } | null;
  [kCall]?: HttpCall;
}

type Request = ClientRequest & Internals;

const kCall = Symbol('millrace.call');
/** Node's own agents have a time limit for idle connections, which nobody has set. */
const nodesAgents = new Set<unknown>([http.globalAgent, https.globalAgent]);

/** Gives limits to all requests that are begun from now on. */
export function limitHttp(hosts: Hosts): void {
  const limited = (original: typeof http.request): typeof http.request =>
    function request(this: unknown, ...args: unknown[]) {
      const made = Reflect.apply(original, this, args) as Request;
      // Somebody has put something else in its place, which is for tests.
      if (!(made instanceof ClientRequest)) return made;
      const { host, socketPath } = made;
      const name = socketPath ? `unix:${socketPath}` : host;
      const patience = takePatience() || patienceOfHop(args[0]);
      const call = new HttpCall(hosts.named(name), made, patience);
      if (patience > 0) limitedBySignal.set(Object(args[0]), call);
      made[kCall] = call;
      made.on('close', onClose);
      if (call.isBeingMade) {
        if (made.hasHeader('expect')) made.once('continue', onContinue);
        if (patience === 0) offerSignals(call);
      }
      return made;
    } as typeof http.request;
  for (const module of [http, https]) {
    replace(module, 'request', limited);
    replace(module, 'get', limited);
  }
}

/**
 * By their options: follow-redirects, which axios uses, gives the same ones to all requests of a call, and is written
 * on them. The signal is listened to once.
 */
const limitedBySignal = new WeakMap<object, HttpCall>();

function patienceOfHop(options: unknown): number {
  if (typeof options !== 'object' || options === null) return 0;
  return limitedBySignal.get(options)?.patienceOfNextHop ?? 0;
}

function onClose(this: Request): void {
  this[kCall]?.end();
}

function onContinue(this: Request): void {
  this[kCall]?.mayContinue();
}

class HttpCall extends Call implements Made {
  protected readonly by = 'http';
  private readonly request: Request;
  /** How long the application waits by itself, as its signal tells. */
  private patience: number;
  private hasContinued = false;
  /** Of the body, where only they can tell what it is. */
  private pieces: Pieces | null = null;
  /** Errors are the caller's: they are emitted in its asynchronous context. */
  private readonly context = new AsyncResource('MILLRACE_CALL', CONTEXT);

  constructor(host: Host, request: Request, patience: number) {
    super(host);
    this.request = request;
    this.patience = patience;
  }

  get isBeingMade(): boolean {
    return !this.request.writableEnded;
  }

  get patienceOfNextHop(): number {
    return this.request._redirectable === undefined ? 0 : this.patience;
  }

  hearPatience(ms: number): void {
    this.patience = ms;
  }

  /** From now on the rest of the request is the application's to write. */
  mayContinue(): void {
    this.hasContinued = true;
  }

  protected stage(): Stage {
    const { request } = this;
    const { res, socket } = request;
    if (res) return this.stageOf(res);
    if (request.destroyed) return 'ended';
    if (!socket || socket.connecting || isShakingHands(socket)) return 'waiting';
    const isWriting = !request.writableEnded && unsent(socket) === 0;
    // Who waits for `100 Continue` waits for the peer.
    const awaitsContinue = !this.hasContinued && request.hasHeader('expect');
    return isWriting && !awaitsContinue ? 'application' : 'headers';
  }

  private stageOf(response: IncomingMessage): Stage {
    if (response.complete && response.readableEnded) return 'ended';
    if (response.destroyed) return 'ended';
    const lasting = this.lastingOf(response);
    if (lasting === 'unbound') return 'unbound';
    // All is here; who has not read it holds nobody up but itself.
    if (response.complete || !isRead(response)) return 'application';
    return lasting ?? 'body';
  }

  private lastingOf(response: IncomingMessage): StreamingHint {
    const { 'content-type': type, 'content-length': length } = response.headers;
    const lasting = streamingHint({ type, length, path: this.request.path });
    if (lasting !== null || length !== undefined) return lasting;
    this.pieces ??= piecesOf(response);
    return this.pieces.areLines ? 'records' : null;
  }

  protected progress(): number {
    const { socket, res } = this.request;
    return socket ? moved(socket) + (res ? 0.5 : 0) : 0;
  }

  protected own(): ApplicationLimits {
    const { patience } = this;
    if (patience === OWN_TIME) return { total: true };
    const timeout = ownTimeoutOf(this.request) ?? (patience || undefined);
    if (timeout === undefined) return {};
    const ms = Math.max(timeout, patience);
    return { headers: ms, idle: ms };
  }

  protected errorFor(facts: DeadlineFacts, waitingFor: WaitingFor): Error {
    return new DeadlineError(facts, waitingFor);
  }

  protected fail(error: Error): void {
    const { request } = this;
    this.context.runInAsyncScope(() => {
      if (request.res) cutOff(request.res, error);
      else if (request.socket) request.destroy(error);
      else giveUp(request, error);
    });
  }
}

/** What comes of a body from now on; nothing but its parser calls `push`. */
function piecesOf(response: IncomingMessage): Pieces {
  const pieces = new Pieces();
  const { push } = response;
  response.push = function pushed(this: IncomingMessage, ...args) {
    pieces.take(args[0]);
    return Reflect.apply(push, this, args);
  };
  return pieces;
}

/** As if the connection had failed: the request tells of it, then the response. */
function cutOff(response: IncomingMessage, error: Error): void {
  const { socket } = response;
  if (!socket || socket.destroyed) {
    response.destroy(error);
    return;
  }
  socket.once('error', () => response.destroy(error));
  socket.destroy(error);
}

const CONTEXT = { requireManualDestroy: true };

/** Somebody takes what arrives. */
function isRead(response: IncomingMessage): boolean {
  if (response.readableLength > 0) return false;
  return response.readableFlowing === true || response.listenerCount('readable') > 0;
}

function isShakingHands(socket: object): boolean {
  return (socket as { secureConnecting?: boolean }).secureConnecting === true;
}

/** So follow-redirects, which axios uses, keeps its limit, which may be the same as that of Node's agents. */
function isEndedByTimeout(socket: Socket): boolean {
  return socket.listeners('timeout').includes(socket.destroy);
}

/** The limit for silence that the application has set: of the request, its connection or its agent. Without a listener none of them does anything. */
export function ownTimeoutOf(request: ClientRequest): number | undefined {
  const { timeout, socket, agent }: Request = request;
  if (request.listenerCount('timeout') === 0) return undefined;
  if (timeout) return timeout;
  const ofAgent = agent?.options?.timeout;
  if (socket?.timeout && (socket.timeout !== ofAgent || isEndedByTimeout(socket))) {
    return socket.timeout;
  }
  return ofAgent && !nodesAgents.has(agent) ? ofAgent : undefined;
}
