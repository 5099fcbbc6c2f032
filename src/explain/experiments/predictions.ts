import type { MeasuredRatio } from '../../statistics/types.js';
import {
  EXPERIMENT_LABELS,
  type ExperimentMetric,
  type ExperimentName,
} from '../experiment-names.js';
import type { Hypothesis } from '../hypotheses/hypothesis.js';
import { findMainDependency } from '../metrics/derive.js';
import type { Metrics } from '../metrics/types.js';
import type { Observation } from '../observe/types.js';
import type { ExperimentResult } from '../result.js';
import { findPrediction } from './agreement.js';
import { EXPERIMENTS } from './definitions.js';
import { type MeasuredBlocks, measureRatio } from './interleaved-rounds.js';

/** Adds its label and the predictions of each hypothesis to an experiment. */
export function addPredictions(
  result: Omit<ExperimentResult, 'label' | 'predicted' | 'excludes'>,
  hypotheses: Hypothesis[],
): ExperimentResult {
  const predicted: ExperimentResult['predicted'] = {};
  for (const hypothesis of hypotheses) {
    const range = findPrediction(hypothesis, result.name);
    if (range) predicted[hypothesis.limit] = range;
  }
  const { name, ...measured } = result;
  return { name, label: EXPERIMENT_LABELS[name], ...measured, predicted, excludes: [] };
}

/** Quantities other than throughput that are compared when the connections, or those of a pool, are doubled. */
const DERIVED_METRICS: {
  name: ExperimentName;
  /** The experiment with the blocks. */
  of: ExperimentName;
  metric: ExperimentMetric;
  read(block: Observation, metrics: Metrics): number | null;
}[] = [
  {
    name: 'dependency-time-connections-x2',
    of: 'connections-x2',
    metric: 'dependency-time',
    read: readDependencyTime,
  },
  {
    name: 'dependency-time-pool-x2',
    of: 'pool-x2',
    metric: 'dependency-time',
    read: readDependencyTime,
  },
  {
    name: 'pool-wait-connections-x2',
    of: 'connections-x2',
    metric: 'pool-wait',
    read: ({ inside }) => inside?.poolMs?.mean ?? null,
  },
];

function readDependencyTime({ inside }: Observation, metrics: Metrics): number | null {
  const origin = findMainDependency(metrics)?.origin;
  return inside?.outbound.find((call) => call.origin === origin)?.answerMs ?? null;
}

/** Derives further results from the blocks with twice the connections. */
export function deriveResults(
  { base, changed }: MeasuredBlocks,
  metrics: Metrics,
  hypotheses: Hypothesis[],
): ExperimentResult[] {
  return DERIVED_METRICS.flatMap(({ name, of, metric, read }) => {
    const doubled = changed.get(of);
    if (!doubled || !hypotheses.some(({ predictions }) => name in predictions)) return [];
    const measured = measureRatio(base, doubled, (block) => read(block, metrics));
    const change = EXPERIMENTS.find((one) => one.name === of)?.describe(metrics) ?? '';
    const result = { name, metric, change, otherwise: 1 };
    return measured ? [addPredictions({ ...result, measured }, hypotheses)] : [];
  });
}

/** Builds the result of 'memory-after-gc': the growth per request after a full collection, round by round. */
export function buildMemoryResult(
  measured: MeasuredRatio,
  hypotheses: Hypothesis[],
): ExperimentResult {
  return addPredictions(
    {
      name: 'memory-after-gc',
      metric: 'memory-growth',
      change: 'more requests, and a full collection after each round',
      otherwise: 0,
      measured,
    },
    hypotheses,
  );
}
