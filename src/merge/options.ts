import { flag, listOf, type OtherNames, type Shapes, shape, text } from '../validation/shape.js';

/** Options of `mergeResults()`. */
export interface MergeOptions {
  /** Names of the results in their order, for reports and messages. A merged result keeps the names that it has. */
  names?: readonly string[];
  /** Conditions that the merged result is judged by; by default those of the results. */
  failOn?: string | readonly string[];
  /** Whether plans may differ; the result lists in what. Default `false`. */
  allowDifference?: boolean;
  /** Whether shares of a run may be missing; the result lists them. Default `false`. */
  allowMissing?: boolean;
}

export const MERGE_OPTIONS: Shapes<MergeOptions> = {
  names: listOf('a list of names', text),
  failOn: shape('a condition, or a list of them', (value) =>
    [value].flat().every((one) => typeof one === 'string'),
  ),
  allowDifference: flag,
  allowMissing: flag,
};

export const OTHER_MERGE_NAMES: OtherNames<MergeOptions> = {
  conditions: 'failOn',
  labels: 'names',
};
