// Which shares of a run there are, and what they have together.
import { usageError } from '../errors/millrace-error.js';
import type { GeneratorResult, PlanShare } from '../load/result.js';
import { nameGenerator } from '../load/segment.js';

/**
 * Refuses runs that are given twice, and shares of different runs. Returns the shares that are missing: none for runs that are
 * not shares.
 */
export function checkShares(generators: readonly GeneratorResult[]): number[] {
  const name = (generator: GeneratorResult) =>
    `'${nameGenerator(generator, generators.indexOf(generator))}'`;
  const [first] = generators;
  if (!first) return [];
  for (const other of generators) {
    if ((other.segment?.count ?? null) === (first.segment?.count ?? null)) continue;
    throw usageError(
      `${name(first)} is ${describeSegment(first)}, ${name(other)} is ${describeSegment(other)}: only shares of one run can be merged`,
    );
  }
  refuseTwice(generators, name);
  const found = new Set(generators.map(({ segment }) => segment?.index));
  const count = first.segment?.count ?? 0;
  return Array.from({ length: count }, (_, index) => index + 1).filter((one) => !found.has(one));
}

function describeSegment({ segment }: GeneratorResult): string {
  return segment ? `share ${segment.index} of ${segment.count}` : 'a whole run';
}

function refuseTwice(
  generators: readonly GeneratorResult[],
  name: (generator: GeneratorResult) => string,
): void {
  const known = new Map<string, GeneratorResult>();
  for (const generator of generators) {
    const { segment, startedAtMs, durationMs, meanInFlight, requests } = generator;
    // Runs may begin at the same instant, and send as many requests, but not have the same times.
    const identity = [startedAtMs, durationMs, meanInFlight, requests.sent];
    const key = segment ? `${segment.index}` : identity.join(' ');
    const other = known.get(key);
    known.set(key, generator);
    if (!other) continue;
    const what = segment ? describeSegment(generator) : 'the same run';
    const [one, two] = [name(other), name(generator)];
    throw usageError(
      one === two
        ? `${one} (${what}) is given twice, on its own or in a merged result`
        : `${one} and ${two} are both ${what}`,
    );
  }
}

/** Returns what the runs have together: the whole of a run whose shares are complete, else the sum. */
export function addShares(
  generators: readonly GeneratorResult[],
  missing: readonly number[],
): PlanShare {
  const shares = generators.map(({ share }) => share);
  const [first] = generators;
  if (!first) throw new RangeError('no generators');
  if (first.segment && missing.length === 0) return first.segment.whole;
  const add = (read: (share: PlanShare) => number) => sum(shares.map(read));
  const addKnown = (read: (share: PlanShare) => number | null) => {
    const values = shares.map(read).filter((value) => value !== null);
    return values.length === 0 ? null : sum(values);
  };
  const { connectionStages, stages, users } = first.share;
  return {
    connections: add(({ connections }) => connections),
    initialConnections: add(({ initialConnections }) => initialConnections),
    connectionStages: connectionStages.map((stage, index) => ({
      ...stage,
      connections: add((share) => share.connectionStages[index]?.connections ?? 0),
    })),
    rate: addKnown(({ rate }) => rate),
    stages: stages.map((stage, index) => ({
      ...stage,
      rate: add((share) => share.stages[index]?.rate ?? 0),
    })),
    requests: addKnown(({ requests }) => requests),
    maxPending: addKnown(({ maxPending }) => maxPending),
    ...(users !== undefined && { users: add((share) => share.users ?? 0) }),
  };
}

/** Adds numbers, of which rates may have fractions: 3 times 0.1 is 0.3. */
function sum(values: readonly number[]): number {
  return Number(values.reduce((all, value) => all + value, 0).toPrecision(12));
}
