import type { FlameGraph } from '../../explain/result.js';
import { share } from '../../format/units.js';
import { html, type Markup } from '../html/markup.js';
import type { Layout } from './layout.js';
import { formatWeight } from './weights.js';

/** Height of a row in pixels. */
const ROW = 20;
/** Limits of the picture without a script: minimum share of a frame, maximum number of rows and of frames. */
const [MIN_SHARE, MAX_ROWS, MAX_FRAMES] = [0.002, 30, 1500];

/** Draws the outer frames of a graph, as a picture that needs no script. */
export function drawPicture(graph: FlameGraph, layout: Layout, label: string): Markup {
  const drawn = graph.parents
    .map((_, node) => node)
    .filter((node) => (layout.wide[node] ?? 0) >= MIN_SHARE && (layout.depth[node] ?? 0) < MAX_ROWS)
    .sort((a, b) => (layout.wide[b] ?? 0) - (layout.wide[a] ?? 0))
    .slice(0, MAX_FRAMES);
  const rows = 1 + drawn.reduce((most, node) => Math.max(most, layout.depth[node] ?? 0), 0);
  return html`<svg class="frames" height="${rows * ROW}" role="img" aria-label="${label}">${drawn.map((node) => drawFrame(graph, layout, node))}</svg>`;
}

function drawFrame(graph: FlameGraph, { sum, from, wide, depth }: Layout, node: number): Markup {
  const frame = graph.frames[graph.frameOf[node] ?? -1];
  const part = wide[node] ?? 0;
  if (!frame) return html``;
  const title = `${frame.name}${frame.place && ` ${frame.place}`}: ${share(part)}, ${formatWeight(part * sum, graph.unit)}`;
  return html`<svg class="frame ${frame.origin}" x="${toPercent(from[node] ?? 0)}%" y="${(depth[node] ?? 0) * ROW}" width="${toPercent(part)}%" height="${ROW}"><title>${title}</title><rect width="100%" height="100%"/>${part >= 10 * MIN_SHARE ? html`<text x="4" y="14">${frame.name}</text>` : null}</svg>`;
}

function toPercent(part: number): number {
  return Number((100 * part).toFixed(3));
}
