import type { InboundResponse } from '../inbound/channels.cjs';
import type { WaitSource } from '../protocol.cjs';
import { now } from '../runtime/clock.cjs';
import type { CapturedStack } from './captured-stack.cjs';
import type { Operation } from './operation.cjs';
import { source } from './wait-source.cjs';

/** An outbound request of `node:http`: its origin, and where it began. */
export interface OutboundCall {
  origin: string;
  stack: CapturedStack;
}

/** A question on a connection: its peer, and when it was written. */
export interface Asked {
  target: string;
  askedAt: number;
}

/** A thing that continues a request's code when it happens. */
export interface Wait {
  readonly request: TrackedRequest;
  source: WaitSource;
  /** Where it began, then the code that led there; without stacks if that was not captured. */
  readonly stacks: readonly CapturedStack[];
  /** For a reaction to a promise: that promise, if the same request has created it. */
  readonly of: Wait | null;
  /** Whether it is a reaction to a promise: an `await`, or a callback of `then`. */
  readonly isReaction: boolean;
  isOver: boolean;
  /** The handle by which bytes arrive. */
  readonly handle: object | null;
  /** For a promise that bytes have settled, without another promise in between: the question that they answer. */
  answered: Asked | null;
}

/** Receives what a request waited for between two times. */
export type OnWaited = (wait: Wait, from: number, to: number) => void;

/** A request that arrived while waits were observed: its code runs, waits, and runs again. */
export class TrackedRequest {
  readonly response: InboundResponse;
  readonly route: string;
  /** Number of requests that it stands for. */
  readonly represented: number;
  /** Numbers of its resources in `async_hooks`. */
  readonly resources: number[] = [];
  /** Outbound exchanges that report their phases. */
  readonly operations = new Set<Operation>();
  /** The outbound request of `node:http` that its code began last. */
  call: OutboundCall | null = null;
  isEnded = false;
  /** Stacks of what continued the current run, and of what the code began last; used for what Node.js begins by itself. */
  cause: readonly CapturedStack[] = [];
  lastStacks: readonly CapturedStack[] = [];
  #isRunning = true;
  #idleSince = 0;
  readonly #waits: Wait[] = [];
  /** Index of the first wait of the last run. */
  #firstOfRun = 0;

  constructor(response: TrackedRequest['response'], route: string, represented: number) {
    this.response = response;
    this.route = route;
    this.represented = represented;
  }

  get waitCount(): number {
    return this.#waits.length;
  }

  add(wait: Pick<Wait, 'source'> & Partial<Wait>): Wait {
    const added: Wait = {
      ...{
        request: this,
        stacks: [],
        of: null,
        isReaction: false,
        isOver: false,
        handle: null,
        answered: null,
      },
      ...wait,
    };
    this.#waits.push(added);
    return added;
  }

  /** Resumes the request's code, which `wait` continues. */
  resume(wait: Wait, onWaited: OnWaited): void {
    wait.isOver = true;
    if (this.#isRunning) return;
    this.#isRunning = true;
    this.cause = wait.stacks;
    this.lastStacks = wait.stacks;
    this.#firstOfRun = this.#waits.length;
    const at = now();
    if (at > this.#idleSince) onWaited(wait, this.#idleSince, at);
  }

  /** Marks the request's code as returned. */
  pause(): void {
    this.#isRunning = false;
    this.#idleSince = now();
  }

  /** Finds an exchange that is open; `null` without one. */
  findOperation(): Operation | null {
    for (const operation of this.operations) if (!operation.isEnded) return operation;
    return null;
  }

  /** Takes the exchange whose phase changed last since a time; `null` if none did. */
  takeOperation(since: number): Operation | null {
    let last: Operation | null = null;
    for (const operation of this.operations)
      if (operation.changedAt >= Math.max(since, last?.changedAt ?? 0)) last = operation;
    if (last?.isEnded) this.operations.delete(last);
    return last;
  }

  /** Ends the request. If its code is not running, the time since it returned was a wait. */
  end(waitsFor: Wait | null, onWaited: OnWaited): void {
    this.isEnded = true;
    if (waitsFor && !this.#isRunning) onWaited(waitsFor, this.#idleSince, now());
  }

  /**
   * Guesses what it waits for now: what its last run of code began first, since that is what the others wait for. Input
   * and output precede promises, and those timers.
   */
  guessWait(): Wait {
    const open = this.#waits.filter(isOpen);
    const ofRun = this.#waits.slice(this.#firstOfRun).filter(isOpen);
    const find = (waits: Wait[]) =>
      waits.find(({ isReaction, source: { kind } }) => !isReaction && kind !== 'timer') ??
      waits.find(({ isReaction }) => isReaction) ??
      waits[0];
    return find(ofRun) ?? find(open) ?? this.unseen();
  }

  /** A wait of which nothing was seen. */
  unseen(): Wait {
    return this.add({ source: source('unseen') });
  }
}

/** A promise by itself continues nothing, only the reactions to it do. */
function isOpen({ isOver, isReaction, source: { kind }, of }: Wait): boolean {
  return (
    !isOver && (isReaction ? !of?.isOver : kind !== 'promise' && kind !== 'loop' && kind !== 'body')
  );
}
