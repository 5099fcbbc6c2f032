const eighths = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];
const levels = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/** A horizontal bar of `fraction` of the width, to an eighth of a character. What is not zero is seen. */
export function bar(fraction: number, width: number): string {
  if (fraction <= 0) return '';
  const length = Math.max(1, Math.round(fraction * width * 8));
  return '█'.repeat(Math.floor(length / 8)) + eighths[length % 8];
}

/** A line of values from 0 up to `most`; a gap where there is no value. */
export function sparkline(values: readonly (number | null)[], most: number): string {
  const level = (value: number) =>
    levels[Math.min(7, Math.max(0, Math.ceil((value / most) * 8) - 1))] ?? ' ';
  return values.map((value) => (value === null ? ' ' : level(most > 0 ? value : 0))).join('');
}
