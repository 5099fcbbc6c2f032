import type { History } from '../hypotheses/history.js';
import { type Evaluation, isHypothesis } from '../hypotheses/hypothesis.js';
import type { Metrics } from '../metrics/types.js';
import type { Limit } from './limit.js';
import { LIMITS } from './limits.js';

/** Evaluates the metrics for every limit that has a detector; where only clients' requests are seen, for those that they show. */
export function evaluateHypotheses(metrics: Metrics, history: History): Evaluation {
  const limits: Limit[] = Object.values(LIMITS);
  const seen = metrics.isWatched ? limits.filter((limit) => !limit.needsOwnLoad) : limits;
  const detectors = seen.flatMap((limit) => limit.detectors);
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
