const EIGHTHS = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];
const LEVELS = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/** Draws a horizontal bar of `fraction` of the width, to an eighth of a character. A positive fraction is always visible. */
export function drawBar(fraction: number, width: number): string {
  if (fraction <= 0) return '';
  const length = Math.max(1, Math.round(fraction * width * 8));
  return '█'.repeat(Math.floor(length / 8)) + EIGHTHS[length % 8];
}

/** Draws values from 0 to `highest` in a line, with gaps for missing values. */
export function drawSparkline(values: readonly (number | null)[], highest: number): string {
  const level = (value: number) =>
    LEVELS[Math.min(7, Math.max(0, Math.ceil((value / highest) * 8) - 1))] ?? ' ';
  return values.map((value) => (value === null ? ' ' : level(highest > 0 ? value : 0))).join('');
}
