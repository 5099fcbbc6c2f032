// What the tables of the documents are made of: `results/figures.json`, which is committed.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const file = fileURLToPath(new URL('../results/figures.json', import.meta.url));

export class Figures {
  #all = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {};

  /**
   * Replaces the figures of a case: `measured` are those on each Node.js, `{ node, figures }`; `run` says how they were
   * measured.
   */
  put(name, measured, { suite, date, machine }) {
    const { cpu, commit } = machine;
    const on = measured.map(({ node, figures }) => ({ node: node.major, ...figures }));
    this.#all[suite] = { ...this.#all[suite], [name]: { date, cpu, commit, on } };
    writeFileSync(file, `${JSON.stringify(this.#all, null, 1)}\n`);
  }

  /** The figures of a suite by case. */
  of(suite) {
    return this.#all[suite] ?? {};
  }
}
