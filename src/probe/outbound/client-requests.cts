import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { Agent, type ClientRequest, type IncomingMessage } from 'node:http';
import { ignoreErrors, timers } from '../runtime/clock.cjs';
import { AgentLimits } from './agent-limits.cjs';
import type { Call, Calls } from './calls.cjs';

interface AgentOptions {
  host?: string;
  hostname?: string;
  port?: number | string;
  defaultPort?: number | string;
  socketPath?: string;
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
 * Outbound calls by `http.request` and `https.request`. An agent is asked for a socket by `addRequest`; Node tells by
 * its channels when the request is written to one, and when the answer's head is there.
 */
export class ClientRequests {
  readonly agentLimits = new AgentLimits();
  readonly #calls: Calls;
  readonly #open = new Map<ClientRequest, { call: Call; origin: string }>();
  /** Connections that have had a request. */
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

  /** Lets every call wait so long before it asks for a socket; how many have, by the last delay. */
  setDelay(ms: number): number {
    const delayed = this.#delayedCalls;
    this.#delayedCalls = 0;
    this.#delayMs = ms;
    return delayed;
  }

  /** Leaves everything as it was. `Agent` keeps the replacement if somebody else has replaced that. */
  restore(): void {
    this.observe(false);
    this.setDelay(0);
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
      const ask = () => original.call(this, request, options, ...legacy);
      let add = ask;
      try {
        add = probe.#prepareAdd(this, request, options, ask);
      } catch {
        // The call goes on unseen.
      }
      add();
    };
    prototype.addRequest = this.#patched;
  }

  /** A request asks its agent for a socket. Returns how it is to be added now. */
  #prepareAdd(agent: Agent, request: ClientRequest, options: Options, add: () => void): () => void {
    if (!this.#isObserving) return add;
    const maxSockets = Number.isFinite(agent.maxSockets) ? agent.maxSockets : null;
    const origin = formatOrigin(request, options);
    this.#open.set(request, { call: this.#calls.begin(origin, maxSockets), origin });
    const later = () => addLate(request, add);
    const delayMs = this.#delayMs;
    const addWithinLimit = (ask: () => void) => {
      if (!this.agentLimits.enqueueIfLimited(agent, request, later)) ask();
    };
    if (delayMs === 0) return () => addWithinLimit(add);
    this.#delayedCalls++;
    return () => void timers.setTimeout(addWithinLimit, delayMs, later);
  }

  readonly #onStart = ignoreErrors((message: unknown) => {
    const { request } = message as Message;
    this.agentLimits.forget(request);
    const open = this.#open.get(request);
    if (!open) return;
    const { socket } = request;
    // What an agent says of a socket that it gives to one who waits is not so: `reusedSocket`.
    if (socket && !this.#usedSockets.has(socket)) {
      this.#usedSockets.add(socket);
      this.#calls.addConnection(open.origin);
    }
    open.call.markSent();
  });

  readonly #onResponse = ignoreErrors((message: unknown) => {
    const { request, response } = message as Message;
    if (!this.#open.has(request)) return;
    response.once('close', () => this.#end(request, !response.complete));
  });

  /** Older versions of Node do not tell: there `sweep` finds them. */
  readonly #onError = ignoreErrors((message: unknown) =>
    this.#end((message as Message).request, true),
  );

  /** Ends those that failed before there was an answer, and those whose connection is the application's now. */
  sweep(): void {
    for (const request of this.#open.keys()) {
      const response = getResponse(request);
      if (response?.upgrade) this.#release(request);
      else if (request.destroyed && !response) this.#end(request, true);
    }
    this.agentLimits.sweep();
  }

  /** When its answer came, nobody has told. */
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

/** The application is no longer there to catch what its agent throws, as of options that do not fit: it is the request's error then. */
function addLate(request: ClientRequest, add: () => void): void {
  try {
    add();
  } catch (error) {
    const { onSocket } = request as unknown as { onSocket(socket: null, error: unknown): void };
    onSocket.call(request, null, error);
  }
}
