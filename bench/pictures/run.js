// Draws the pictures of README.md from one run of `millrace explain` on a shop with a database (PostgreSQL and Chromium
// have to be installed):
//
//   npm run bench -- pictures
//
// docs/images/explain.svg is what a terminal shows, docs/images/report.jpg the top of the page.
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { chromium } from 'playwright-core';
import { formatText, readResult } from '../../dist/report/index.js';
import { isOnPath } from '../clients/tools.js';
import { findMissingDatabase, withDatabase } from '../explain/databases.js';
import { ownCli } from '../explain/millrace.js';
import { allCores } from '../explain/surroundings.js';
import { end, start } from '../harness/processes.js';
import { exitWithUsageError } from '../harness/usage.js';
import { drawTerminal } from './terminal.js';

const images = new URL('../../docs/images/', import.meta.url);
const shop = fileURLToPath(new URL('shop.js', import.meta.url));
const payments = fileURLToPath(new URL('payments.js', import.meta.url));
const LOAD = ['-c', '50', '-m', 'POST', '/orders'];
/** What a reader would type. */
const COMMAND = `$ npx millrace explain ${LOAD.join(' ')} -- node shop.js`;

/** Sizes of the pool with which the shop is measured afterwards: its own, and larger ones. */
const POOL_SIZES = ['10', '20', '40'];

/** Runs explain, writes both pictures and prints what a larger pool gains. */
export async function main() {
  const missing =
    findMissingDatabase('postgres') ?? (isOnPath('chromium') ? null : 'no chromium is installed');
  if (missing) exitWithUsageError(missing);
  const folder = mkdtempSync(join(tmpdir(), 'millrace-pictures-'));
  const service = start([process.execPath, payments], allCores);
  try {
    const [port] = await once(service.stdout, 'data');
    const env = { PAYMENTS: `http://127.0.0.1:${Number(port)}/`, NODE_ENV: 'production' };
    await withDatabase({ database: 'postgres', env }, folder, (bench) => draw(folder, bench.env));
  } finally {
    end(service);
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Examines the shop, draws both pictures, and measures what the remedy gains. */
async function draw(folder, env) {
  const [result, page] = ['result.json', 'page.html'].map((name) => join(folder, name));
  run(['explain', '-o', result, '--html', page, ...LOAD], env);
  const report = formatText(readResult(result), { color: true, width: 88 });
  // What was ruled out is long.
  const [upper] = report.split(/\n[^\n]*ruled out/);
  const text = `${COMMAND}\n${upper}\n[...]`;
  writeFileSync(new URL('explain.svg', images), drawTerminal(text, 'What millrace explain prints'));
  await photograph(page);
  for (const size of POOL_SIZES) {
    run(['-c', '50', '-d', '5s', '--warmup', '2s', '-o', result, ...LOAD.slice(2)], {
      ...env,
      POOL: size,
    });
    const { throughput } = /** @type {import('../../dist/load/result.js').LoadResult} */ (
      readResult(result)
    );
    console.log(`a pool of ${size}: ${throughput.mean.toFixed(0)} req/s`);
  }
}

/** Runs millrace on the shop. */
function run(args, env) {
  const options = { env: { ...process.env, ...env }, stdio: ['ignore', 'inherit', 'inherit'] };
  execFileSync(process.execPath, [ownCli, ...args, '--', process.execPath, shop], options);
}

/** Photographs the top of a page. */
async function photograph(page) {
  const browser = await chromium.launch({
    executablePath: '/usr/bin/chromium',
    args: ['--no-sandbox'],
  });
  try {
    const tab = await browser.newPage({ viewport: { width: 900, height: 640 } });
    await tab.goto(pathToFileURL(page).href);
    await tab.screenshot({
      ...{ path: fileURLToPath(new URL('report.jpg', images)), type: 'jpeg', quality: 75 },
    });
  } finally {
    await browser.close();
  }
}
