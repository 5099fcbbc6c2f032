// Draws the pictures of README.md from one run of `millrace explain` on a shop with a database (PostgreSQL and Chromium
// have to be installed):
//
//   npm run bench -- pictures
//
// docs/images/explain.svg is what a terminal shows, docs/images/report.png the top of the page.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { formatText } from 'millrace/report';
import { chromium } from 'playwright-core';
import { findMissingDatabase, withDatabase } from '../explain/databases.js';
import { ownCli } from '../explain/millrace.js';
import { isOnPath } from '../tools.js';
import { exitWithUsageError } from '../usage.js';
import { drawTerminal } from './terminal.js';

const images = new URL('../../docs/images/', import.meta.url);
const shop = fileURLToPath(new URL('shop.js', import.meta.url));
const TARGET = '/products/7';
/** What a reader would type. */
const COMMAND = `$ npx millrace explain -c 50 ${TARGET} -- node shop.js`;

/** Runs explain and writes both pictures. */
export async function main() {
  const missing =
    findMissingDatabase('postgres') ?? (isOnPath('chromium') ? null : 'no chromium is installed');
  if (missing) exitWithUsageError(missing);
  const folder = mkdtempSync(join(tmpdir(), 'millrace-pictures-'));
  try {
    await withDatabase({ database: 'postgres' }, folder, ({ env }) => draw(folder, env));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function draw(folder, env) {
  const [result, page] = ['result.json', 'page.html'].map((name) => join(folder, name));
  const output = ['-o', result, '--html', page];
  const args = [ownCli, 'explain', '-c', '50', ...output, TARGET, '--', process.execPath, shop];
  const options = {
    env: { ...process.env, ...env, NODE_ENV: 'production' },
    stdio: ['ignore', 'inherit', 'inherit'],
  };
  execFileSync(process.execPath, args, options);
  const report = formatText(JSON.parse(readFileSync(result, 'utf8')), {
    color: true,
    width: 88,
  });
  const text = `${COMMAND}\n${report.trimEnd()}`;
  writeFileSync(
    new URL('explain.svg', images),
    drawTerminal(text, 'The report of millrace explain in a terminal'),
  );
  await photograph(page);
}

/** Photographs the top of a page. */
async function photograph(page) {
  const browser = await chromium.launch({
    executablePath: '/usr/bin/chromium',
    args: ['--no-sandbox'],
  });
  try {
    const tab = await browser.newPage({ viewport: { width: 960, height: 720 } });
    await tab.goto(pathToFileURL(page).href);
    await tab.screenshot({ path: fileURLToPath(new URL('report.png', images)) });
  } finally {
    await browser.close();
  }
}
