import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { Agent, type ClientRequest, type IncomingMessage } from 'node:http';
import type { Call, Calls } from './calls.cjs';
import { quiet } from './clock.cjs';

interface AgentOptions {
  host?: string;
  hostname?: string;
  port?: number | string;
  defaultPort?: number | string;
  socketPath?: string;
}

type AddRequest = (
  this: Agent,
  request: ClientRequest,
  options: AgentOptions | string,
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
  readonly #calls: Calls;
  readonly #open = new Map<ClientRequest, Call>();
  #observes = false;
  #original: AddRequest | null = null;
  #patched: AddRequest | null = null;

  constructor(calls: Calls) {
    this.#calls = calls;
  }

  observe(on: boolean): void {
    if (on === this.#observes) return;
    this.#observes = on;
    if (on) {
      this.#patch();
      subscribe('http.client.request.start', this.#onStart);
      subscribe('http.client.response.finish', this.#onResponse);
      return;
    }
    unsubscribe('http.client.request.start', this.#onStart);
    unsubscribe('http.client.response.finish', this.#onResponse);
    for (const call of this.#open.values()) call.ended(true);
    this.#open.clear();
  }

  /** Takes the place in `Agent` back, unless somebody else has put himself before it. */
  restore(): void {
    this.observe(false);
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
      try {
        probe.#begin(this, request, options);
      } catch {
        // The call goes on unseen.
      }
      original.call(this, request, options, ...legacy);
    };
    prototype.addRequest = this.#patched;
  }

  #begin(agent: Agent, request: ClientRequest, options: AgentOptions | string): void {
    if (!this.#observes) return;
    const { maxSockets } = agent;
    const bound = Number.isFinite(maxSockets) ? maxSockets : null;
    this.#open.set(request, this.#calls.begin(originOf(request, options), bound));
  }

  readonly #onStart = quiet((message: unknown) => {
    const { request } = message as Message;
    this.#open.get(request)?.sent();
  });

  readonly #onResponse = quiet((message: unknown) => {
    const { request, response } = message as Message;
    if (!this.#open.has(request)) return;
    response.once('close', () => this.#end(request, !response.complete));
  });

  /** Ends those that failed before there was an answer. */
  sweep(): void {
    for (const request of this.#open.keys()) {
      if (request.destroyed && !hasResponse(request)) this.#end(request, true);
    }
  }

  #end(request: ClientRequest, failed: boolean): void {
    this.#open.get(request)?.ended(failed);
    this.#open.delete(request);
  }
}

function originOf(request: ClientRequest, options: AgentOptions | string): string {
  if (typeof options === 'string') return `${request.protocol}//${options}`;
  const { socketPath, host, hostname, port, defaultPort } = options;
  if (socketPath) return `unix:${socketPath}`;
  return `${request.protocol}//${host ?? hostname ?? 'localhost'}:${port ?? defaultPort ?? ''}`;
}

function hasResponse(request: ClientRequest): boolean {
  return Boolean((request as ClientRequest & { res?: IncomingMessage }).res);
}
