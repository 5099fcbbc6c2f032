import type { WaitPhase, WaitSource } from '../protocol.cjs';

/** An outbound exchange that reports in which phase it is. */
export class Operation {
  readonly #target: string;
  readonly #phases: { phase: WaitPhase; from: number }[] = [];

  /** Time of the last change. */
  changedAt = 0;
  isEnded = false;

  constructor(target: string, from: number) {
    this.#target = target;
    this.enter('connection', from);
  }

  /** Enters the next phase; `''` ends it. */
  enter(phase: WaitPhase, from: number): void {
    this.#phases.push({ phase, from });
    this.changedAt = from;
    this.isEnded = phase === '';
  }

  /** Whether it still waits for a connection. */
  get isQueued(): boolean {
    return this.#phases.at(-1)?.phase === 'connection';
  }

  /** Splits a range of time by the phases. */
  split(from: number, to: number, onPart: (source: WaitSource, ms: number) => void): void {
    this.#phases.forEach(({ phase, from: began }, index) => {
      const ended = this.#phases[index + 1]?.from ?? to;
      // What follows its end is the time until the code runs.
      const [first, last] = [index === 0 ? from : Math.max(from, began), Math.min(to, ended)];
      if (last <= first) return;
      onPart({ kind: 'http', target: this.#target, phase: phase || 'body' }, last - first);
    });
  }
}
