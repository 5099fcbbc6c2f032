import type { LimitId } from '../../limit-ids.js';

/** Groups of the catalogue, in order. */
export const LIMIT_GROUPS = [
  'load',
  'CPU',
  'waiting inside',
  'connections and TCP',
  'machine',
] as const;

export type LimitGroup = (typeof LIMIT_GROUPS)[number];

/**
 * How explain detects a limit. `by experiment`: the limit predicts the result of a specific change, and explain makes
 * that change. `by its signature`: the measurements fit the limit, and no experiment isolates it.
 */
export type Detection = 'by experiment' | 'by its signature' | 'not detected yet';

/** Description of a limit in plain words. */
export interface LimitDescription {
  title: string;
  /** Explains the limit in one or two sentences. */
  what: string;
  /** Names the measurements by which explain recognizes it. */
  shows: string;
  /** Names the experiments, in quotes, and their results. */
  experiment: string;
  formula: string;
  remedy: string;
  detected: Detection;
  /** A condition or exception, or the reason why it is not detected. */
  note?: string;
}

/** An entry of the catalogue. */
export interface CatalogueEntry extends LimitDescription {
  id: LimitId;
  group: LimitGroup;
}

/** Defines the entries of a group; the compiler knows their ids. */
export function defineGroup<Id extends LimitId>(
  group: LimitGroup,
  descriptions: Record<Id, LimitDescription>,
): Record<Id, CatalogueEntry> {
  const entries = Object.entries<LimitDescription>(descriptions).map(([id, description]) => [
    id,
    { id, group, ...description },
  ]);
  return Object.fromEntries(entries);
}
