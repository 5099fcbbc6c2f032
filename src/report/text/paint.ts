/** The meaning of a color in the text report. */
export type Ink = 'dim' | 'strong' | 'bar' | 'good' | 'warning' | 'bad' | 'alarm';

/** Colors a text, or returns it unchanged. */
export type Paint = (ink: Ink, text: string) => string;

/** ECMA-48, Select Graphic Rendition. */
const CODES: Record<Ink, string> = {
  dim: '2',
  strong: '1',
  bar: '36',
  good: '32',
  warning: '33',
  bad: '31',
  alarm: '1;7;31',
};

/** Creates a painter with terminal colors, or one without. */
export function createPainter(color: boolean): Paint {
  if (!color) return (_, text) => text;
  return (ink, text) => (text === '' ? '' : `\x1b[${CODES[ink]}m${text}\x1b[0m`);
}
