import { html, type Markup } from '../markup.js';
import { AREA_BOTTOM, AREA_TOP } from './chart.js';
import type { Scale } from './scale.js';
import type { Series } from './series.js';

/** Minimum width of a strip in percent: some pixels, which a pointer can meet. */
const MIN_WIDTH = 0.2;

/** How the title of a strip is written. */
interface Words {
  at(x: number): string;
  value(value: number): string;
}

/** Draws strips across a plot, invisible until a pointer is over one, whose titles are the values at their places. */
export function drawReadings(
  xs: readonly number[],
  series: readonly Series[],
  scale: Scale,
  words: Words,
): Markup[] {
  const isStepped = series.some(({ stepped }) => stepped);
  // The last x of windows is the end of the last one.
  const known = isStepped ? xs.slice(0, -1) : xs;
  const indexes = thin(known, scale);
  return indexes.map((index, place) => {
    const x = xs[index] ?? 0;
    const next = xs[indexes[place + 1] ?? xs.length] ?? xs.at(-1) ?? x;
    const before = xs[indexes[place - 1] ?? index] ?? x;
    // A strip is its window, or reaches half-way to the points beside it.
    const start = scale.at(isStepped ? x : (before + x) / 2);
    const to = scale.at(isStepped ? next : (x + next) / 2);
    const width = Number(Math.max(MIN_WIDTH, to - start).toFixed(2));
    // The last window may be shorter than that.
    const from = Math.max(0, Math.min(start, 100 - width));
    const lines = series.map(({ label, values }) => {
      const value = values[index] ?? null;
      return `${label} ${value === null ? '–' : words.value(value)}`;
    });
    return html`<rect class="reading" x="${from}%" width="${width}%" y="${AREA_TOP}" height="${AREA_BOTTOM - AREA_TOP}"><title>${words.at(x)}: ${lines.join(', ')}</title></rect>
`;
  });
}

/** Lists the indexes of those places that are wide enough apart. */
function thin(xs: readonly number[], scale: Scale): number[] {
  let last = Number.NEGATIVE_INFINITY;
  return [...xs.keys()].filter((index) => {
    const at = scale.at(xs[index] ?? 0);
    if (at - last < MIN_WIDTH) return false;
    last = at;
    return true;
  });
}
