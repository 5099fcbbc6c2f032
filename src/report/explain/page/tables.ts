import type { Explanation } from '../../../explain/result.js';
import { evidenceValue } from '../../../format/ratios.js';
import { share, time } from '../../../format/units.js';
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

/** Renders what the requests with each name take. */
export function renderRequests({ requests }: Explanation): Markup | null {
  const percent = (part: number | null) => (part === null ? '-' : share(part));
  return renderTextTable(
    'What the requests with each name take',
    ['name', 'requests', 'response times', "handlers' time on the loop", 'p50', 'p99'],
    requests.map(({ name, requestShare, timeShare, loopShare, p50Ms, p99Ms }) => [
      html`<code>${name}</code>`,
      percent(requestShare),
      percent(timeShare),
      percent(loopShare),
      time(p50Ms),
      time(p99Ms),
    ]),
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
