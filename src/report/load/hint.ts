// A guess at what limited a load, below its report.
import { quickHint } from '../../explain/quick-hint.js';
import type { LoadResult } from '../../load/result.js';
import { createSheet, formatParagraph } from '../text/sheet.js';

/** How a hint is formatted. */
export interface HintOptions {
  color: boolean;
  /** Characters per line. */
  width: number;
  /** The command that finds the limit by experiment; `null`: none. */
  command: string | null;
}

/** Formats what probably limited a load, and the command to be sure; empty if the result says too little. */
export function formatLoadHint(result: LoadResult, { command, ...look }: HintOptions): string {
  const hint = result.plan.command ? quickHint(result) : null;
  if (hint === null) return '';
  const sentence = `${hint.sentence.charAt(0).toUpperCase()}${hint.sentence.slice(1)}`;
  const line = `Why not more? ${sentence}${command === null ? '' : ' To be sure:'}`;
  const lines = formatParagraph(createSheet(look), line, 2);
  // The command is not wrapped, so that it can be copied.
  return [...lines, ...(command === null ? [] : [`  ${command}`])].join('\n');
}
