import type { Explanation } from '../../../explain/result.js';
import { evidenceValue } from '../../../format/ratios.js';
import { share } from '../../../format/units.js';
import { html, type Markup } from '../../html/markup.js';
import { renderTextTable } from '../../html/tables.js';
import { renderLimitName } from './verdict.js';

/** The functions that cost most. */
export function renderHotFunctions({ hot }: Explanation): Markup | null {
  return renderTextTable(
    "Share of the loop's busy time, from a CPU profile",
    ['function', 'share', 'place'],
    hot.map(({ name, place, share: part }) => [html`<code>${name}</code>`, share(part), place]),
  );
}

/** The numbers that the verdict rests on. */
export function renderEvidence({ evidence }: Explanation): Markup | null {
  return renderTextTable(
    'Evidence',
    ['what', 'value', 'seen by'],
    evidence.map((one) => [one.what, evidenceValue(one), one.source]),
  );
}

/** The limits that something speaks against. */
export function renderRuledOut({ ruledOut }: Explanation): Markup | null {
  return renderTextTable(
    'Ruled out',
    [],
    ruledOut.map(({ limit, why }) => [renderLimitName(limit), why]),
  );
}
