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
    this.#file = fileURLToPath(new URL(`../results/${suite}.md`, import.meta.url));
    this.#cases = cases;
    this.#introduction = [
      `# Results: ${suite}`,
      '',
      `What was measured last: \`npm run bench -- ${suite}\` replaces a section when it has measured all that is in it.`,
      reading,
      '',
    ].join('\n');
  }

  /** Reason why a run cannot add to the file, such as a truncated section; null if there is none. */
  get fault() {
    return this.#guarded(() => parseSections(this.#text));
  }

  /** Replaces a section by name. Returns the reason if that is not possible. */
  replace(section) {
    return this.#guarded(() => {
      const { text, dropped } = replaceSection(this.#text, section, this.#cases);
      writeFileSync(this.#file, text);
      for (const name of dropped) console.error(`${this.path}: dropped "${name}", no such case`);
    });
  }

  /** Path of the file, relative to the working directory. */
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
