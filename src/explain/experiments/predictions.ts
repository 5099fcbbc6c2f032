import type { MeasuredRatio } from '../../statistics/types.js';
import { predictionOf } from '../conclusion/verdict.js';
import type { Hypothesis } from '../hypotheses/hypothesis.js';
import { mainDependency } from '../metrics/derive.js';
import type { Metrics } from '../metrics/types.js';
import type { Observation } from '../observe/types.js';
import type { ExperimentResult } from '../result.js';
import { EXPERIMENTS } from './definitions.js';
import { type MeasuredBlocks, ratioBetween } from './interleaved-rounds.js';

/** An experiment with what each suspect predicts of it. */
export function withPredictions(
  result: Omit<ExperimentResult, 'predicted' | 'excludes'>,
  suspects: Hypothesis[],
): ExperimentResult {
  const predicted: ExperimentResult['predicted'] = {};
  for (const suspect of suspects) {
    const range = predictionOf(suspect, result.name);
    if (range) predicted[suspect.limit] = range;
  }
  return { ...result, predicted, excludes: [] };
}

/** Quantities that are compared beside throughput when connections are doubled. */
const DERIVED: {
  name: string;
  metric: string;
  of(block: Observation, facts: Metrics): number | null;
}[] = [
  {
    name: 'dependency, connections x2',
    metric: 'answer time of the dependency',
    of({ inside }, facts) {
      const origin = mainDependency(facts)?.origin;
      return inside?.outbound.find((call) => call.origin === origin)?.answerMs ?? null;
    },
  },
  {
    name: 'pool wait, connections x2',
    metric: 'wait for a thread of the pool',
    of: ({ inside }) => inside?.poolMs?.mean ?? null,
  },
];

/** What the blocks with twice the connections tell besides throughput. */
export function derivedFrom(
  { base, changed }: MeasuredBlocks,
  facts: Metrics,
  suspects: Hypothesis[],
): ExperimentResult[] {
  const doubled = changed.get('connections x2');
  if (!doubled) return [];
  const first = EXPERIMENTS.find(({ name }) => name === 'connections x2');
  const change = first?.describe(facts) ?? '';
  return DERIVED.flatMap(({ name, metric, of }) => {
    if (!suspects.some(({ predictions }) => name in predictions)) return [];
    const measured = ratioBetween(base, doubled, (block) => of(block, facts));
    const result = { name, metric, change, otherwise: 1 };
    return measured ? [withPredictions({ ...result, measured }, suspects)] : [];
  });
}

/** Memory that each request has left behind, by collections after each round. */
export function keptAfterRest(measured: MeasuredRatio, suspects: Hypothesis[]): ExperimentResult {
  return withPredictions(
    {
      name: 'memory after rest',
      metric: 'memory kept per request',
      change: 'further requests, and a full collection after each round',
      otherwise: 0,
      measured,
    },
    suspects,
  );
}
