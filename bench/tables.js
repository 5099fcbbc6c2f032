// Writes the tables of README.md and BENCHMARKING.md from the figures of the newest runs.
import { readFileSync, writeFileSync } from 'node:fs';
import { suites } from './cases.js';
import { Figures } from './figures.js';
import {
  formatApps,
  formatExpectation,
  formatLoad,
  formatServers,
  formatShown,
  replaceBlock,
} from './overview.js';

/** The blocks of the documents: what is in them, and the suite that it comes from. */
const BLOCKS = [
  { document: 'README.md', name: 'stack', suite: 'stack', format: formatShown },
  { document: 'README.md', name: 'apps', suite: 'apps', format: formatExpectation },
  { document: 'BENCHMARKING.md', name: 'load', suite: 'load', format: formatLoad },
  { document: 'BENCHMARKING.md', name: 'stack', suite: 'stack', format: formatServers },
  { document: 'BENCHMARKING.md', name: 'apps', suite: 'apps', format: formatApps },
];

/** Writes and prints the tables; a block stays as it is while a case of its suite has not been measured. */
export function writeTables() {
  const figures = new Figures();
  for (const { document, name, suite, format } of BLOCKS) {
    const names = suites[suite].map((one) => one.name);
    const measured = figures.of(suite);
    const missing = names.filter((one) => !(one in measured));
    if (missing.length > 0) {
      const why = `of ${suite} not measured: ${missing.join(', ')}`;
      console.error(`${document}: the block "${name}" stays as it is; ${why}`);
      continue;
    }
    // In the order of the suite, without cases that no longer exist.
    const lines = format(Object.fromEntries(names.map((one) => [one, measured[one]])));
    const path = new URL(`../${document}`, import.meta.url);
    writeFileSync(path, replaceBlock(readFileSync(path, 'utf8'), name, lines));
    console.log([`${document}, ${name}:`, '', ...lines, ''].join('\n'));
  }
}
