// What recorded runs are, in lines.

import { formatInterval } from '../documents/table.js';
import { computeMedian, computeMedianInterval } from '../harness/statistics.js';
import { computeScatter, pairRuns } from './designs.js';

/** Describes recorded runs: how much slower B is, and how much the pairs scatter in a design. */
export function describeRecording(units, runs, design) {
  const { different, same } = pairRuns(runs, design);
  const ratio = computeMedianInterval(different.map(([a, b]) => b / a));
  const [cpuOfA, cpuOfB] = ['a', 'b'].map((side) =>
    computeMedian(runs.filter((run) => run.side === side).map(({ cpuUs }) => cpuUs)),
  );
  const [ofSame, ofDifferent] = [same, different].map(
    (pairs) => `${(computeScatter(pairs) * 100).toFixed(1)} %`,
  );
  const bound = runs.filter(({ clientBound }) => clientBound).length;
  return [
    `- ${runs.length} runs; per request A has ${units.a} units of work, B ${units.b}; B ÷ A: requests/s ${formatInterval(ratio, 3)}, CPU per request ${(cpuOfB / cpuOfA).toFixed(3)}`,
    `- standard deviation of a pair's ratio: ${ofSame} of the same server, ${ofDifferent} of A and B; the client was the limit in ${bound} runs`,
  ];
}
