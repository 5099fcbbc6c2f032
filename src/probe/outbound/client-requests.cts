import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { Agent, type ClientRequest, type IncomingMessage } from 'node:http';
import { ClientRequestMemory } from '../dependencies/client-request-memory.cjs';
import { ignoreErrors, timers } from '../runtime/clock.cjs';
import { AgentLimits } from './agent-limits.cjs';
import type { Call, Calls } from './calls.cjs';

interface AgentOptions {
  host?: string;
  hostname?: string;
  port?: number | string;
  defaultPort?: number | string;
  socketPath?: string;
  protocol?: string;
}

type Options = AgentOptions | string;

type AddRequest = (
  this: Agent,
  request: ClientRequest,
  options: Options,
  ...legacy: unknown[]
) => void;

interface Message {
  request: ClientRequest;
  response: IncomingMessage;
}

const prototype = Agent.prototype as Agent & { addRequest: AddRequest };

/**
 * Outbound calls by `http.request` and `https.request`. `addRequest` asks an agent for a socket; Node.js's channels
 * report when the request is written to one, and when the head of the response arrives.
 */
export class ClientRequests {
  readonly agentLimits = new AgentLimits();
  /** Called with each call before it asks for a socket. */
  onCall: ((request: ClientRequest, origin: string) => void) | null = null;
  readonly memory = new ClientRequestMemory();
  readonly #calls: Calls;
  readonly #open = new Map<ClientRequest, { call: Call; origin: string }>();
  /** Connections that have carried a request. */
  readonly #usedSockets = new WeakSet<object>();
  #isObserving = false;
  #delayMs = 0;
  #delayedCalls = 0;
  #original: AddRequest | null = null;
  #patched: AddRequest | null = null;

  constructor(calls: Calls) {
    this.#calls = calls;
  }

  observe(on: boolean): void {
    if (on === this.#isObserving) return;
    this.#isObserving = on;
    if (on) {
      this.#patch();
      subscribe('http.client.request.start', this.#onStart);
      subscribe('http.client.response.finish', this.#onResponse);
      subscribe('http.client.request.error', this.#onError);
      return;
    }
    unsubscribe('http.client.request.start', this.#onStart);
    unsubscribe('http.client.response.finish', this.#onResponse);
    unsubscribe('http.client.request.error', this.#onError);
    for (const { call } of this.#open.values()) call.markEnded(true);
    this.#open.clear();
  }

  /** Delays every call before it asks for a socket. Returns how many calls the previous delay affected. */
  setDelay(ms: number): number {
    const delayed = this.#delayedCalls;
    this.#delayedCalls = 0;
    this.#delayMs = ms;
    return delayed;
  }

  /** Undoes all changes. `Agent` keeps the replacement if other code has replaced it in turn. */
  restore(): void {
    this.observe(false);
    this.setDelay(0);
    this.memory.responses = null;
    this.agentLimits.restore();
    if (this.#original && prototype.addRequest === this.#patched) {
      prototype.addRequest = this.#original;
      this.#original = null;
    }
  }

  #patch(): void {
    if (this.#original) return;
    const original = prototype.addRequest;
    const probe = this;
    this.#original = original;
    this.#patched = function addRequest(request, options, ...legacy) {
      const add = () => original.call(this, request, withProtocol(request, options), ...legacy);
      let isTaken = false;
      try {
        isTaken = probe.#take(this, request, options, () => addLate(request, add));
      } catch {
        // The call continues without being observed.
      }
      // From here: an agent may look for `node:https` among the callers that a stack has.
      if (!isTaken) original.call(this, request, options, ...legacy);
    };
    prototype.addRequest = this.#patched;
  }

  /** Registers a request that asks its agent for a socket. Returns whether it is added later, by `add`. */
  #take(agent: Agent, request: ClientRequest, options: Options, add: () => void): boolean {
    if (!this.#isObserving) return false;
    // An agent may pass a request on to another one.
    if (this.#open.has(request)) return this.agentLimits.enqueueIfLimited(agent, request, add);
    const maxSockets = Number.isFinite(agent.maxSockets) ? agent.maxSockets : null;
    const origin = formatOrigin(request, options);
    this.onCall?.(request, origin);
    this.#open.set(request, { call: this.#calls.begin(origin, maxSockets), origin });
    // Node.js reports a request when its content has been passed on, which may take long.
    request.once('socket', () => this.#onSocket(request));
    const addWithinLimit = () => {
      if (!this.agentLimits.enqueueIfLimited(agent, request, add)) add();
    };
    if (this.memory.appliesTo(request, origin)) {
      this.memory.decide(request, addWithinLimit);
      return true;
    }
    if (this.#delayMs === 0) return this.agentLimits.enqueueIfLimited(agent, request, add);
    this.#delayedCalls++;
    timers.setTimeout(addWithinLimit, this.#delayMs);
    return true;
  }

  readonly #onStart = ignoreErrors((message: unknown) =>
    this.#onSocket((message as Message).request),
  );

  /** A request has a socket. */
  readonly #onSocket = ignoreErrors((request: ClientRequest) => {
    this.agentLimits.forget(request);
    const open = this.#open.get(request);
    if (!open) return;
    const { socket } = request;
    // `reusedSocket` is unreliable for sockets that an agent passes to a waiting request.
    if (socket && !this.#usedSockets.has(socket)) {
      this.#usedSockets.add(socket);
      this.#calls.addConnection(open.origin);
    }
    open.call.markSent();
  });

  readonly #onResponse = ignoreErrors((message: unknown) => {
    const { request, response } = message as Message;
    if (!this.#open.has(request)) return;
    this.memory.record(request, response);
    response.once('close', () => this.#end(request, !response.complete));
  });

  /** Older versions of Node.js do not report errors; there `sweep` finds them. */
  readonly #onError = ignoreErrors((message: unknown) =>
    this.#end((message as Message).request, true),
  );

  /** Ends requests that failed without a response, and those whose connection was upgraded. */
  sweep(): void {
    for (const request of this.#open.keys()) {
      const response = getResponse(request);
      if (response?.upgrade) this.#release(request);
      else if (request.destroyed && !response) this.#end(request, true);
    }
    this.agentLimits.sweep();
  }

  /** Ends an upgraded request; the time of its response is unknown. */
  #release(request: ClientRequest): void {
    this.agentLimits.forget(request);
    this.#open.get(request)?.call.markReleased();
    this.#open.delete(request);
  }

  #end(request: ClientRequest, failed: boolean): void {
    this.agentLimits.forget(request);
    this.#open.get(request)?.call.markEnded(failed);
    this.#open.delete(request);
  }
}

function formatOrigin(request: ClientRequest, options: Options): string {
  if (typeof options === 'string') return `${request.protocol}//${options}`;
  const { socketPath, host, hostname, port, defaultPort } = options;
  if (socketPath) return `unix:${socketPath}`;
  return `${request.protocol}//${host ?? hostname ?? 'localhost'}:${port ?? defaultPort ?? ''}`;
}

function getResponse(
  request: ClientRequest,
): (IncomingMessage & { upgrade?: boolean }) | undefined {
  return (request as ClientRequest & { res?: IncomingMessage }).res;
}

/**
 * Adds the protocol to the options of a request. An agent that is not called by `node:https` itself cannot see whether a
 * request is one of HTTPS.
 */
function withProtocol(request: ClientRequest, options: Options): Options {
  if (typeof options !== 'object' || typeof options.protocol === 'string') return options;
  return { ...options, protocol: request.protocol };
}

/**
 * Adds a delayed request. The application can no longer catch what its agent throws, for example for invalid options,
 * so it becomes the request's error.
 */
function addLate(request: ClientRequest, add: () => void): void {
  try {
    add();
  } catch (error) {
    const { onSocket } = request as unknown as { onSocket(socket: null, error: unknown): void };
    onSocket.call(request, null, error);
  }
}
