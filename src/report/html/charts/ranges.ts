import type { Interval } from '../../../statistics/types.js';
import { html, type Markup } from '../markup.js';
import type { Scale } from './scale.js';

/** Minimum width in percent, so that a range of a single number is visible. */
const MIN_WIDTH = 0.3;

/** Draws a range of the x axis as a rectangle; `kind` is a class of the style sheet, heights are in pixels. */
export function drawRange(
  kind: string,
  { low, high }: Interval,
  scale: Scale,
  { y, height, radius = 0 }: { y: number; height: number; radius?: number },
): Markup {
  const from = scale.at(low);
  const width = Math.max(MIN_WIDTH, Number((scale.at(high) - from).toFixed(2)));
  return html`<rect class="${kind}" x="${from}%" width="${width}%" y="${y}" height="${height}" rx="${radius}"/>`;
}
