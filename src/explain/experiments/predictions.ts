import type { MeasuredRatio } from '../../statistics/types.js';
import { findPrediction } from '../conclusion/agreement.js';
import type { Hypothesis } from '../hypotheses/hypothesis.js';
import { findMainDependency } from '../metrics/derive.js';
import type { Metrics } from '../metrics/types.js';
import type { Observation } from '../observe/types.js';
import type { ExperimentResult } from '../result.js';
import { EXPERIMENTS } from './definitions.js';
import { type MeasuredBlocks, measureRatio } from './interleaved-rounds.js';

/** Adds the predictions of each hypothesis to an experiment. */
export function addPredictions(
  result: Omit<ExperimentResult, 'predicted' | 'excludes'>,
  hypotheses: Hypothesis[],
): ExperimentResult {
  const predicted: ExperimentResult['predicted'] = {};
  for (const hypothesis of hypotheses) {
    const range = findPrediction(hypothesis, result.name);
    if (range) predicted[hypothesis.limit] = range;
  }
  return { ...result, predicted, excludes: [] };
}

/** Quantities other than throughput that are compared when the connections are doubled. */
const DERIVED_METRICS: {
  name: string;
  metric: string;
  read(block: Observation, metrics: Metrics): number | null;
}[] = [
  {
    name: 'dependency, connections x2',
    metric: 'response time of the dependency',
    read({ inside }, metrics) {
      const origin = findMainDependency(metrics)?.origin;
      return inside?.outbound.find((call) => call.origin === origin)?.answerMs ?? null;
    },
  },
  {
    name: 'pool wait, connections x2',
    metric: 'wait for a thread of the pool',
    read: ({ inside }) => inside?.poolMs?.mean ?? null,
  },
];

/** Derives further results from the blocks with twice the connections. */
export function deriveResults(
  { base, changed }: MeasuredBlocks,
  metrics: Metrics,
  hypotheses: Hypothesis[],
): ExperimentResult[] {
  const doubled = changed.get('connections x2');
  if (!doubled) return [];
  const first = EXPERIMENTS.find(({ name }) => name === 'connections x2');
  const change = first?.describe(metrics) ?? '';
  return DERIVED_METRICS.flatMap(({ name, metric, read }) => {
    if (!hypotheses.some(({ predictions }) => name in predictions)) return [];
    const measured = measureRatio(base, doubled, (block) => read(block, metrics));
    const result = { name, metric, change, otherwise: 1 };
    return measured ? [addPredictions({ ...result, measured }, hypotheses)] : [];
  });
}

/** Builds the result of 'memory after rest': the growth per request after a full collection, round by round. */
export function buildMemoryResult(
  measured: MeasuredRatio,
  hypotheses: Hypothesis[],
): ExperimentResult {
  return addPredictions(
    {
      name: 'memory after rest',
      metric: 'memory growth per request',
      change: 'more requests, and a full collection after each round',
      otherwise: 0,
      measured,
    },
    hypotheses,
  );
}
