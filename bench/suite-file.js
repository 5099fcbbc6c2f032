// The file of a suite's newest results, `results/SUITE.md`, which is committed.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseSections, replaceSection } from './sections.js';

export class SuiteFile {
  #file;
  #cases;
  #introduction;

  /** `cases` are the names of the cases in the order of their sections; `reading` says how to read them. */
  constructor({ suite, cases, reading }) {
    this.#file = fileURLToPath(new URL(`results/${suite}.md`, import.meta.url));
    this.#cases = cases;
    this.#introduction = [
      `# Results: ${suite}`,
      '',
      `What was measured last: \`npm run bench -- ${suite}\` replaces a section when it has measured all that is in it.`,
      reading,
      '',
    ].join('\n');
  }

  /** What keeps a run from adding to the file, such as a section that was cut off; null if nothing does. */
  get fault() {
    return this.#guarded(() => parseSections(this.#text));
  }

  /** Writes a section in place of the one of its name. What keeps it from that, if anything does. */
  replace(section) {
    return this.#guarded(() => {
      const { text, dropped } = replaceSection(this.#text, section, this.#cases);
      writeFileSync(this.#file, text);
      for (const name of dropped) console.error(`${this.path}: dropped "${name}", no such case`);
    });
  }

  /** The file, from where the harness runs. */
  get path() {
    return relative(process.cwd(), this.#file);
  }

  get #text() {
    return existsSync(this.#file) ? readFileSync(this.#file, 'utf8') : this.#introduction;
  }

  #guarded(use) {
    try {
      use();
      return null;
    } catch ({ message }) {
      return `${this.path}: ${message}`;
    }
  }
}
