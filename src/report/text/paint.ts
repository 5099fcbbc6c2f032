import { styleText } from 'node:util';

/** The meaning of a color in the text report. */
export type Ink = 'dim' | 'strong' | 'bar' | 'good' | 'warning' | 'bad' | 'alarm';

/** Colors a text, or returns it unchanged. */
export type Paint = (ink: Ink, text: string) => string;

const STYLES: Record<Ink, Parameters<typeof styleText>[0]> = {
  dim: 'dim',
  strong: 'bold',
  bar: 'cyan',
  good: 'green',
  warning: 'yellow',
  bad: 'red',
  alarm: ['bold', 'inverse', 'red'],
};

/** Creates a painter with terminal colors, or one without. Whether a stream has colors is its caller's decision. */
export function createPainter(color: boolean): Paint {
  if (!color) return (_, text) => text;
  return (ink, text) =>
    text === '' ? '' : styleText(STYLES[ink], text, { validateStream: false });
}
