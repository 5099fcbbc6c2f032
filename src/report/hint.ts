// A guess at what limited a load, below its report.
import { quickHint } from '../explain/quick-hint.js';
import type { LoadResult } from '../load/result.js';
import { createSheet, formatParagraph } from './text/sheet.js';

/** Options of `formatHint()`. */
export interface HintOptions {
  /** Whether to color the text by escape sequences. Default `false`. */
  color?: boolean;
  /** Characters per line, from 60. Default 80. */
  width?: number;
  /** A command that finds the limit by experiment, such as `npx millrace explain ...`, printed below the hint. */
  command?: string;
}

/**
 * Formats a guess at what limited a load whose server a command started, as the command line prints it below the report;
 * `null` if the result says too little, or the report says it already. `explain()` finds the limit by experiment.
 */
export function formatHint(result: LoadResult, options: HintOptions = {}): string | null {
  const hint = result.plan.command ? quickHint(result) : null;
  if (hint === null) return null;
  const { color = false, width = 80, command } = options;
  const sentence = `${hint.sentence.charAt(0).toUpperCase()}${hint.sentence.slice(1)}`;
  const line = `Why not more? ${sentence}${command === undefined ? '' : ' To be sure:'}`;
  const lines = formatParagraph(createSheet({ color, width }), line, 2);
  // The command is not wrapped, so that it can be copied.
  return [...lines, ...(command === undefined ? [] : [`  ${command}`])].join('\n');
}
