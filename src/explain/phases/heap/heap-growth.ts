import { estimateRatio } from '../../../statistics/ratio.js';
import type { MeasuredRatio } from '../../../statistics/types.js';
import type { Retained } from '../../hypotheses/history.js';
import type { ServerUnderTest } from '../../target/server-under-test.js';

/**
 * Measures the heap bytes in use after a full collection, summed over all processes with a probe; `null` without one.
 */
export async function measureHeapBytes({ hub }: ServerUnderTest): Promise<number | null> {
  if (!hub) return null;
  // Fails if a process ends meanwhile or does not support it; then the value is unknown.
  const answers = await hub.command('collect', {}).catch(() => []);
  return answers.length === 0 ? null : answers.reduce((sum, bytes) => sum + bytes, 0);
}

/** Computes the bytes by which the heap grows per second; `null` if unknown. */
export function computeGrowthRate(retained: Retained | null, throughput: number): number | null {
  if (!retained) return null;
  const { requests, beforeBytes, afterBytes } = retained;
  return Math.max(1, ((afterBytes - beforeBytes) / Math.max(1, requests)) * throughput);
}

/**
 * Memory retained per request, round by round, relative to the baseline: a leak keeps growing, a cache fills up once.
 */
export class HeapGrowth {
  readonly #subject: ServerUnderTest;
  readonly #pairs: [number, number][] = [];
  readonly #baseline: Retained | null;
  #bytesBefore: number;
  #responsesBefore: number;

  constructor(subject: ServerUnderTest, retained: Retained | null) {
    this.#subject = subject;
    this.#baseline = retained;
    this.#bytesBefore = retained?.afterBytes ?? 0;
    this.#responsesBefore = subject.responseCount;
  }

  readonly measureRound = async (): Promise<void> => {
    const bytes = await measureHeapBytes(this.#subject);
    if (bytes === null || !this.#baseline) return;
    const { requests, beforeBytes, afterBytes } = this.#baseline;
    const first = (afterBytes - beforeBytes) / requests;
    const responses = this.#subject.responseCount - this.#responsesBefore;
    // A heap that shrinks counts as one byte of growth, since a ratio needs a positive number.
    const since = Math.max(1, bytes - this.#bytesBefore) / Math.max(1, responses);
    this.#pairs.push([first, since]);
    this.#responsesBefore = this.#subject.responseCount;
    this.#bytesBefore = bytes;
  };

  computeRatio(): MeasuredRatio | null {
    return this.#pairs.length >= 2 ? estimateRatio(this.#pairs) : null;
  }
}
