import type { FlameGraph } from '../../explain/result.js';
import { html, type Markup, renderJsonScript } from '../html/markup.js';
import { layOut } from './layout.js';
import { ORIGINS } from './origins.js';
import { drawPicture } from './picture.js';
import { formatWeight, WEIGHT_UNITS } from './weights.js';

/** What the files of a page with flame graphs are called, in `assets/`. */
export const FLAME_GRAPH_STYLE = 'flame-graph.css';
export const FLAME_GRAPH_SCRIPT = 'flame-graph.js';

/** A flame graph on a page. */
export interface FlameGraphFigure {
  /** The field of the page's result whose `graph` this is; the script reads it there. */
  field: string;
  graph: FlameGraph;
  heading: string;
  /** What the weights are, in a sentence. */
  explanation: string;
}

/**
 * Renders a flame graph, outermost frames at the top. Without a script it is a picture; with it the frames can be
 * searched, and zoomed into by mouse, touch and keys. `null` for a graph without weight.
 */
export function renderFlameGraph({
  field,
  graph,
  heading,
  explanation,
}: FlameGraphFigure): Markup | null {
  const layout = layOut(graph);
  if (layout.sum <= 0) return null;
  const origins = new Set(graph.frames.map(({ origin }) => origin));
  const legend = Object.entries(ORIGINS).filter(([origin]) => origins.has(origin as never));
  const whole = formatWeight(layout.sum, graph.unit);
  const shortened = {
    ...{ from: layout.from.map(shorten), wide: layout.wide.map(shorten), depth: layout.depth },
    sum: layout.sum,
    ...{ units: WEIGHT_UNITS[graph.unit], origins: ORIGINS },
  };
  return html`<figure class="plot flame-graph" data-field="${field}">
<figcaption><h3>${heading}: ${whole}</h3><p>${explanation}</p></figcaption>
<div class="tools" hidden><label>Search <input type="search" autocomplete="off" spellcheck="false"></label> <button type="button">Whole graph</button> <output></output></div>
<p class="details" aria-live="polite" hidden>Click a frame or press Enter to zoom in, Escape to zoom out; arrow keys go from frame to frame.</p>
<div class="picture">${drawPicture(graph, layout, `${heading}: ${whole}; the table below has the heaviest paths`)}</div>
<ul class="legend">${legend.map(([origin, words]) => html`<li><svg class="swatch frame ${origin}" width="12" height="12"><rect width="100%" height="100%"/></svg>${words}</li>`)}</ul>
${renderJsonScript(`layout-${field}`, shortened)}
</figure>`;
}

/** Shortens a share: a page has thousands of them, and a millionth of its width is not seen. */
function shorten(part: number): number {
  return Number(part.toFixed(6));
}
