import type { ComparisonResult } from '../../../compare/result.js';
import { html, type Markup } from '../../html/markup.js';
import { renderTile, renderTiles } from '../../html/tiles.js';
import { formatChange, formatFigure, METRICS, VERDICT_WORDS } from '../metrics.js';
import { listOverallRows } from '../names.js';
import { describeRuns, describeVerdict } from '../sentences.js';

/** Renders which side is faster, by how much and how sure that is. */
export function renderVerdict(result: ComparisonResult): Markup {
  const { word } = result.verdict;
  return html`<section class="verdict ${word}">
<p class="status"><strong class="badge">${VERDICT_WORDS[word].toUpperCase()}</strong> <span>${describeRuns(result)}</span></p>
<p class="sentence">${describeVerdict(result)}</p>
</section>`;
}

/** Renders the change of each metric of all requests; `null` if there is none. */
export function renderChanges(result: ComparisonResult): Markup | null {
  const tiles = listOverallRows(result).flatMap(({ metric, a, b, ratio, verdict }) =>
    ratio
      ? [
          renderTile(
            METRICS[metric].name,
            formatChange(ratio.estimate),
            '',
            `A ${formatFigure(metric, a)}, B ${formatFigure(metric, b)}: ${VERDICT_WORDS[verdict]}`,
          ),
        ]
      : [],
  );
  return tiles.length > 0 ? renderTiles(tiles) : null;
}
