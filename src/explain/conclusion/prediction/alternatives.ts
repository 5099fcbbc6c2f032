import type { Interval } from '../../../statistics/types.js';
import type { Findings } from '../../findings.js';
import { type Hypothesis, scale, UNCHANGED } from '../../hypotheses/hypothesis.js';
import type { ExperimentResult, RemedyAlternative } from '../../result.js';
import { hasSlowLevel } from './compression-level.js';
import { coverVariation } from './prediction-range.js';
import { predictAlternative } from './remedy-prediction.js';

/** Lists what could be changed in place of the remedy and has a prediction of its own. */
export function predictAlternatives(chosen: Hypothesis, found: Findings): RemedyAlternative[] {
  // Without the reference server nothing bounds what throughput without most of the work would be.
  const isBounded = ({ predictedThroughput: { high } }: RemedyAlternative) =>
    found.referenceThroughput !== null || high < MAX_UNBOUNDED_GAIN * found.metrics.throughput;
  const listed = (chosen.remedy.alternatives ?? []).filter(isBounded);
  const computed = listed.map(({ change, predictedThroughput }) => ({
    change,
    predictedThroughput: predictAlternative(predictedThroughput, chosen, found),
  }));
  return [
    ...computed,
    ...predictCachedCompression(chosen, found),
    ...predictSmallKey(chosen, found),
  ];
}

/** Maximum gain that is predicted without a bound. */
const MAX_UNBOUNDED_GAIN = 50;

/** Predicts compression once, for which Brotli at a high level is too slow per request: as without compression. */
function predictCachedCompression(chosen: Hypothesis, found: Findings): RemedyAlternative[] {
  if (!hasSlowLevel(chosen.limit, found.metrics)) return [];
  return fromExperiment(
    'compress once and cache the result',
    'identity-encoding',
    UNCHANGED,
    found,
  );
}

/**
 * Throughput with a small key relative to that with resumed sessions in short blocks, which begin with full handshakes:
 * these need no signature, but tickets.
 */
const SMALL_KEY_RATIO: Interval = { low: 0.8, high: 1.7 }; // Source: bench partner-tls, whose remedy is a key on P-256

/** Predicts a key whose signatures cost little, from what sessions yielded that were resumed without one. */
function predictSmallKey(chosen: Hypothesis, found: Findings): RemedyAlternative[] {
  const rsaBits = found.metrics.sample?.rsaBits ?? null;
  if (chosen.limit !== 'tls-handshake' || rsaBits === null) return [];
  const change = `a certificate with a key on the curve P-256 in place of RSA ${rsaBits}`;
  return fromExperiment(change, 'tls-resumption', SMALL_KEY_RATIO, found);
}

/** Minimum gain of an experiment that is a prediction. */
const MIN_GAIN = 1.1;

/** Predicts the result of a change from that of an experiment, if it was made and gained something. */
function fromExperiment(
  change: string,
  name: ExperimentResult['name'],
  part: Interval,
  found: Findings,
): RemedyAlternative[] {
  const made = found.experiments.find((experiment) => experiment.name === name);
  if (!made || made.measured.ratio < MIN_GAIN) return [];
  const { throughput } = found.metrics;
  const { low, high } = scale(made.measured, throughput);
  const range = { low: Math.max(throughput, low * part.low), high: high * part.high };
  return [{ change, predictedThroughput: coverVariation(range, found.noise) }];
}
