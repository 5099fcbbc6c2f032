// The tests of a run that took the longest.
import { formatName } from './kinds.js';

const MAX_SHOWN = 10;

/** Collects them from a run's events. */
export class Slowest {
  #tests = [];

  /** Suites take what their tests take, so they do not count. */
  see({ type, data }) {
    if (type !== 'test:pass' && type !== 'test:fail') return;
    if (data.details.type === 'suite') return;
    const where = data.file ? `${formatName(data.file)}: ` : '';
    this.#tests.push({ seconds: data.details.duration_ms / 1000, name: `${where}${data.name}` });
  }

  /** A line for each, the slowest first. */
  lines() {
    const most = this.#tests.sort((a, b) => b.seconds - a.seconds).slice(0, MAX_SHOWN);
    return most.map(({ seconds, name }) => `${seconds.toFixed(1).padStart(7)} s  ${name}`);
  }
}
