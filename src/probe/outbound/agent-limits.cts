import { AsyncResource } from 'node:async_hooks';
import type { Agent, ClientRequest } from 'node:http';
import { every } from '../runtime/clock.cjs';

/** Maximum number of limited agents. A process with more creates one per request, and their limits have no effect. */
const MAX_AGENTS = 100;
const POLL_MS = 2;

/** Passes a request to its agent, in the async context of the application. */
type Add = () => void;

/** A limit as the application configured it, and as it is applied now. */
interface SocketLimit {
  configured: number;
  applied: number;
}

/**
 * The limits of agents (`maxSockets`), which an experiment can scale.
 *
 * After an increase, waiting requests are passed to their agent again. A decrease alone would take no socket from an
 * agent whose queue is never empty. So requests are held here until enough sockets are idle, and those sockets are
 * closed.
 */
export class AgentLimits {
  readonly #limits = new Map<Agent, SocketLimit>();
  /** Requests that were passed to a limited agent, and have no known socket yet. */
  readonly #waiting = new Map<ClientRequest, Add>();
  readonly #queues = new Map<Agent, Add[]>();
  #factor = 1;
  #timer: NodeJS.Timeout | null = null;

  /** Returns whether a new request is held here and added later. */
  enqueueIfLimited(agent: Agent, request: ClientRequest, add: Add): boolean {
    if (!this.#limits.has(agent)) {
      if (!Number.isFinite(agent.maxSockets) || this.#limits.size >= MAX_AGENTS) return false;
      const limit = { configured: agent.maxSockets, applied: agent.maxSockets };
      this.#limits.set(agent, limit);
      this.#apply(agent, limit);
    }
    const boundAdd = AsyncResource.bind(add);
    this.#waiting.set(request, boundAdd);
    const queue = this.#queues.get(agent);
    queue?.push(boundAdd);
    return queue !== undefined;
  }

  /** Removes requests that got a socket, or no longer need one, while nothing was observed. */
  sweep(): void {
    for (const request of this.#waiting.keys()) {
      if (request.socket || request.destroyed) this.#waiting.delete(request);
    }
  }

  /** Removes a request that has a socket, or no longer needs one. */
  forget(request: ClientRequest): void {
    this.#waiting.delete(request);
  }

  /** Multiplies the limits that the application configured. Returns the limits now in effect. */
  scale(factor: number): number[] {
    this.#factor = factor;
    const limits = [...this.#limits].map(([agent, limit]) => {
      this.#apply(agent, limit);
      const queue = this.#queues.get(agent) ?? [];
      for (const add of this.#takeWaiting(agent)) queue.push(add);
      this.#queues.set(agent, queue);
      return agent.maxSockets;
    });
    this.#releaseQueues();
    this.#timer ??= this.#queues.size > 0 ? every(POLL_MS, () => this.#releaseQueues()) : null;
    return limits;
  }

  /** Restores the application's limits. */
  restore(): void {
    const isChanged = this.#factor !== 1 || this.#queues.size > 0;
    // Otherwise the queues of the application stay as they are.
    if (isChanged) {
      this.scale(1);
      this.#releaseQueues(true);
    }
    this.#limits.clear();
    this.#waiting.clear();
  }

  /** Applies the factor. A limit that the application has changed meanwhile becomes the configured one. */
  #apply(agent: Agent, limit: SocketLimit): void {
    if (agent.maxSockets !== limit.applied) limit.configured = agent.maxSockets;
    const isChanged = this.#factor !== 1;
    limit.applied = isChanged
      ? Math.max(1, Math.round(limit.configured * this.#factor))
      : limit.configured;
    agent.maxSockets = limit.applied;
  }

  /** Takes the waiting requests out of the agent's queues. */
  #takeWaiting(agent: Agent): Add[] {
    const taken: Add[] = [];
    const queues = agent.requests as Record<string, ClientRequest[]>;
    for (const [name, queue] of Object.entries(queues)) {
      const others = queue.filter((request) => {
        const add = this.#waiting.get(request);
        if (add) taken.push(add);
        return !add;
      });
      queue.splice(0, queue.length, ...others);
      if (queue.length === 0) delete queues[name];
    }
    return taken;
  }

  /** Passes held requests to the agents that are within their limit again. */
  #releaseQueues(all = false): void {
    for (const [agent, queue] of this.#queues) {
      if (!closeSurplus(agent) && !all) continue;
      this.#queues.delete(agent);
      for (const add of queue) add();
    }
    if (this.#queues.size > 0) return;
    clearInterval(this.#timer ?? undefined);
    this.#timer = null;
  }
}

/**
 * Closes idle sockets down to the agent's limit for each origin. Returns whether the agent is within its limit.
 *
 * Surplus sockets would otherwise stay open until the other side closes them, and a request sent at that moment fails.
 */
function closeSurplus({ sockets, freeSockets, maxSockets }: Agent): boolean {
  const names = new Set([...Object.keys(sockets), ...Object.keys(freeSockets)]);
  const overLimit = [...names].filter((name) => {
    const idle = freeSockets[name]?.filter(({ destroyed }) => !destroyed) ?? [];
    const surplus = (sockets[name]?.length ?? 0) + idle.length - maxSockets;
    for (const socket of idle.slice(0, Math.max(0, surplus))) socket.destroy();
    return surplus > idle.length;
  });
  return overLimit.length === 0;
}
