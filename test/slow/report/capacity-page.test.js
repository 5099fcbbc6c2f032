// The page of a capacity run in a real browser.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { renderCapacityPage } from '#internal/report/capacity/html.js';
import * as results from '../../fixtures/capacity/results.js';
import { skip, startBrowser } from '../../fixtures/report/browser.js';
import { testFits } from '../../fixtures/report/fits.js';
import { boxes } from '../../fixtures/report/static-page.js';

const { plateau, peak, found, atLeast } = results;
const all = Object.entries(results);

describe('page in a browser', { skip }, () => {
  let browser;

  before(async () => {
    browser = await startBrowser();
  });

  after(() => browser?.close());

  testFits(
    all.map(([name, make]) => [name, () => renderCapacityPage(make())]),
    () => browser,
  );

  const near = (a, b, slack, what) => assert.ok(Math.abs(a - b) <= slack, `${what}: ${a}, ${b}`);

  test('the knee is where the bounds meet, and the curve passes through the levels', async () => {
    const { page } = await browser.open(renderCapacityPage(plateau()));
    const figure = 'figure:nth-of-type(1)';
    const [mark] = await boxes(page, `${figure} .mark`);
    const bounds = await boxes(page, `${figure} .area line.bound`);
    const flat = bounds.find(({ top, bottom }) => bottom - top < 2);
    const steep = bounds.find(({ top, bottom }) => bottom - top >= 2);
    // It rises from its lower left to its upper right.
    const part = (steep.bottom - flat.y) / (steep.bottom - steep.top);
    near(steep.left + part * (steep.right - steep.left), mark.x, 3, 'meeting and knee');
    // Where the curve is, asked of the line that is drawn.
    const heights = await page.locator(`${figure} polyline`).evaluate((line) => {
      const matrix = line.getScreenCTM();
      return [...line.points].map(({ x, y }) => ({
        x: matrix.a * x + matrix.e,
        y: matrix.d * y + matrix.f,
      }));
    });
    const points = await boxes(page, `${figure} .area circle`);
    assert.equal(points.length, 7);
    for (const point of points) {
      const on = heights.find(({ x }) => Math.abs(x - point.x) < 1);
      near(on?.y, point.y, 3, 'level and curve');
    }
    await page.close();
  });

  test('blocks that held lie below the bound and left of the others, and the answer is between them', async () => {
    const { page } = await browser.open(renderCapacityPage(found()));
    const figure = 'figure:nth-of-type(1) .area';
    const [bound] = await boxes(page, `${figure} .bound`);
    const [band] = await boxes(page, `${figure} .band`);
    const [mark] = await boxes(page, `${figure} .mark`);
    const held = await boxes(page, `${figure} circle.held`);
    const failed = await boxes(page, `${figure} rect.failed`);
    assert.deepEqual([held.length, failed.length], [5, 3]);
    for (const { y } of held) assert.ok(y > bound.y);
    for (const { y } of failed) assert.ok(y < bound.y);
    assert.ok(Math.max(...held.map(({ x }) => x)) < mark.x);
    assert.ok(Math.min(...failed.map(({ x }) => x)) > mark.x);
    assert.ok(band.left < mark.x && mark.x < band.right);
    const [, , , , confirmed] = held;
    near(confirmed.x, band.left, 1.5, 'longer block at the lower end');
    await page.close();
  });

  test('an interval without an upper end reaches to the edge', async () => {
    const { page } = await browser.open(renderCapacityPage(atLeast()));
    const [band] = await boxes(page, 'figure:nth-of-type(1) .area .band');
    const [area] = await boxes(page, 'figure:nth-of-type(1) .area');
    near(band.right, area.right, 1, 'right edge');
    assert.equal((await boxes(page, 'figure:nth-of-type(1) .area rect.left-out')).length, 1);
    await page.close();
  });

  test('levels without information about the server are drawn differently', async () => {
    const { page } = await browser.open(renderCapacityPage(peak()));
    const points = 'figure:nth-of-type(1) .area circle';
    assert.equal((await boxes(page, points)).length, 10);
    assert.equal((await boxes(page, `${points}.left-out`)).length, 2);
    assert.equal((await boxes(page, 'figure:nth-of-type(1) .mark')).length, 2);
    await page.close();
  });

  test('colors follow the scheme', async () => {
    const { page } = await browser.open(renderCapacityPage(found()), { colorScheme: 'dark' });
    const color = () =>
      page
        .locator('.held')
        .first()
        .evaluate((point) => getComputedStyle(point).fill);
    const dark = await color();
    await page.emulateMedia({ colorScheme: 'light' });
    assert.notEqual(await color(), dark);
    await page.close();
  });
});
