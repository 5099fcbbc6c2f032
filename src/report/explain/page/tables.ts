import type { Explanation } from '../../../explain/result.js';
import { evidenceValue } from '../../../format/ratios.js';
import { share } from '../../../format/units.js';
import { html, type Markup } from '../../html/markup.js';
import { textTable } from '../../html/tables.js';
import { limitName } from './verdict.js';

/** The functions that cost most. */
export function hotTable({ hot }: Explanation): Markup | null {
  return textTable(
    "Share of the loop's busy time, from a CPU profile",
    ['function', 'share', 'place'],
    hot.map(({ name, place, share: part }) => [html`<code>${name}</code>`, share(part), place]),
  );
}

/** The numbers that the verdict rests on. */
export function evidenceTable({ evidence }: Explanation): Markup | null {
  return textTable(
    'Evidence',
    ['what', 'value', 'seen by'],
    evidence.map((one) => [one.what, evidenceValue(one), one.source]),
  );
}

/** The limits that something speaks against. */
export function ruledOutTable({ ruledOut }: Explanation): Markup | null {
  return textTable(
    'Ruled out',
    [],
    ruledOut.map(({ limit, why }) => [limitName(limit), why]),
  );
}
