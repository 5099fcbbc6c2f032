// The page of a comparison in a real browser.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { renderComparisonPage } from '#internal/report/compare/html.js';
import { skip, startBrowser } from '../../fixtures/report/browser.js';
import { faster, hostile, single, withNames } from '../../fixtures/report/comparisons.js';
import { testFits } from '../../fixtures/report/fits.js';
import { boxes } from '../../fixtures/report/static-page.js';

const pages = {
  faster: () => faster(),
  single,
  hostile,
  'many names': () => withNames(30, 3),
};

describe('page in a browser', { skip }, () => {
  let browser;

  before(async () => {
    browser = await startBrowser();
  });

  after(() => browser?.close());

  testFits(
    Object.entries(pages).map(([name, make]) => [name, () => renderComparisonPage(make())]),
    () => browser,
  );

  test('intervals lie on the side of the band that their verdict says', async () => {
    const { page } = await browser.open(renderComparisonPage(faster()));
    const rows = page.locator('.ratios tbody tr');
    const words = await rows.locator('.word').allTextContents();
    assert.deepEqual(words, ['better', 'better', 'cannot tell', 'better', 'worse']);
    const bands = await boxes(page, '.ratios .equal');
    const spreads = await boxes(page, '.ratios .spread');
    const sideOf = (index) => {
      const [band, spread] = [bands[index], spreads[index]];
      if (spread.left > band.right) return 'above';
      return spread.right < band.left ? 'below' : 'both';
    };
    assert.deepEqual([0, 1, 2, 3, 4].map(sideOf), ['above', 'below', 'both', 'below', 'above']);
    await page.close();
  });

  test('each run is a point, those of B above those of A, in the order in which they ran', async () => {
    const result = faster();
    const { page } = await browser.open(renderComparisonPage(result));
    const figure = 'figure:has-text("requests/s of each run") .area';
    const [a, b] = [
      await boxes(page, `${figure} circle.point`),
      await boxes(page, `${figure} rect.point`),
    ];
    assert.deepEqual([a.length, b.length], [6, 6]);
    for (const one of a) for (const other of b) assert.ok(other.y < one.y);
    const order = [
      ...a.map(({ x }) => ({ x, side: 'a' })),
      ...b.map(({ x }) => ({ x, side: 'b' })),
    ].sort((one, other) => one.x - other.x);
    assert.deepEqual(
      order.map(({ side }) => side),
      result.runs.map(({ side }) => side),
    );
    await page.close();
  });

  test('both distributions are drawn in one plot', async () => {
    const { page } = await browser.open(renderComparisonPage(faster()));
    const figure = page.locator('figure:has-text("Latency by percentile")');
    assert.equal(await figure.count(), 1);
    assert.deepEqual(await figure.locator('.legend li').allTextContents(), ['A', 'B']);
    assert.equal(await figure.locator('polyline.first, polyline.second').count(), 2);
    await page.close();
  });
});
