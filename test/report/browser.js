// Pages of reports in a real browser.
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { chromium } from 'playwright-core';

const browsers = [
  process.env.CHROMIUM,
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
];
const executablePath = browsers.find((path) => path !== undefined && existsSync(path));

/** Why there is no browser to test with, or `false`. */
export const skip = executablePath ? false : 'no Chromium found; set CHROMIUM to its path';

/** A browser that asks nothing of any network by itself. */
export async function startBrowser() {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-report-'));
  const quiet = ['--disable-gpu', '--disable-quic', '--no-first-run', '--disable-sync'];
  const offline = ['--disable-background-networking', '--disable-component-update'];
  const browser = await chromium.launch({
    executablePath,
    args: ['--no-sandbox', ...quiet, ...offline],
  });
  return {
    /** Opens a document; whatever it complains about or asks for beside itself is in `complaints`. */
    async open(document, { width = 1280, colorScheme = 'light' } = {}) {
      const path = join(folder, 'report.html');
      writeFileSync(path, document);
      const url = pathToFileURL(path).href;
      const page = await browser.newPage({ viewport: { width, height: 900 }, colorScheme });
      const complaints = [];
      page.on('console', (message) => {
        // The browser's advice on a canvas that a test reads twice.
        if (!message.text().startsWith('Canvas2D:')) complaints.push(message.text());
      });
      page.on('pageerror', (error) => complaints.push(error.message));
      page.on('request', (request) => request.url() !== url && complaints.push(request.url()));
      await page.goto(url);
      return { page, complaints };
    },
    async close() {
      await browser.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** What reaches beyond the element that holds it, or beyond the page. */
export function cutOff(page) {
  return page.evaluate(() => {
    const cut = [];
    for (const element of document.querySelectorAll('body *')) {
      if (element.closest('.uplot')) continue;
      const inner = element.getBoundingClientRect();
      const outer = element.parentElement.getBoundingClientRect();
      if (inner.width === 0) continue;
      if (inner.right > outer.right + 1 || inner.left < outer.left - 1) cut.push(element.outerHTML);
    }
    const { scrollWidth, clientWidth } = document.documentElement;
    return scrollWidth > clientWidth ? [...cut, `${scrollWidth} wide`] : cut;
  });
}
