// Evaluates whether explain was right about a case. Pure.

/** The outcomes of a trial, from best to worst; those with `wrong-` are false claims. */
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

/** Share of the wanted CPU time from which on steal by the machine's host limits any service. */
const MIN_STOLEN_SHARE = 0.15;

/** Whether an outcome is a confirmed false claim. */
export const isConfident = (outcome) => outcome.startsWith('wrong-');

/** The limits that the remedy of a case removes; none without a remedy. */
export const removedLimits = ({ expected, remedy }) => (remedy ? (remedy.of ?? expected) : []);

/**
 * Evaluates an explanation (`null` if there is none) of a case: `{ said, status, outcome, prediction }`.
 *
 * - `right`: the verdict is an expected limit; `also-right`: it is another limit, and an expected one is listed too;
 * - `partly`: the verdict is true of the service, but less specific;
 * - `cannot-tell`: there is no verdict; `failed`: there is no explanation;
 * - `wrong-...`: the verdict is wrong; its status follows.
 *
 * `prediction` compares the predicted throughput of the remedy with the throughput that was measured after the case's
 * remedy, see `comparePrediction`; only for limits that this remedy removes.
 *
 * `measured`: completed requests per second with the remedy, `null` if they were not measured. `drift`: the speed of the
 * unchanged service at the time of the remedy, relative to its speed at the time of the explanation. `stolen`: the share of the
 * wanted CPU time that the machine's host took; from `MIN_STOLEN_SHARE` on the verdict `noisy-machine` is right.
 */
export function evaluateTrial(bench, explanation, { measured = null, drift = 1, stolen = 0 } = {}) {
  if (explanation === null)
    return { said: null, status: null, outcome: 'failed', prediction: null };
  const { expected, partly } = bench;
  const { limit, status, alsoLimiting } = explanation.verdict;
  const said = status === 'no-limit' ? 'no-limit' : limit;
  const comparable = measured !== null && removedLimits(bench).includes(said);
  return {
    said,
    status,
    outcome:
      said === 'noisy-machine' && stolen >= MIN_STOLEN_SHARE
        ? 'right'
        : classify({ said, status, alsoLimiting }, expected, partly),
    prediction: comparable
      ? comparePrediction(findPrediction(bench, explanation), measured, drift)
      : null,
  };
}

/** Finds the predicted throughput of the change that the case makes. */
export function findPrediction({ remedy }, explanation) {
  const { alternatives = [], predictedThroughput } = explanation?.remedy ?? {};
  const named =
    remedy?.promise && alternatives.find(({ change }) => change.includes(remedy.promise));
  return (named || { predictedThroughput }).predictedThroughput;
}

function classify({ said, status, alsoLimiting }, expected, partly) {
  // Without certainty there is no verdict, whatever hypotheses are listed.
  if (status === 'cannot-tell') return 'cannot-tell';
  if (expected.includes(said)) return 'right';
  if (alsoLimiting.some((limit) => expected.includes(limit))) return 'also-right';
  if (partly.includes(said)) return 'partly';
  return `wrong-${status}`;
}

/**
 * Compares a predicted range with the measured throughput at the machine's speed of the time of the prediction:
 * `{ predicted, measured, drift, error, within }`. `error` is the deviation of the middle of the range, relative to the
 * measured throughput. `null` without a prediction, or if no request was completed.
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
