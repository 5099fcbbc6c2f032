import { estimateRatio } from '../../../statistics/ratio.js';
import type { MeasuredRatio } from '../../../statistics/types.js';
import type { Retained } from '../../hypotheses/machine/memory.js';
import type { ServerUnderTest } from '../../target/server-under-test.js';

/** Bytes that are held after a full collection, by all processes with a probe; `null` without one. */
export async function heldBytes({ hub }: ServerUnderTest): Promise<number | null> {
  if (!hub) return null;
  // A process that ends meanwhile, or cannot: then this is not seen.
  const answers = await hub.command('collect', {}).catch(() => []);
  return answers.length === 0 ? null : answers.reduce((sum, bytes) => sum + bytes, 0);
}

/** Memory that is kept per request, round by round, against what the baseline showed: a leak goes on, a cache is full once. */
export class Growth {
  readonly #subject: ServerUnderTest;
  readonly #pairs: [number, number][] = [];
  readonly #before: Retained | null;
  #heldBefore: number;
  #answeredBefore: number;

  constructor(subject: ServerUnderTest, retained: Retained | null) {
    this.#subject = subject;
    this.#before = retained;
    this.#heldBefore = retained?.afterBytes ?? 0;
    this.#answeredBefore = subject.answered;
  }

  readonly round = async (): Promise<void> => {
    const held = await heldBytes(this.#subject);
    if (held === null || !this.#before) return;
    const { requests, beforeBytes, afterBytes } = this.#before;
    const first = (afterBytes - beforeBytes) / requests;
    const answered = this.#subject.answered - this.#answeredBefore;
    // Shrinking is no growth of any ratio.
    const since = Math.max(1, held - this.#heldBefore) / Math.max(1, answered);
    this.#pairs.push([first, since]);
    this.#answeredBefore = this.#subject.answered;
    this.#heldBefore = held;
  };

  measured(): MeasuredRatio | null {
    return this.#pairs.length >= 2 ? estimateRatio(this.#pairs) : null;
  }
}
