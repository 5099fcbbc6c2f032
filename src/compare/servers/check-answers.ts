import { MillraceError } from '../../errors/millrace-error.js';
import { describeAnswerDifference } from '../differences/answer-difference.js';
import type { ComparisonSideName } from '../result.js';
import { type RequestAnswers, takeAnswers } from './answers.js';
import { type LiveSide, runOnSide } from './sides.js';

interface CheckOptions {
  /** Of the placeholders: both sides get the same requests. */
  seed: number;
  /** Returns the differences instead of refusing them. */
  allowDifference: boolean;
  onStep: (step: string) => void;
}

/**
 * Compares the answers of both sides to each request of the load, before it; returns how they differ.
 *
 * @throws {MillraceError} `ERR_MILLRACE_DIFFERENT` if they do and that is not allowed; what the start of a server throws.
 */
export async function checkAnswers(
  { a, b }: Record<ComparisonSideName, LiveSide>,
  { seed, allowDifference, onStep }: CheckOptions,
): Promise<string[]> {
  const ask = async (side: LiveSide) => {
    onStep(`comparing the answers: ${side.name.toUpperCase()}`);
    return runOnSide(side, () => takeAnswers(side, seed), '; nothing was measured');
  };
  const ofA = await ask(a);
  const ofB = await ask(b);
  if (listDifferences(ofA, ofB).length === 0) return [];
  // What a server chooses at its start, such as a port or a process id, differs between two starts of the same.
  const both = [merge(ofA, await askAgain(a, ofA, ask)), merge(ofB, await askAgain(b, ofB, ask))];
  const differences = listDifferences(both[0] ?? [], both[1] ?? []);
  const [first, ...more] = differences;
  if (first === undefined || allowDifference) return differences.slice(0, MAX_DIFFERENCES);
  const others = more.length > 0 ? ` (and ${more.length} more)` : '';
  throw new MillraceError(
    'ERR_MILLRACE_DIFFERENT',
    `the answers differ: ${first}${others}; --allow-difference compares the servers all the same`,
  );
}

/** Number of differences that a result lists. */
const MAX_DIFFERENCES = 20;

function askAgain(
  side: LiveSide,
  first: RequestAnswers[],
  ask: (side: LiveSide) => Promise<RequestAnswers[]>,
): Promise<RequestAnswers[]> {
  return side.load.command ? ask(side) : Promise.resolve(first);
}

function merge(first: RequestAnswers[], again: RequestAnswers[]): RequestAnswers[] {
  return first.map(({ request, answers }, index) => ({
    request,
    answers: [...answers, ...(again[index]?.answers ?? [])],
  }));
}

function listDifferences(a: RequestAnswers[], b: RequestAnswers[]): string[] {
  return a.flatMap(({ request, answers }, index) => {
    const difference = describeAnswerDifference(answers, b[index]?.answers ?? []);
    return difference === null ? [] : [`${request}: ${difference}`];
  });
}
