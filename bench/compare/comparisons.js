// Comparisons as users make them, one after the other: of a server with itself, and with one that takes longer.
import { compare } from '../../dist/compare/compare.js';
import { buildCommand, CONNECTIONS } from './record.js';

const WORDS = ['better', 'worse', 'no-difference', 'cannot-tell'];

/** Makes `count` comparisons of at most `budget` seconds; the result of each as far as it is reported. */
export async function makeComparisons({ units, count, budget, name, progress }) {
  const [a, b] = [units.a, units.b].map((own) => ({ command: buildCommand(own) }));
  const made = [];
  for (let number = 0; number < count; number++) {
    progress(`${name}: comparison ${number + 1}/${count}`);
    const options = { url: '/', connections: CONNECTIONS, budget: `${budget}s`, a, b };
    const { verdict, rows, runs, durationMs, ended } = await compare(options);
    const { low = null, high = null, estimate = null } = rows[0].ratio ?? {};
    made.push({ ...verdict, low, high, estimate, ended, runs: runs.length, durationMs });
  }
  return made;
}

/** Computes the shares of the words and the means of pairs and seconds, as `drawComparisons` does. */
export function summarizeComparisons(made) {
  const average = (pick) => made.reduce((sum, one) => sum + pick(one), 0) / made.length;
  const [better, worse, same, unknown] = WORDS.map((word) => average((one) => one.word === word));
  return {
    ...{ better, worse, same, unknown },
    pairs: average(({ runs }) => runs / 2),
    seconds: average(({ durationMs }) => durationMs / 1000),
  };
}
