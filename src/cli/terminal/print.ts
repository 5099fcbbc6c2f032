// The only place that writes text to the terminal: what is in it from elsewhere controls neither that nor a CI runner.
import { inspect, styleText } from 'node:util';
import { encodeTerminal, replaceControls } from '../../report/encoding.js';

/** Whether reports on stdout have colors. */
export function hasColor(): boolean {
  return process.stdout.isTTY === true && !process.env.NO_COLOR && process.env.TERM !== 'dumb';
}

/** Prints text to stdout. */
export function printText(text: string): void {
  console.log(encodeTerminal(text, hasColor()));
}

/** Prints text to stderr. */
export function printNote(text: string): void {
  console.error(encodeTerminal(text));
}

/** Prints a message of millrace in one line to stderr. */
export function printMessage(message: string): void {
  printNote(`millrace: ${message}`);
}

/** Prints an error that nobody foresaw, with its stack. */
export function printDefect(error: unknown): void {
  printNote(inspect(error));
}

const CLEAR_LINE = '\r\x1b[K';

/** Shows a line on the terminal of stderr in place of the last one; an empty one removes it. */
export function showLine(line: string): void {
  const { stderr } = process;
  const shown = replaceControls(line).slice(0, stderr.columns - 1);
  const isPlain = shown === '' || process.env.NO_COLOR;
  const painted = isPlain ? shown : styleText('dim', shown, { validateStream: false });
  stderr.write(`${CLEAR_LINE}${painted}`);
}
