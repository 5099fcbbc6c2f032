import type { LimitId } from '../ids.js';

/** The groups of the catalogue, in its order. */
export const LIMIT_GROUPS = [
  'load',
  'CPU',
  'waiting inside',
  'connections and TCP',
  'machine',
] as const;

export type LimitGroup = (typeof LIMIT_GROUPS)[number];

/**
 * How explain tells a limit from the others. `by experiment`: it predicts what a change of its own gives, and
 * that change is made. `by its signature`: nothing is changed that would show it alone, so the numbers seen have to do.
 */
export type Detection = 'by experiment' | 'by its signature' | 'not told apart yet';

/** What there is to say about a limit, in plain words. */
export interface LimitDescription {
  title: string;
  /** What it is, in a sentence or two. */
  what: string;
  /** What explain sees of it. */
  shows: string;
  /** What is changed and what comes of it; experiments by their name in quotes. */
  experiment: string;
  formula: string;
  remedy: string;
  detected: Detection;
  /** What has to be known beside it: a condition, or why it is not told apart. */
  note?: string;
}

/** A limit of the catalogue. */
export interface CatalogueEntry extends LimitDescription {
  id: LimitId;
  group: LimitGroup;
}

/** The entries of a group; their ids are known to the compiler. */
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
