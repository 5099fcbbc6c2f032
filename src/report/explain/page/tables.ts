import type { Explanation } from '../../../explain/result.js';
import { evidenceValue } from '../../../format/ratios.js';
import { share } from '../../../format/units.js';
import { html, type Markup } from '../../html/markup.js';
import { renderTextTable } from '../../html/tables.js';
import { renderLimitName } from './verdict.js';

/** Renders the functions with the most CPU time. */
export function renderHotFunctions({ hot }: Explanation): Markup | null {
  return renderTextTable(
    "Share of the event loop's busy time, from a CPU profile",
    ['function', 'share', 'place'],
    hot.map(({ name, place, share: part }) => [html`<code>${name}</code>`, share(part), place]),
  );
}

/** Renders the numbers that the verdict is based on. */
export function renderEvidence({ evidence }: Explanation): Markup | null {
  return renderTextTable(
    'Evidence',
    ['evidence', 'value', 'source'],
    evidence.map((one) => [one.what, evidenceValue(one), one.source]),
  );
}

/** Renders the limits that are ruled out, with the reasons. */
export function renderRuledOut({ ruledOut }: Explanation): Markup | null {
  return renderTextTable(
    'Ruled out',
    [],
    ruledOut.map(({ limit, why }) => [renderLimitName(limit), why]),
  );
}
