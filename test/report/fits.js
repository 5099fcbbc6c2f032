import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cutOff } from './browser.js';

/**
 * A test for each page: it loads nothing, complains of nothing, runs nothing that a hostile result holds, and cuts
 * nothing off, wide and narrow.
 *
 * @param pages name and what gives the HTML
 * @param browser gives the browser, when the tests run
 */
export function testFits(pages, browser) {
  for (const [name, html] of pages) {
    test(`${name}: nothing is loaded, nothing is cut, in any width`, async () => {
      for (const [width, colorScheme] of [
        [1400, 'light'],
        [400, 'dark'],
      ]) {
        const { page, complaints } = await browser().open(html(), { width, colorScheme });
        assert.equal(await page.evaluate(() => window.attacked), undefined);
        assert.deepEqual(complaints, []);
        assert.deepEqual(await cutOff(page), []);
        await page.close();
      }
    });
  }
}
