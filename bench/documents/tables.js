// Writes the tables of README.md and BENCHMARKING.md, and the picture of the stack's gains, from the figures of the newest
// runs.
import { readFileSync, writeFileSync } from 'node:fs';
import { suites } from '../load/cases.js';
import { drawGains, listGains } from '../pictures/gains.js';
import { Figures } from './figures.js';
import {
  formatApps,
  formatExpectation,
  formatLoad,
  formatMissing,
  formatServers,
  listMajors,
  replaceBlock,
  selectMeasured,
} from './overview.js';

/**
 * The blocks of the documents: what is in them, the suite that it comes from, and the cases that they need. A block
 * without `needs` shows what has been measured, and names the rest.
 */
const BLOCKS = [
  {
    ...{ document: 'README.md', name: 'apps', suite: 'apps', format: formatExpectation },
    needs: suites.apps.map(({ name }) => name),
  },
  { document: 'BENCHMARKING.md', name: 'load', suite: 'load', format: formatLoad },
  { document: 'BENCHMARKING.md', name: 'stack', suite: 'stack', format: formatServers },
  { document: 'BENCHMARKING.md', name: 'apps', suite: 'apps', format: formatApps },
];

/** Writes and prints the tables. A block stays as it is while a case that it needs, or every case, is not measured. */
export function writeTables() {
  const figures = new Figures();
  drawStack(figures);
  for (const { document, name, suite, format, needs } of BLOCKS) {
    const names = suites[suite].map((one) => one.name);
    const { cases, missing } = selectMeasured(names, figures.of(suite), needs);
    if (cases === null) {
      const why = `of ${suite} not measured: ${missing.join(', ')}`;
      console.error(`${document}: the block "${name}" stays as it is; ${why}`);
      continue;
    }
    const lines = [...format(cases), ...(needs ? [] : formatMissing(missing))];
    const path = new URL(`../../${document}`, import.meta.url);
    writeFileSync(path, replaceBlock(readFileSync(path, 'utf8'), name, lines));
    console.log([`${document}, ${name}:`, '', ...lines, ''].join('\n'));
  }
}

const GAINS = new URL('../../docs/images/stack.svg', import.meta.url);

/** Draws the gains of the stack on the newest Node.js that was measured. */
function drawStack(figures) {
  const suites = { stack: figures.of('stack'), apps: figures.of('apps') };
  const cases = [...Object.values(suites.stack), ...Object.values(suites.apps)];
  const major = listMajors(cases)[0];
  const dates = [...new Set(cases.map(({ date }) => date))].toSorted();
  const cpus = [...new Set(cases.map(({ cpu }) => cpu))];
  const title = `Requests/s on the stack ÷ on node:http, Node ${major}: median of 3 to 5 rounds, and its interval`;
  const origin = `Measured ${dates.join(', ')} on ${cpus.join(', ')}: a virtual machine with two cores, server on one, client on the other.`;
  writeFileSync(GAINS, drawGains(listGains(suites, major), { title, origin }));
}
