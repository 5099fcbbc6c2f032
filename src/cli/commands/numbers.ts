import { createInterface } from 'node:readline';
import { usageError } from '../../errors.js';
import { count, rate } from '../../format/units.js';
import { EXIT } from '../exit.js';
import type { Flag } from '../flags/flag.js';
import { parseArguments } from '../flags/parse.js';
import { onInterrupt } from '../interrupt.js';

interface NumbersInvocation {
  json: boolean;
}

export const NUMBERS_FLAGS: Flag<NumbersInvocation>[] = [
  {
    name: 'json',
    group: 'Numbers',
    common: true,
    help: 'print the result as JSON',
    set(invocation) {
      invocation.json = true;
    },
  },
];

const REDRAW_MS = 100;
/** A number as programs print it: with commas between thousands or without, with or without an exponent. Hexadecimal ones are none. */
const NUMBER =
  /(?<!0x[\da-f]*)[-+]?(?:\d{1,3}(?:,\d{3})+(?![\d,])(?:\.\d*)?|(?!0x[\da-f])\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?/i;

/** Count, least, most, mean and last of the numbers on standard input, as they come; a line each. */
export async function numbersCommand(args: string[]): Promise<number> {
  const invocation: NumbersInvocation = { json: false };
  const { positional, command } = parseArguments(args, NUMBERS_FLAGS, invocation, {}, 'numbers');
  if (positional.length > 0 || command) {
    throw usageError(
      `numbers: '${positional[0] ?? '--'}' given; accepted: numbers on standard input, one on each line`,
    );
  }
  const summary = new Summary();
  const shown = process.stdout.isTTY === true && !invocation.json;
  let drawn = Number.NEGATIVE_INFINITY;
  const lines = createInterface({ input: process.stdin });
  // What came by then is the result.
  const listenNoLonger = onInterrupt(() => lines.close());
  for await (const line of lines) {
    summary.add(line);
    if (!shown || performance.now() - drawn < REDRAW_MS) continue;
    drawn = performance.now();
    process.stdout.write(`\r\x1b[K${summary.text()}`);
  }
  listenNoLonger();
  if (shown) process.stdout.write('\r\x1b[K');
  console.log(invocation.json ? JSON.stringify(summary.values()) : summary.text());
  if (summary.others > 0) {
    console.error(`millrace: ${count(summary.others)} of the lines hold no number`);
  }
  return summary.count > 0 ? EXIT.ok : EXIT.usage;
}

class Summary {
  count = 0;
  /** Lines without a number. */
  others = 0;
  #sum = 0;
  #min = Number.POSITIVE_INFINITY;
  #max = Number.NEGATIVE_INFINITY;
  #current = 0;

  /** The first number of the line: `12.5`, `heap 12.5 MB`. */
  add(line: string): void {
    const [found] = NUMBER.exec(line) ?? [];
    const value = Number(found?.replaceAll(',', '') ?? Number.NaN);
    // What no number can hold would spoil all that is said of the others.
    if (!Number.isFinite(value)) {
      if (line.trim() !== '') this.others += 1;
      return;
    }
    this.count += 1;
    this.#sum += value;
    this.#min = Math.min(this.#min, value);
    this.#max = Math.max(this.#max, value);
    this.#current = value;
  }

  values(): Record<'count' | 'min' | 'max' | 'average' | 'current', number | null> {
    const some = (value: number) => (this.count > 0 ? value : null);
    return {
      count: this.count,
      min: some(this.#min),
      max: some(this.#max),
      average: some(this.#sum / this.count),
      current: some(this.#current),
    };
  }

  text(): string {
    const { min, max, average, current } = this.values();
    const one = (value: number | null) => (value === null ? '–' : signed(value));
    return `count ${count(this.count)}  min ${one(min)}  max ${one(max)}  average ${one(average)}  current ${one(current)}`;
  }
}

function signed(value: number): string {
  return value < 0 ? `-${rate(-value)}` : rate(value);
}
