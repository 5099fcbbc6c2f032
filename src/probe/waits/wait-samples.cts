import { dirname } from 'node:path';
import type { StackFrame, WaitSample, WaitSamples, WaitSource } from '../protocol.cjs';
import { pause, random } from '../runtime/clock.cjs';
import { type CapturedStack, type ReadFrame, readStack } from './captured-stack.cjs';

interface Kept {
  source: WaitSource;
  stacks: readonly CapturedStack[];
  route: string;
  ms: number;
}

/** Maximum number of waits that are kept. */
const MAX_KEPT = 4000;
/** First threshold, set when more than `MAX_KEPT` waits are kept. */
const FIRST_THRESHOLD_MS = 0.05;
/** Maximum number of frames of joined stacks. */
const MAX_FRAMES = 100;
/** Stacks that are read in one turn of the loop. */
const READ_AT_ONCE = 100;

/**
 * A bounded sample of waits. A wait shorter than the threshold is kept with probability length / threshold and then counts
 * as long as the threshold. So sums are unbiased, and every longer wait is kept.
 */
export class WaitReservoir {
  #kept: Kept[] = [];
  #thresholdMs = 0;

  /** Adds a wait, with the stacks of the code that led to it, innermost first. */
  add(source: WaitSource, stacks: readonly CapturedStack[], route: string, ms: number): void {
    const wait = this.#select({ source, stacks, route, ms });
    if (!wait) return;
    this.#kept.push(wait);
    if (this.#kept.length <= MAX_KEPT) return;
    this.#thresholdMs = Math.max(FIRST_THRESHOLD_MS, 2 * this.#thresholdMs);
    this.#kept = this.#kept.flatMap((one) => this.#select(one) ?? []);
  }

  #select(wait: Kept): Kept | null {
    const length = this.#thresholdMs;
    if (wait.ms >= length) return wait;
    return random() * length < wait.ms ? { ...wait, ms: length } : null;
  }

  /** Reads the stacks, a few at a time, and merges equal waits. */
  async read(): Promise<Pick<WaitSamples, 'frames' | 'samples'>> {
    const frames = new Numbered<StackFrame>();
    const merged = new Map<string, WaitSample>();
    const kept = this.#kept;
    this.#kept = [];
    for (let from = 0; from < kept.length; from += READ_AT_ONCE) {
      const some = kept.slice(from, from + READ_AT_ONCE);
      for (const { source, stacks, route, ms } of some) {
        const stack = joinStacks(stacks).map((frame) => frames.number(frame));
        const key = JSON.stringify([source, route, stack]);
        const known = merged.get(key);
        if (known) known.ms += ms;
        else merged.set(key, { source, route, stack, ms });
      }
      await pause(1);
    }
    return { frames: frames.all, samples: [...merged.values()] };
  }
}

/**
 * Joins the stack of a wait with those of the code that led to it, innermost first. V8 has the callers of a function that
 * continues after `await`, up to the limit of frames; those of a callback are in the stack in which it was handed over.
 */
function joinStacks(stacks: readonly CapturedStack[]): StackFrame[] {
  const joined: ReadFrame[] = [];
  for (const captured of stacks) {
    const frames = readStack(captured);
    joined.push(...frames.slice(findCallers(joined, frames)));
  }
  return joined.slice(0, MAX_FRAMES).map(({ frame }) => frame);
}

/** Finds from where on a stack has callers of joined frames. */
function findCallers(joined: readonly ReadFrame[], frames: readonly ReadFrame[]): number {
  if (joined.length === 0) return 0;
  const known = joined.filter(isOutsideNode);
  const added = frames.filter(isOutsideNode);
  const functions = new Set(known.map(({ functionId }) => functionId));
  // Without a common function, all frames led here. Otherwise add the callers of the outermost known one, if they were cut off.
  if (!added.some(({ functionId }) => functions.has(functionId)))
    return added.length > 0 ? 0 : frames.length;
  const outermost = known.at(-1)?.functionId;
  const cutOff = frames.findLastIndex(({ functionId }) => functionId === outermost);
  return cutOff < 0 ? frames.length : cutOff + 1;
}

/** Whether a frame is neither of Node.js nor of the probe. */
function isOutsideNode({ frame: { file } }: ReadFrame): boolean {
  return file !== null && !file.startsWith('node:') && !file.startsWith(PROBE);
}

const PROBE = dirname(__dirname);

/** Numbers equal values alike. */
class Numbered<Value> {
  readonly all: Value[] = [];
  readonly #numbers = new Map<string, number>();

  number(value: Value): number {
    const key = JSON.stringify(value);
    const known = this.#numbers.get(key);
    if (known !== undefined) return known;
    this.#numbers.set(key, this.all.length);
    return this.all.push(value) - 1;
  }
}
