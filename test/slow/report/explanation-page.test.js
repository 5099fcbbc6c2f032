// The page of an explanation in a real browser.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { renderExplanationPage } from '#internal/report/explain/html.js';
import {
  cannotTell,
  hostile,
  nagle,
  tooFewConnections,
} from '../../fixtures/explain/explanations.js';
import { skip, startBrowser } from '../../fixtures/report/browser.js';
import { testFits } from '../../fixtures/report/fits.js';
import { boxes } from '../../fixtures/report/static-page.js';

const explanations = { tooFewConnections, nagle, cannotTell, hostile };

describe('page in a browser', { skip }, () => {
  let browser;

  before(async () => {
    browser = await startBrowser();
  });

  after(() => browser?.close());

  testFits(
    Object.entries(explanations).map(([name, make]) => [name, () => renderExplanationPage(make())]),
    () => browser,
  );

  test('the knee is where the bounds meet, and the measured point is at the mark of the load', async () => {
    const { page } = await browser.open(renderExplanationPage(tooFewConnections()));
    const [own] = await boxes(page, 'circle.point.own');
    const marks = await boxes(page, 'figure:has(.bound) .mark');
    assert.ok(Math.abs(marks[0].x - own.x) < 1);
    const bounds = await page.locator('.bound').evaluateAll((lines) =>
      lines.map((line) => {
        const number = (name) => line[name].baseVal.value;
        return { x1: number('x1'), x2: number('x2'), y1: number('y1'), y2: number('y2') };
      }),
    );
    const flat = bounds.find(({ y1, y2 }) => y1 === y2);
    const steep = bounds.find(({ y1, y2 }) => y1 !== y2);
    const share = (flat.y1 - steep.y1) / (steep.y2 - steep.y1);
    const meet = steep.x1 + share * (steep.x2 - steep.x1);
    const knee = await page
      .locator('figure:has(.bound) .mark')
      .nth(1)
      .evaluate((line) => line.x1.baseVal.value);
    assert.ok(Math.abs(meet - knee) < 3, `${meet} ${knee}`);
    await page.close();
  });

  test('a measured result lies on the prediction that it confirms, and not on one that it rules out', async () => {
    const { page } = await browser.open(renderExplanationPage(tooFewConnections()));
    const experiments = await page.locator('.forest tbody').evaluateAll((bodies) =>
      bodies.map((body) => {
        const { left, width } = body.querySelector('circle').getBoundingClientRect();
        const x = left + width / 2;
        return [...body.querySelectorAll('tr:has(.predicted)')].map((row) => {
          const bar = row.querySelector('.predicted').getBoundingClientRect();
          return [row.className, x > bar.left && x < bar.right];
        });
      }),
    );
    for (const [kind, hit] of experiments.flat()) assert.equal(hit, kind !== 'against');
    assert.equal(experiments.flat().length, 7);
    await page.close();
  });

  test('a prediction of no change is visible, and one beyond the axis ends at its edge', async () => {
    const { page } = await browser.open(renderExplanationPage(nagle()));
    const widths = await page
      .locator('.against .predicted')
      .evaluateAll((bars) => bars.map((bar) => bar.getBoundingClientRect().width));
    assert.equal(widths.length, 2);
    for (const width of widths) assert.ok(width >= 1, `${width}`);
    await page.close();
  });

  test('colors follow the scheme', async () => {
    const { page } = await browser.open(renderExplanationPage(nagle()), { colorScheme: 'dark' });
    const color = () =>
      page
        .locator('.bar')
        .first()
        .evaluate((bar) => getComputedStyle(bar).fill);
    const dark = await color();
    await page.emulateMedia({ colorScheme: 'light' });
    assert.notEqual(await color(), dark);
    await page.close();
  });
});
