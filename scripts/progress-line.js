// The line of a step while it runs: its name, the seconds so far, and how far it is. A terminal's line is written anew each
// second; a log gets a line now and then, as a job without output is taken for one that hangs.

const TERMINAL_INTERVAL_MS = 1000;
const LOG_INTERVAL_MS = 30_000;
const CLEAR_LINE = '\r\x1b[K';

export class ProgressLine {
  /** How far the step is, in words. */
  detail = '';
  #name;
  #stream;
  #isTerminal;
  #start = performance.now();
  #timer;

  constructor(name, stream = process.stdout) {
    this.#name = name;
    this.#stream = stream;
    this.#isTerminal = stream.isTTY === true && process.env.TERM !== 'dumb';
    const intervalMs = this.#isTerminal ? TERMINAL_INTERVAL_MS : LOG_INTERVAL_MS;
    this.#timer = setInterval(() => this.#write(), intervalMs);
    if (this.#isTerminal) this.#write();
  }

  /** Writes the last line. */
  end(result = '') {
    clearInterval(this.#timer);
    const clear = this.#isTerminal ? CLEAR_LINE : '';
    this.#stream.write(`${clear}${this.#format(1)}${result}\n`);
  }

  #write() {
    const line = `${this.#format(0)}  ${this.detail}`.trimEnd();
    this.#stream.write(
      this.#isTerminal ? CLEAR_LINE + line.slice(0, (this.#stream.columns || 80) - 1) : `${line}\n`,
    );
  }

  #format(digits) {
    const seconds = ((performance.now() - this.#start) / 1000).toFixed(digits);
    return `${this.#name.padEnd(28)}${seconds.padStart(6)} s`;
  }
}
