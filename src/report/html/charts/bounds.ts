import { html, type Markup } from '../markup.js';
import { toPixels } from './chart.js';
import type { Scale } from './scale.js';

/** Draws a dashed horizontal line, if its value is within the scale. */
export function drawFlatBound(y: Scale, value: number): Markup | null {
  if (!(value >= y.low && value <= y.high)) return null;
  const at = toPixels(y, value);
  return html`<line class="bound" x1="0" x2="100%" y1="${at}" y2="${at}"/>`;
}

/** Draws the dashed line y = x * factor within the scales, which must both be logarithmic for it to be straight. */
export function drawRisingBound(x: Scale, y: Scale, factor: number): Markup | null {
  const from = Math.max(x.low, y.low / factor);
  const to = Math.min(x.high, y.high / factor);
  if (!(from < to)) return null;
  return html`<line class="bound" x1="${x.at(from)}%" x2="${x.at(to)}%" y1="${toPixels(y, from * factor)}" y2="${toPixels(y, to * factor)}"/>`;
}
