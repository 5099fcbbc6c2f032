import { Histogram } from '../../statistics/histogram.cjs';
import type { OutboundCounters, OutboundSample } from '../protocol.cjs';
import { now } from '../runtime/clock.cjs';

/** Maximum number of distinct origins; all others are counted as one. */
const MAX_ORIGINS = 50;
const OTHER = 'other';
/** Maximum number of addresses remembered as called by HTTP. */
const MAX_ADDRESSES = 10_000;

/** Calls to one origin. */
class Origin {
  readonly counters: OutboundCounters = {
    opened: 0,
    nagleSamples: 0,
    ended: 0,
    failed: 0,
    assigned: 0,
    waitMs: 0,
    answered: 0,
    answerMs: 0,
    answerSquaredMs: 0,
    waitingMs: 0,
    answeringMs: 0,
  };
  readonly answerTimes = new Histogram();
  maxSockets: number | null = null;
  waiting = 0;
  answering = 0;
  /** Queues whose length can only be polled. */
  readonly queues = new Set<Queue>();
  #queued = 0;
  #changedAt = now();
  isChanged = false;

  addNagleSample(): void {
    this.counters.nagleSamples++;
  }

  addConnection(): void {
    this.counters.opened++;
    this.isChanged = true;
  }

  /** Total number of sockets of its queues; `null` without a queue. */
  get queueLimit(): number | null {
    if (this.queues.size === 0) return null;
    return [...this.queues].reduce((sum, { maxSockets }) => sum + maxSockets, 0);
  }

  /** Updates the integrals. */
  integrate(at: number): void {
    const ms = at - this.#changedAt;
    this.counters.waitingMs += (this.waiting + this.#queued) * ms;
    // By Little's law: a queue's length does not show when its calls arrived.
    this.counters.waitMs += this.#queued * ms;
    this.counters.answeringMs += this.answering * ms;
    this.#changedAt = at;
    this.isChanged ||= this.waiting + this.#queued + this.answering > 0;
    this.#queued = 0;
    for (const { length } of this.queues) this.#queued += length();
  }
}

/** A queue in which calls wait for one of a limited number of sockets. */
export interface Queue {
  origin: string;
  maxSockets: number;
  length(): number;
}

/** One outbound call. States: waiting for a socket, waiting for the last byte of the answer, ended. */
export class Call {
  readonly #origin: Origin;
  #since: number;
  #state: 'waiting' | 'answering' | 'ended' = 'waiting';

  constructor(origin: Origin, at: number) {
    origin.integrate(at);
    origin.waiting++;
    this.#origin = origin;
    this.#since = at;
  }

  markSent(): void {
    if (this.#state !== 'waiting') return;
    const at = now();
    const { counters } = this.#leaveState(at);
    counters.assigned++;
    counters.waitMs += at - this.#since;
    this.#state = 'answering';
    this.#origin.answering++;
    this.#since = at;
  }

  /** Marks the call as ended at an unknown earlier time, so that no answer time is recorded. */
  markReleased(): void {
    if (this.#state === 'ended') return;
    this.#leaveState(now()).counters.ended++;
    this.#state = 'ended';
  }

  markEnded(failed: boolean): void {
    if (this.#state === 'ended') return;
    const at = now();
    const { counters, answerTimes } = this.#leaveState(at);
    counters.ended++;
    if (failed) counters.failed++;
    else if (this.#state === 'answering') {
      const ms = at - this.#since;
      counters.answered++;
      counters.answerMs += ms;
      counters.answerSquaredMs += ms * ms;
      answerTimes.add(ms);
    }
    this.#state = 'ended';
  }

  #leaveState(at: number): Origin {
    const origin = this.#origin;
    origin.integrate(at);
    if (this.#state === 'waiting') origin.waiting--;
    else origin.answering--;
    origin.isChanged = true;
    return origin;
  }
}

/** The outbound calls of a process, by origin. */
export class Calls {
  readonly #origins = new Map<string, Origin>();
  /** `host:port` of the origins called by HTTP. */
  readonly #http = new Set<string>();

  begin(name: string, maxSockets: number | null): Call {
    const origin = this.#findOrAdd(name);
    origin.maxSockets = maxSockets ?? origin.queueLimit;
    return new Call(origin, now());
  }

  #findOrAdd(name: string): Origin {
    const known = this.#origins.get(name);
    if (known) return known;
    const address = parseHttpAddress(name);
    if (address !== null && this.#http.size < MAX_ADDRESSES) this.#http.add(address);
    if (this.#origins.size >= MAX_ORIGINS && name !== OTHER) return this.#findOrAdd(OTHER);
    const origin = new Origin();
    this.#origins.set(name, origin);
    return origin;
  }

  addQueue(queue: Queue): void {
    this.#findOrAdd(queue.origin).queues.add(queue);
  }

  removeQueue(queue: Queue): void {
    this.#findOrAdd(queue.origin).queues.delete(queue);
  }

  /** Counts a connection opened for calls. */
  addConnection(name: string): void {
    this.#findOrAdd(name).addConnection();
  }

  /** Counts an observation of a connection with Nagle's algorithm on. */
  addNagleSample(name: string): void {
    this.#findOrAdd(name).addNagleSample();
  }

  /** Whether `host:port` is called by HTTP. */
  isHttp(address: string): boolean {
    return this.#http.has(address);
  }

  /** Returns the origins that changed since the last call. */
  read(at: number): Record<string, OutboundSample> {
    const changed: Record<string, OutboundSample> = {};
    for (const [name, origin] of this.#origins) {
      origin.integrate(at);
      if (!origin.isChanged) continue;
      const { counters, answerTimes, maxSockets } = origin;
      changed[name] = { counters, answerTimes: answerTimes.read(), maxSockets };
      origin.isChanged = false;
    }
    return changed;
  }
}

/** Parses `host:port` of an HTTP origin. */
function parseHttpAddress(origin: string): string | null {
  const [, tls, host, port] = /^http(s?):\/\/(.*?)(?::(\d*))?$/.exec(origin) ?? [];
  if (host === undefined) return null;
  // An IPv6 address has brackets in a URL, but may lack them in the options of a request.
  const bare = host.replace(/^\[|\]$/g, '');
  return `${bare.includes(':') ? `[${bare}]` : bare}:${port || (tls ? 443 : 80)}`;
}
