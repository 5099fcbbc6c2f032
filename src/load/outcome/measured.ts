import type { LoadResult, MergedFigures } from '../result.js';

/** Fields that the engine does not measure. */
type Added =
  | 'schemaVersion'
  | 'tool'
  | 'plan'
  | 'startedAt'
  | 'startedAtMs'
  | 'start'
  | 'commit'
  | 'byName'
  | 'interrupted'
  | 'abortedBy'
  | 'warmup'
  | 'server'
  | 'machine'
  | 'warnings'
  | 'failingResponses'
  | 'slowest'
  | 'generator'
  | keyof MergedFigures;
/** The part of a result that the engine measured. */
export type Measured = Omit<LoadResult, Added> & {
  generator: Omit<LoadResult['generator'], 'clientBound' | 'reasons'>;
};
