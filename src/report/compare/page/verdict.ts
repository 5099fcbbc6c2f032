import type { ComparisonResult } from '../../../compare/result.js';
import { html, type Markup } from '../../html/markup.js';
import { renderTile, renderTiles } from '../../html/tiles.js';
import { chooseWords, formatChange, formatFigure, VERDICT_WORDS } from '../metrics.js';
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
  const tiles = listOverallRows(result).flatMap((row) => {
    const { metric, a, b, ratio, verdict } = row;
    if (!ratio) return [];
    const figures = `A ${formatFigure(metric, a)}, B ${formatFigure(metric, b)}`;
    const note = `${figures}: ${VERDICT_WORDS[verdict]}`;
    return [renderTile(chooseWords(row).name, formatChange(ratio.estimate), '', note)];
  });
  return tiles.length > 0 ? renderTiles(tiles) : null;
}
