import type { OwnListener } from './listening.js';
import type { Answer } from './trial-request.js';

/** A port of a command, and what it has answered so far. */
export interface Candidate {
  listener: OwnListener;
  /** `undefined`: nothing yet. */
  answer: Answer | undefined;
  isAsked: boolean;
  answeredAt: number;
}

/** How long a process that has started another which listens has to do so itself. */
export const SETTLE_MS = 300;
/** How long one that answers badly, or not yet, waits for another that answers well. */
const PATIENCE_MS = 1000;
/** The same of one that takes no connection: something stands before a server that is not ready. */
const CLOSED_PATIENCE_MS = 3000;
/** Before one that takes no connection is asked again. */
const AGAIN_MS = 50;

/** The ports of a command, of which one is what people mean: it answers their request. */
export class Candidates {
  readonly #answerOf: (listener: OwnListener) => Promise<Answer>;
  readonly #known = new Map<number, Candidate>();
  /** When a port came or went. */
  #changedAt = 0;

  /** @param answerOf asks a port; never rejects */
  constructor(answerOf: (listener: OwnListener) => Promise<Answer>) {
    this.#answerOf = answerOf;
  }

  /** The port to take of those that are open now, in the order of preference; `null`: none yet. `isLast`: one has to do. */
  choose(listeners: OwnListener[], isLast: boolean): Candidate | null {
    const open = this.#update(listeners);
    const quietMs = performance.now() - this.#changedAt;
    const serving = open.findIndex(({ answer }) => rank(answer) === 0);
    const found = open[serving];
    if (found) {
      const isFirst = open.slice(0, serving).every(({ answer }) => answer !== undefined);
      const isSettled = found.listener.depth === 0 || quietMs >= SETTLE_MS;
      if (isLast || (isSettled && (isFirst || quietMs >= PATIENCE_MS))) return found;
      return null;
    }
    const [best] = open.toSorted((a, b) => rank(a.answer) - rank(b.answer));
    if (!best) return null;
    const patienceMs = best.answer === 'nothing' ? CLOSED_PATIENCE_MS : PATIENCE_MS;
    return isLast || quietMs >= patienceMs ? best : null;
  }

  /** Takes notice of what is open, and asks those that have to be asked. */
  #update(listeners: OwnListener[]): Candidate[] {
    const inodes = new Set(listeners.map(({ inode }) => inode));
    for (const inode of this.#known.keys()) if (!inodes.has(inode)) this.#forget(inode);
    return listeners.map((listener) => {
      const candidate = this.#known.get(listener.inode) ?? this.#add(listener);
      const { answer, isAsked, answeredAt } = candidate;
      const isDue = answer === undefined || performance.now() - answeredAt >= AGAIN_MS;
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
    this.#answerOf(candidate.listener).then((answer) => {
      candidate.answer = answer;
      candidate.isAsked = false;
      candidate.answeredAt = performance.now();
    });
  }
}

/** How well an answer fits: a path that is not there may be at another port; 0 is as wanted. */
function rank(answer: Answer | undefined): number {
  if (answer === 404) return 1;
  if (typeof answer === 'number' || answer === 'tls') return 0;
  if (answer === undefined) return 2;
  return answer === 'other' ? 3 : 4;
}
