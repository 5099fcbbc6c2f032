import { AsyncResource } from 'node:async_hooks';
import http, { ClientRequest, type IncomingMessage } from 'node:http';
import https from 'node:https';
import type { Socket } from 'node:net';
import { DeadlineError, type DeadlineFacts, type WaitingFor } from '../../outbound/errors.js';
import {
  awaitSignal,
  type OpenRequest,
  takeSignalTimeout,
  UNKNOWN_TIMEOUT,
} from '../call/abort-signals.js';
import { countMovedBytes, countUnsentBytes } from '../call/byte-counts.js';
import { type ApplicationLimits, type CallStage, LimitedCall } from '../call/call.js';
import { cancelQueuedRequest } from '../call/cancel-queued.js';
import { findStreamingHint, RecordDetector, type StreamingHint } from '../call/streaming-bodies.js';
import type { Host, Hosts } from '../hosts.js';
import { patchMethod } from './patch-method.js';

/** Fields of a request that Node does not declare. */
interface RequestInternals {
  res?: IncomingMessage | null;
  timeout?: number;
  socketPath?: string | null;
  /** Set by follow-redirects. */
  _redirectable?: object;
  agent?: { options?: { timeout?: number } } | null;
  [kCall]?: HttpCall;
}

type ObservedRequest = ClientRequest & RequestInternals;

const kCall = Symbol('millrace.call');
/** Node's own agents, whose idle timeout nobody has set. */
const NODE_AGENTS = new Set<unknown>([http.globalAgent, https.globalAgent]);

/** Limits all requests begun from now on. */
export function limitHttp(hosts: Hosts): void {
  const addLimits = (original: typeof http.request): typeof http.request =>
    function request(this: unknown, ...args: unknown[]) {
      const result = Reflect.apply(original, this, args) as ObservedRequest;
      // A replacement of `http.request`, as in tests.
      if (!(result instanceof ClientRequest)) return result;
      const { host, socketPath } = result;
      const name = socketPath ? `unix:${socketPath}` : host;
      const signalTimeout = takeSignalTimeout() || findTimeoutOfHop(args[0]);
      const call = new HttpCall(hosts.find(name), result, signalTimeout);
      if (signalTimeout > 0) callsWithSignal.set(Object(args[0]), call);
      result[kCall] = call;
      result.on('close', onClose);
      if (call.isOpen) {
        if (result.hasHeader('expect')) result.once('continue', onContinue);
        if (signalTimeout === 0) awaitSignal(call);
      }
      return result;
    } as typeof http.request;
  for (const module of [http, https]) {
    patchMethod(module, 'request', addLimits);
    patchMethod(module, 'get', addLimits);
  }
}

/**
 * Calls with a signal, by their options: follow-redirects, which axios uses, passes the same options to all requests
 * of a call, and listens to the signal once.
 */
const callsWithSignal = new WeakMap<object, HttpCall>();

function findTimeoutOfHop(options: unknown): number {
  if (typeof options !== 'object' || options === null) return 0;
  return callsWithSignal.get(options)?.timeoutOfNextHop ?? 0;
}

function onClose(this: ObservedRequest): void {
  this[kCall]?.end();
}

function onContinue(this: ObservedRequest): void {
  this[kCall]?.onContinue();
}

class HttpCall extends LimitedCall implements OpenRequest {
  protected readonly by = 'http';
  private readonly request: ObservedRequest;
  /** The application's own timeout in milliseconds, as its signal tells; 0: unknown. */
  private signalTimeout: number;
  private isContinued = false;
  /** Detects records in the body, where the headers cannot tell. */
  private records: RecordDetector | null = null;
  /** The caller's asynchronous context, in which errors are emitted. */
  private readonly context = new AsyncResource('MILLRACE_CALL', CONTEXT);

  constructor(host: Host, request: ObservedRequest, signalTimeout: number) {
    super(host);
    this.request = request;
    this.signalTimeout = signalTimeout;
  }

  get isOpen(): boolean {
    return !this.request.writableEnded;
  }

  get timeoutOfNextHop(): number {
    return this.request._redirectable === undefined ? 0 : this.signalTimeout;
  }

  setSignalTimeout(ms: number): void {
    this.signalTimeout = ms;
  }

  /** Called on `100 Continue`: from now on the call waits for the application to write the rest. */
  onContinue(): void {
    this.isContinued = true;
  }

  protected findStage(): CallStage {
    const { request } = this;
    const { res, socket } = request;
    if (res) return this.findResponseStage(res);
    if (request.destroyed) return 'ended';
    if (!socket || socket.connecting || isHandshaking(socket)) return 'waiting';
    const isWriting = !request.writableEnded && countUnsentBytes(socket) === 0;
    // Until `100 Continue` it waits for the peer.
    const awaitsContinue = !this.isContinued && request.hasHeader('expect');
    return isWriting && !awaitsContinue ? 'application' : 'headers';
  }

  private findResponseStage(response: IncomingMessage): CallStage {
    if (response.complete && response.readableEnded) return 'ended';
    if (response.destroyed) return 'ended';
    const hint = this.findStreamingHint(response);
    if (hint === 'unbounded') return 'unbounded';
    // The response has arrived in full, or the application does not read it: the peer is not late.
    if (response.complete || !isBeingRead(response)) return 'application';
    return hint ?? 'body';
  }

  private findStreamingHint(response: IncomingMessage): StreamingHint {
    const { 'content-type': type, 'content-length': length } = response.headers;
    const hint = findStreamingHint({ type, length, path: this.request.path });
    if (hint !== null || length !== undefined) return hint;
    this.records ??= observeChunks(response);
    return this.records.hasRecords ? 'records' : null;
  }

  protected countBytes(): number {
    const { socket, res } = this.request;
    return socket ? countMovedBytes(socket) + (res ? 0.5 : 0) : 0;
  }

  protected readApplicationLimits(): ApplicationLimits {
    const { signalTimeout } = this;
    if (signalTimeout === UNKNOWN_TIMEOUT) return { total: true };
    const timeout = findApplicationTimeout(this.request) ?? (signalTimeout || undefined);
    if (timeout === undefined) return {};
    const ms = Math.max(timeout, signalTimeout);
    return { headers: ms, idle: ms };
  }

  protected createError(facts: DeadlineFacts, waitingFor: WaitingFor): Error {
    return new DeadlineError(facts, waitingFor);
  }

  protected fail(error: Error): void {
    const { request } = this;
    this.context.runInAsyncScope(() => {
      if (request.res) destroyResponse(request.res, error);
      else if (request.socket) request.destroy(error);
      else cancelQueuedRequest(request, error);
    });
  }
}

/** Observes the chunks of a body from now on; only its parser calls `push`. */
function observeChunks(response: IncomingMessage): RecordDetector {
  const detector = new RecordDetector();
  const { push } = response;
  response.push = function pushChunk(this: IncomingMessage, ...args) {
    detector.addChunk(args[0]);
    return Reflect.apply(push, this, args);
  };
  return detector;
}

/** Ends a response as a failing connection does: the request emits the error before the response. */
function destroyResponse(response: IncomingMessage, error: Error): void {
  const { socket } = response;
  if (!socket || socket.destroyed) {
    response.destroy(error);
    return;
  }
  socket.once('error', () => response.destroy(error));
  socket.destroy(error);
}

const CONTEXT = { requireManualDestroy: true };

/** Whether the application reads what arrives. */
function isBeingRead(response: IncomingMessage): boolean {
  if (response.readableLength > 0) return false;
  return response.readableFlowing === true || response.listenerCount('readable') > 0;
}

function isHandshaking(socket: object): boolean {
  return (socket as { secureConnecting?: boolean }).secureConnecting === true;
}

/**
 * Whether the timeout destroys the socket, as that of follow-redirects (axios) does; it may equal that of Node's
 * agents.
 */
function isDestroyedOnTimeout(socket: Socket): boolean {
  return socket.listeners('timeout').includes(socket.destroy);
}

/**
 * Finds the idle timeout that the application has set for the request, its connection or its agent. Without a
 * listener none of them has an effect.
 */
export function findApplicationTimeout(request: ClientRequest): number | undefined {
  const { timeout, socket, agent }: ObservedRequest = request;
  if (request.listenerCount('timeout') === 0) return undefined;
  if (timeout) return timeout;
  const agentTimeout = agent?.options?.timeout;
  if (socket?.timeout && (socket.timeout !== agentTimeout || isDestroyedOnTimeout(socket))) {
    return socket.timeout;
  }
  return agentTimeout && !NODE_AGENTS.has(agent) ? agentTimeout : undefined;
}
