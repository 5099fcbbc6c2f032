import { AsyncResource } from 'node:async_hooks';
import type { Agent, ClientRequest } from 'node:http';
import { every } from '../runtime/clock.cjs';

/** Where there are more agents with a bound than this, they are made per request, and their bounds bound nothing. */
const MAX_AGENTS = 100;
const POLL_MS = 2;

/** Gives a request to its agent, in the context in which the application made it. */
type Add = () => void;

/** A bound as the application wants it, and as it is for now. */
interface SocketLimit {
  configured: number;
  applied: number;
}

/**
 * The bounds of the agents (`maxSockets`), to be changed for an experiment.
 *
 * With a wider bound the requests that wait are given to their agent anew. A narrower one takes no socket from an agent
 * that always has requests waiting: so they are held back here till enough sockets are idle, and those are closed.
 */
export class AgentLimits {
  readonly #limits = new Map<Agent, SocketLimit>();
  /** Requests that were given to an agent with a bound, and have no socket that is known of. */
  readonly #waiting = new Map<ClientRequest, Add>();
  readonly #queues = new Map<Agent, Add[]>();
  #factor = 1;
  #timer: NodeJS.Timeout | null = null;

  /** A request comes to an agent. Returns whether it is held back, and will be added later. */
  enqueueIfLimited(agent: Agent, request: ClientRequest, add: Add): boolean {
    if (!this.#limits.has(agent)) {
      if (!Number.isFinite(agent.maxSockets) || this.#limits.size >= MAX_AGENTS) return false;
      const limit = { configured: agent.maxSockets, applied: agent.maxSockets };
      this.#limits.set(agent, limit);
      this.#apply(agent, limit);
    }
    const boundAdd = AsyncResource.bind(add);
    this.#waiting.set(request, boundAdd);
    const held = this.#queues.get(agent);
    held?.push(boundAdd);
    return held !== undefined;
  }

  /** Forgets those that have got a socket, or need none any more, while nothing was observed. */
  sweep(): void {
    for (const request of this.#waiting.keys()) {
      if (request.socket || request.destroyed) this.#waiting.delete(request);
    }
  }

  /** A request has a socket, or needs none any more. */
  forget(request: ClientRequest): void {
    this.#waiting.delete(request);
  }

  /** Multiplies the bounds as the application set them, and returns those now in force. */
  scale(factor: number): number[] {
    this.#factor = factor;
    const limits = [...this.#limits].map(([agent, limit]) => {
      this.#apply(agent, limit);
      const held = this.#queues.get(agent) ?? [];
      held.push(...this.#takeWaiting(agent));
      this.#queues.set(agent, held);
      return agent.maxSockets;
    });
    this.#releaseQueues();
    this.#timer ??= this.#queues.size > 0 ? every(POLL_MS, () => this.#releaseQueues()) : null;
    return limits;
  }

  /** As the application had it. */
  restore(): void {
    this.scale(1);
    this.#releaseQueues(true);
    this.#limits.clear();
    this.#waiting.clear();
  }

  /** What the application has set since holds from then on. */
  #apply(agent: Agent, limit: SocketLimit): void {
    if (agent.maxSockets !== limit.applied) limit.configured = agent.maxSockets;
    const isChanged = this.#factor !== 1;
    limit.applied = isChanged
      ? Math.max(1, Math.round(limit.configured * this.#factor))
      : limit.configured;
    agent.maxSockets = limit.applied;
  }

  /** Takes the requests that wait for a socket out of the agent's queues. */
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

  /** Gives what is held to the agents that have no more sockets than they may. */
  #releaseQueues(all = false): void {
    for (const [agent, held] of this.#queues) {
      if (!closeSurplus(agent) && !all) continue;
      this.#queues.delete(agent);
      for (const add of held) add();
    }
    if (this.#queues.size > 0) return;
    clearInterval(this.#timer ?? undefined);
    this.#timer = null;
  }
}

/**
 * Closes idle sockets to each origin down to the agent's bound; returns whether none has more than that.
 *
 * Left alone they would stay till the other side closes them, and a request that is sent just then fails.
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
