import type { LabBars, LabColumn, LabUnit } from './result.js';

/** Creates a column with figures of this run. */
export function createColumn(name: string, unit: LabUnit): LabColumn {
  return { name, unit, from: 'now' };
}

/** Creates the two columns of a quantity: the original figures, and those of this run. */
export function createColumnPair(name: string, unit: LabUnit): [LabColumn, LabColumn] {
  return [{ name, unit, from: 'then' }, createColumn(name, unit)];
}

/** Creates a bar chart; `caption` explains what its values are. */
export function createBars(
  title: string,
  caption: string,
  unit: LabUnit,
  groups: LabBars['groups'],
): LabBars {
  return { kind: 'bars', title, caption, unit, groups };
}
