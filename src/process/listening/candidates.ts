import type { OwnListener } from './port-owners.js';
import type { Answer } from './trial-request.js';

/** A port of a command, and its answer so far. */
export interface Candidate {
  listener: OwnListener;
  /** `undefined` without an answer yet. */
  answer: Answer | undefined;
  isAsked: boolean;
  answeredAt: number;
}

/** How long a process is given to listen itself after a descendant of it listens. */
export const SETTLE_MS = 300;
/** How long to wait for a better answer from another port. */
const MAX_WAIT_MS = 1000;
/** The same if the port closes connections: a proxy may be in front of a server that is not ready. */
const MAX_CLOSED_WAIT_MS = 3000;
/** Interval between requests to a port that closes connections. */
const RETRY_MS = 50;

/** The ports of a command, one of which is to be loaded: the one that answers the request best. */
export class Candidates {
  readonly #sendRequest: (listener: OwnListener) => Promise<Answer>;
  readonly #known = new Map<number, Candidate>();
  /** When a port was last opened or closed. */
  #changedAt = 0;

  /** @param sendRequest sends the request to a port; never rejects */
  constructor(sendRequest: (listener: OwnListener) => Promise<Answer>) {
    this.#sendRequest = sendRequest;
  }

  /**
   * Chooses one of the open ports, which are in order of preference; `null` if it is too early. With `isLast` one must
   * be chosen.
   */
  choose(listeners: OwnListener[], isLast: boolean): Candidate | null {
    const open = this.#update(listeners);
    const quietMs = performance.now() - this.#changedAt;
    const serving = open.findIndex(({ answer }) => rank(answer) === 0);
    const found = open[serving];
    if (found) {
      const isFirst = open.slice(0, serving).every(({ answer }) => answer !== undefined);
      const isSettled = found.listener.depth === 0 || quietMs >= SETTLE_MS;
      if (isLast || (isSettled && (isFirst || quietMs >= MAX_WAIT_MS))) return found;
      return null;
    }
    const [best] = open.toSorted((a, b) => rank(a.answer) - rank(b.answer));
    if (!best) return null;
    const maxWaitMs = best.answer === 'nothing' ? MAX_CLOSED_WAIT_MS : MAX_WAIT_MS;
    return isLast || quietMs >= maxWaitMs ? best : null;
  }

  /** Updates the known ports, and sends the requests that are due. */
  #update(listeners: OwnListener[]): Candidate[] {
    const inodes = new Set(listeners.map(({ inode }) => inode));
    for (const inode of this.#known.keys()) if (!inodes.has(inode)) this.#forget(inode);
    return listeners.map((listener) => {
      const candidate = this.#known.get(listener.inode) ?? this.#add(listener);
      const { answer, isAsked, answeredAt } = candidate;
      const isDue = answer === undefined || performance.now() - answeredAt >= RETRY_MS;
      if (!isAsked && isDue && (answer === undefined || answer === 'nothing')) this.#ask(candidate);
      return candidate;
    });
  }

  #add(listener: OwnListener): Candidate {
    const candidate: Candidate = { listener, answer: undefined, isAsked: false, answeredAt: 0 };
    this.#known.set(listener.inode, candidate);
    this.#changedAt = performance.now();
    return candidate;
  }

  #forget(inode: number): void {
    this.#known.delete(inode);
    this.#changedAt = performance.now();
  }

  #ask(candidate: Candidate): void {
    candidate.isAsked = true;
    this.#sendRequest(candidate.listener).then((answer) => {
      candidate.answer = answer;
      candidate.isAsked = false;
      candidate.answeredAt = performance.now();
    });
  }
}

/** Rank of an answer: 0 is the best. A path that is not found may exist on another port. */
function rank(answer: Answer | undefined): number {
  if (answer === 404) return 1;
  if (typeof answer === 'number' || answer === 'tls') return 0;
  if (answer === undefined) return 2;
  return answer === 'other' ? 3 : 4;
}
