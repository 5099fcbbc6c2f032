import type { History } from '../hypotheses/history.js';
import { type Evaluation, isHypothesis } from '../hypotheses/hypothesis.js';
import type { Metrics } from '../metrics/types.js';
import { LIMITS } from './limits.js';

/** Evaluates the metrics for every limit that has a detector. */
export function evaluateHypotheses(metrics: Metrics, history: History): Evaluation {
  const detectors = Object.values(LIMITS).flatMap((limit) => limit.detectors);
  const found = detectors.flatMap((detect) => detect(metrics, history) ?? []);
  const hypotheses = found.filter(isHypothesis).sort((a, b) => b.weight - a.weight);
  const supportedLimits = new Set(hypotheses.map(({ limit }) => limit));
  return {
    // Of several results for a limit the strongest counts.
    hypotheses: hypotheses.filter(
      (it) => it === hypotheses.find(({ limit }) => limit === it.limit),
    ),
    ruledOut: found.flatMap((it) =>
      isHypothesis(it) || supportedLimits.has(it.limit) ? [] : [it],
    ),
  };
}
