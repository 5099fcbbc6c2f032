import { AsyncResource } from 'node:async_hooks';
import type http from 'node:http';
import type { IncomingMessage } from 'node:http';
import https from 'node:https';
import type { Socket } from 'node:net';
import { countMovedBytes, countUnsentBytes } from '../../outbound/byte-counts.js';
import { DeadlineError, type DeadlineFacts, type WaitingFor } from '../../outbound/errors.js';
import {
  awaitTimeouts,
  findSignalTimeout,
  type OpenRequest,
  takeSignalTimeout,
  UNKNOWN_TIMEOUT,
} from '../call/abort-signals.js';
import { type ApplicationLimits, type CallStage, LimitedCall } from '../call/call.js';
import { cancelQueuedRequest } from '../call/cancel-queued.js';
import { findStreamingHint, RecordDetector, type StreamingHint } from '../call/streaming-bodies.js';
import { findUrlHost } from '../host-name.js';
import type { Host, Hosts } from '../hosts.js';
import { patchMethod } from '../patch-method.js';
import {
  collectConnections,
  destroyConnections,
  observeAgent,
  patchAgents,
} from './agent-connections.js';
import { findApplicationTimeout } from './application-timeout.js';
import { ClientRequest, nodeHttp } from './node-http.js';

/** Fields of a request that Node does not declare. */
interface RequestInternals {
  res?: IncomingMessage | null;
  socketPath?: string | null;
  agent?: unknown;
  /** `Content-Length`, once the head is complete. */
  _contentLength?: number | null;
  /** Set by follow-redirects. */
  _redirectable?: object;
  [kCall]?: HttpCall;
}

type ObservedRequest = http.ClientRequest & RequestInternals;

const kCall = Symbol('millrace.call');

/** Limits all requests begun from now on. */
export function limitHttp(hosts: Hosts): void {
  const addLimits = (original: typeof http.request): typeof http.request =>
    function request(this: unknown, ...args: unknown[]) {
      const result = collectConnections(() => Reflect.apply(original, this, args));
      // A replacement of `http.request`, as in tests.
      if (!(result instanceof ClientRequest)) return result;
      return limitRequest(hosts, result, args);
    } as typeof http.request;
  for (const module of [nodeHttp, https]) {
    patchMethod(module, 'request', addLimits);
    patchMethod(module, 'get', addLimits);
  }
  patchMethod(ClientRequest.prototype, 'write', (original) => {
    return function write(this: ObservedRequest, ...args: unknown[]) {
      this[kCall]?.addWritten(args[0], args[1]);
      return Reflect.apply(original, this, args);
    } as typeof original;
  });
  patchAgents();
}

function limitRequest(hosts: Hosts, request: ObservedRequest, args: unknown[]): http.ClientRequest {
  const signalTimeout = takeTimeout(args) || findTimeoutOfHop(args[0]);
  const call = new HttpCall(hosts.find(findHostName(request)), request, signalTimeout);
  if (signalTimeout > 0) callsWithSignal.set(Object(args[0]), call);
  request[kCall] = call;
  request.on('close', onClose);
  observeAgent(request.agent);
  if (call.isOpen) {
    if (request.hasHeader('expect')) request.once('continue', onContinue);
    awaitTimeouts(call);
  }
  return request;
}

/** Finds the host that the application calls: a proxy is asked for a URL, or for a tunnel to a host. */
function findHostName({ method, path, host, socketPath }: ObservedRequest): string {
  if (socketPath) return `unix:${socketPath}`;
  return findUrlHost(method === 'CONNECT' ? `http://${path}` : path) ?? host;
}

/** Takes the timeout of the signal in the arguments of a request, or of one that its library listens to. */
function takeTimeout(args: unknown[]): number {
  const ofLibrary = takeSignalTimeout('http');
  for (const options of args.slice(0, 2)) {
    const signal = (options as { signal?: unknown } | null | undefined)?.signal;
    if (signal instanceof AbortSignal) return findSignalTimeout(signal);
  }
  return ofLibrary;
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
  /** The timeout in milliseconds of the signal that the request was made with; 0: unknown. */
  private readonly signalTimeout: number;
  /** The longest timeout that its library has set since. */
  private addedTimeout = 0;
  private isContinued = false;
  /** Bytes of the body that the application has written. */
  private written = 0;
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
    return this.request._redirectable === undefined ? 0 : this.ownTimeout;
  }

  addTimeout(ms: number): void {
    this.addedTimeout = Math.max(this.addedTimeout, ms);
  }

  removeTimeouts(): void {
    this.addedTimeout = 0;
  }

  /** The application's own timeout in milliseconds, as its signals and timers tell; 0: unknown. */
  private get ownTimeout(): number {
    return Math.max(this.signalTimeout, this.addedTimeout);
  }

  /** Called with each part of the body that is written, and its encoding. */
  addWritten(chunk: unknown, encoding: unknown): void {
    if (chunk instanceof Uint8Array) this.written += chunk.byteLength;
    else if (typeof chunk === 'string')
      this.written += Buffer.byteLength(chunk, readEncoding(encoding));
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
    return this.isWaitingToWrite(socket) ? 'application' : 'headers';
  }

  /** Whether the application has not written the rest of the request, and all before it has been sent. */
  private isWaitingToWrite(socket: Socket): boolean {
    const { request } = this;
    if (request.writableEnded || countUnsentBytes(socket) > 0) return false;
    // A body of known length may be written without an end: form-data behind a pipeline, as in axios.
    if (typeof request._contentLength === 'number' && this.written >= request._contentLength)
      return false;
    // Until `100 Continue` it waits for the peer.
    return this.isContinued || !request.hasHeader('expect');
  }

  private findResponseStage(response: IncomingMessage): CallStage {
    if (response.complete && response.readableEnded) return 'ended';
    if (response.destroyed) return 'ended';
    const hint = this.findStreamingHint(response);
    if (hint === 'unbounded') return 'unbounded';
    // The response has arrived in full, or the application does not read it: the peer is not late.
    if (response.complete || !isBeingRead(response)) return 'application';
    const { socket } = this.request;
    if (socket && this.isWaitingToWrite(socket)) return 'application';
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
    const { ownTimeout } = this;
    if (ownTimeout === UNKNOWN_TIMEOUT) return { total: true };
    const ms = Math.max(findApplicationTimeout(this.request) ?? 0, ownTimeout);
    return ms === 0 ? {} : { headers: ms, idle: ms };
  }

  protected createError(facts: DeadlineFacts, waitingFor: WaitingFor): Error {
    return new DeadlineError(facts, waitingFor);
  }

  override end(): void {
    if (this.isScheduled) this.context.emitDestroy();
    super.end();
  }

  protected fail(error: Error): void {
    const { request } = this;
    this.context.runInAsyncScope(() => {
      if (request.res) destroyResponse(request.res, error);
      else if (request.socket) request.destroy(error);
      else {
        cancelQueuedRequest(request, error);
        destroyConnections(request, error);
      }
    });
  }
}

function readEncoding(encoding: unknown): BufferEncoding | undefined {
  return typeof encoding === 'string' && Buffer.isEncoding(encoding) ? encoding : undefined;
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
  callFirst(socket, 'socketErrorListener');
  socket.once('error', () => response.destroy(error));
  socket.destroy(error);
}

/**
 * Moves Node's own listener for errors before those of an application, as on a new connection: on one that is used again
 * it comes behind those of earlier calls, and axios, which leaves one there, would abort the response first.
 */
function callFirst(socket: Socket, name: string): void {
  const own = socket.listeners('error').find((listener) => listener.name === name);
  if (own === undefined) return;
  const listener = own as (error: Error) => void;
  socket.off('error', listener).prependListener('error', listener);
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
