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

/** Writes and prints the tables; a block whose suite has not been measured stays as it is. */
export function writeTables() {
  const figures = new Figures();
  for (const { document, name, suite, format } of BLOCKS) {
    const measured = figures.of(suite);
    if (!measured) {
      console.error(`${document}: the block "${name}" stays: ${suite} has not been measured`);
      continue;
    }
    const lines = format(
      measured,
      suites[suite].map((one) => one.name),
    );
    const path = new URL(`../${document}`, import.meta.url);
    writeFileSync(path, replaceBlock(readFileSync(path, 'utf8'), name, lines));
    console.log([`${document}, ${name}:`, '', ...lines, ''].join('\n'));
  }
}
