import type { ComparisonResult, ComparisonRow } from '../../compare/result.js';
import { count, plural } from '../../format/units.js';

/** Length up to which the label of a side is part of a sentence. */
const MAX_SHORT_LABEL = 32;

/** The rows of one request name. */
export interface NamedRows {
  name: string;
  rows: ComparisonRow[];
}

/** The request names to show, and a line about the others; `null` if there are none. */
export interface SelectedNames {
  shown: NamedRows[];
  rest: string | null;
}

/** Number of names up to which all are shown. */
const MAX_ALL = 4;
/** Maximum number of names that differ. */
const MAX_DIFFERING = 12;

/** Lists the rows of all requests that have figures. */
export function listOverallRows({ rows }: ComparisonResult): ComparisonRow[] {
  return rows.filter((row) => row.name === null && hasFigures(row));
}

/** Groups the rows with figures by request name. */
export function groupByName({ rows }: ComparisonResult): NamedRows[] {
  const groups = new Map<string, ComparisonRow[]>();
  for (const row of rows) {
    if (row.name === null || !hasFigures(row)) continue;
    groups.set(row.name, [...(groups.get(row.name) ?? []), row]);
  }
  return [...groups].map(([name, rows]) => ({ name, rows }));
}

/** Selects all names if there are few, otherwise the rows that differ, largest difference first. */
export function selectNames(result: ComparisonResult): SelectedNames {
  const all = groupByName(result);
  if (all.length <= MAX_ALL) return { shown: all, rest: null };
  const differing = all
    .map(({ name, rows }) => ({ name, rows: rows.filter(isDifferent) }))
    .filter(({ rows }) => rows.length > 0)
    .sort((a, b) => measureDifference(b) - measureDifference(a));
  const shown = differing.slice(0, MAX_DIFFERING);
  return { shown, rest: describeRest(all, differing.length, shown.length) };
}

function describeRest(all: NamedRows[], differing: number, shown: number): string {
  const same = all.filter(({ rows }) => rows.every(({ verdict }) => verdict === 'no-difference'));
  const unknown = all.length - differing - same.length;
  const parts = [
    [differing - shown, 'that differ'],
    [same.length, 'without a difference'],
    [unknown, 'undecided'],
  ] as const;
  const listed = parts
    .filter(([number]) => number > 0)
    .map(([number, words]) => `${count(number)} ${words}`);
  return `${plural(all.length - shown, `${shown > 0 ? 'more ' : ''}request name`)}: ${listed.join(', ')}`;
}

function isDifferent({ verdict }: ComparisonRow): boolean {
  return verdict === 'better' || verdict === 'worse';
}

/** Measures the largest difference of a name, independent of its direction. */
function measureDifference({ rows }: NamedRows): number {
  return Math.max(...rows.map(({ ratio }) => Math.abs(Math.log(ratio?.estimate || 1))));
}

function hasFigures({ a, b }: ComparisonRow): boolean {
  return a !== null || b !== null;
}

/** Whether a label is short enough for a sentence. */
export function isShortLabel(label: string): boolean {
  return label.length <= MAX_SHORT_LABEL;
}
