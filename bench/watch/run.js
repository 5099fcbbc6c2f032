// The suite `watch`: `millrace explain --watch` on the services of the suite `explain`, each under its own load, and what
// it costs a service to be watched.
//
//   npm run bench -- watch [--case NAME]... [--quiet 7] [--load 16] [--list]
//   npm run bench -- watch --overhead
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { cases } from '../explain/cases.js';
import { exitWithUsageError } from '../harness/usage.js';
import { measureOverhead } from './overhead.js';
import { canWatch, watchCase } from './services.js';

export async function main(args) {
  const options = readOptions(args);
  if (options.overhead) return printOverhead();
  const wanted = cases.filter(canWatch).filter(({ name }) => {
    return options.case === undefined || options.case.includes(name);
  });
  if (options.list) return console.log(wanted.map(({ name }) => name).join('\n'));
  const directory = mkdtempSync(join(tmpdir(), 'watch-'));
  const count = { right: 0, partly: 0, open: 0, machine: 0, wrong: 0, failed: 0 };
  try {
    for (const one of wanted) {
      const trial = await watchCase(one, {
        directory,
        quietS: Number(options.quiet),
        loadS: Number(options.load),
      });
      count[trial.judged] += 1;
      console.log(
        `${trial.judged.padEnd(7)} ${one.name.padEnd(22)} ${trial.found.padEnd(22)} expected ${trial.expected.join(' or ')}`,
      );
      console.log(`        ${trial.sentence}`);
    }
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
  console.log(
    `${wanted.length} services: ${Object.entries(count)
      .map(([word, number]) => `${number} ${word}`)
      .join(', ')}`,
  );
}

function readOptions(args) {
  /** @type {any} */
  const known = {
    case: { type: 'string', multiple: true },
    quiet: { type: 'string', default: '7' },
    load: { type: 'string', default: '16' },
    overhead: { type: 'boolean', default: false },
    list: { type: 'boolean', default: false },
  };
  /** @type {Record<string, any>} */
  let values;
  try {
    ({ values } = parseArgs({ args, options: known }));
  } catch (error) {
    exitWithUsageError(error.message);
  }
  return values;
}

async function printOverhead() {
  for await (const line of measureOverhead()) console.log(line);
}
