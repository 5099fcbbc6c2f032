// Evaluates whether explain was right about a case. Pure.

/** The outcomes of a trial, from best to worst; `wrong-` ones made a false claim. */
export const OUTCOMES = [
  'right',
  'also-right',
  'partly',
  'cannot-tell',
  'failed',
  'wrong-no-limit',
  'wrong-likely',
  'wrong-confirmed',
];

/** Share of the requested CPU time that the machine's host may take before it is a limit of any service. */
const ROBBED = 0.15;

/** Whether an outcome is a confirmed false claim. */
export const isConfident = (outcome) => outcome.startsWith('wrong-');

/**
 * Judges an explanation (`null` if there is none) of a case: `{ said, status, outcome, prediction }`.
 *
 * - `right`: it names an expected limit; `also-right`: it names another one, and an expected one beside it;
 * - `partly`: what it names is true of the service, but says less;
 * - `cannot-tell`: it says so; `failed`: there is no explanation;
 * - `wrong-...`: it says something else, with the status that follows.
 *
 * `prediction` compares the throughput that it predicts for its remedy with the one that was measured after the
 * case's remedy, see `comparePrediction`: only of the limits which that remedy removes.
 *
 * `measured`: completed requests per second with the remedy, `null` if that was not measured; `drift`: by how much the service
 * as it is was faster around that than around the explanation; `stolen`: what the machine's host took meanwhile of the CPU time
 * that was wanted: from `ROBBED` on a verdict of `noisy-machine` is right.
 */
export function evaluateTrial(
  { expected, partly, remedy },
  explanation,
  { measured = null, drift = 1, stolen = 0 } = {},
) {
  if (explanation === null)
    return { said: null, status: null, outcome: 'failed', prediction: null };
  const { limit, status, alsoLimiting } = explanation.verdict;
  const said = status === 'no-limit' ? 'no-limit' : limit;
  const removed = remedy?.of ?? expected;
  const comparable = measured !== null && removed.includes(said);
  return {
    said,
    status,
    outcome:
      said === 'noisy-machine' && stolen >= ROBBED
        ? 'right'
        : classify({ said, status, alsoLimiting }, expected, partly),
    prediction: comparable
      ? comparePrediction(explanation.remedy?.predictedThroughput, measured, drift)
      : null,
  };
}

function classify({ said, status, alsoLimiting }, expected, partly) {
  // An uncertain verdict is none, whatever it suspects.
  if (status === 'cannot-tell') return 'cannot-tell';
  if (expected.includes(said)) return 'right';
  if (alsoLimiting.some((limit) => expected.includes(limit))) return 'also-right';
  if (partly.includes(said)) return 'partly';
  return `wrong-${status}`;
}

/**
 * A predicted range against what was measured, at the speed that the machine had when it was predicted:
 * `{ predicted, measured, drift, error, within }`, where `error` is how far the middle of the range is off, as a share of what
 * was measured. `null` without a prediction, or if nothing was served.
 */
function comparePrediction(range, found, drift) {
  if (!range || !(found > 0)) return null;
  const measured = found / drift;
  const middle = (range.low + range.high) / 2;
  return {
    predicted: range,
    measured,
    drift,
    error: Math.abs(middle / measured - 1),
    within: range.low <= measured && measured <= range.high,
  };
}
