// Flame graphs of a page in a real browser: mouse, keys, search, without scripts, with 10,000 frames.
import { deepEqual, equal, match, ok } from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { renderExplanationPage } from '#internal/report/explain/html.js';
import { largeCpuTimes, withGraphs } from '../../fixtures/explain/flame-graphs.js';
import { skip, startBrowser } from '../../fixtures/report/browser.js';
import { testFits } from '../../fixtures/report/fits.js';

const large = () => ({ ...withGraphs(), cpu: largeCpuTimes() });

/** Text in place of code that a profiled service may have. */
function hostile() {
  const explanation = structuredClone(withGraphs());
  const attack = '</script><img src=x onerror="window.attacked = true">';
  for (const frame of explanation.cpu.graph.frames)
    Object.assign(frame, { name: attack, place: attack });
  return explanation;
}

describe('flame graphs in a browser', { skip }, () => {
  let browser;

  before(async () => {
    browser = await startBrowser();
  });

  after(() => browser?.close());

  testFits(
    [
      ['graphs', () => renderExplanationPage(withGraphs())],
      ['hostile graphs', () => renderExplanationPage(hostile())],
    ],
    () => browser,
  );

  /** Opens a page, with what a user does with its first graph. */
  async function open(explanation, options) {
    const { page, complaints } = await browser.open(renderExplanationPage(explanation), options);
    const figure = page.locator('.flame-graph').first();
    const frame = (name) => figure.locator('.frame', { hasText: name });
    return {
      ...{ page, complaints, figure, frame },
      details: () => figure.locator('.details').textContent(),
      widthOf: async (name) => Number(await frame(name).locator('rect').getAttribute('width')),
      names: () => figure.locator('.frame text').allTextContents(),
    };
  }

  test('a click zooms into a frame, whose details are shown, and Escape shows the whole again', async () => {
    const { page, figure, details, frame, widthOf, names, complaints } = await open(withGraphs());
    const [before, whole] = [await widthOf('hashPassword'), await widthOf('all')];
    ok(Math.abs(before / whole - 0.4) < 0.01, `${before} of ${whole}`);
    await frame('hashPassword').click();
    equal(await widthOf('hashPassword'), whole);
    deepEqual((await names()).sort(), ['all', 'digest', 'emit', 'handleOrder', 'hashPassword']);
    equal(
      await details(),
      'hashPassword src/auth.ts:12 · 40 % · 800 ms · 2.5 % itself · your code',
    );
    await page.mouse.move(0, 0);
    await page.locator('.flame-graph svg.frames').first().focus();
    await page.keyboard.press('Escape');
    equal(await widthOf('hashPassword'), before);
    equal(await details(), 'all: 2 s');
    // As in a tab that is not shown yet.
    await figure.evaluate((hidden) => {
      hidden.style.display = 'none';
      return new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)));
    });
    deepEqual(complaints, []);
    await page.close();
  });

  test('arrow keys go from frame to frame, and Enter zooms', async () => {
    const { page, figure, details, widthOf } = await open(withGraphs());
    await figure.locator('svg.frames').focus();
    const press = async (...keys) => {
      for (const key of keys) await page.keyboard.press(key);
      return (await details()).split(' ')[0];
    };
    equal(await press('ArrowDown', 'ArrowDown', 'ArrowDown'), 'hashPassword');
    equal(await press('ArrowRight'), 'renderPage');
    equal(await press('ArrowDown', 'ArrowRight'), 'stringify');
    equal(await press('ArrowUp', 'Enter'), 'renderPage');
    equal(await widthOf('renderPage'), await widthOf('all'));
    // Beyond what is zoomed to.
    equal(await press('ArrowLeft'), 'hashPassword');
    const active = await figure.locator('svg.frames').getAttribute('aria-activedescendant');
    match(await figure.locator(`[id="${active}"]`).getAttribute('aria-label'), /^hashPassword/);
    equal(await press('Home'), 'all:');
    await page.close();
  });

  test('a search tells the share of what it matches, nested frames once, and Enter goes to the frames', async () => {
    const { page, figure, details } = await open(withGraphs());
    const search = figure.getByLabel('Search');
    await search.fill('src/');
    equal(await figure.locator('output').textContent(), '75 % matched');
    deepEqual(await figure.locator('.match text').allTextContents(), [
      'handleOrder',
      'hashPassword',
      'renderPage',
    ]);
    await search.fill('RENDER');
    equal(await figure.locator('output').textContent(), '30 % matched');
    await search.press('Enter');
    match(await details(), /^renderPage /);
    await search.press('Escape');
    equal(await figure.locator('.match').count(), 0);
    await page.close();
  });

  test('10,000 frames are drawn and zoomed, at the width of a phone too', async () => {
    const { page, figure, complaints } = await open(large(), { width: 390, colorScheme: 'dark' });
    ok((await figure.locator('.frame').count()) > 100);
    const frame = figure.locator('.frame.dependency').nth(3);
    const name = (await frame.getAttribute('aria-label')).split(' ')[0];
    await frame.dispatchEvent('click');
    match(await figure.locator('.details').textContent(), new RegExp(`^${name} `));
    const { scrollWidth, clientWidth } = await page.evaluate(() => ({
      scrollWidth: document.documentElement.scrollWidth,
      clientWidth: document.documentElement.clientWidth,
    }));
    ok(scrollWidth <= clientWidth, `${scrollWidth} of ${clientWidth}`);
    deepEqual(complaints, []);
    await page.close();
  });

  test('without scripts there is a picture, and nothing that would need one', async () => {
    const { page, complaints } = await browser.open(renderExplanationPage(withGraphs()), {
      width: 390,
      javaScriptEnabled: false,
    });
    const figure = page.locator('.flame-graph').first();
    equal(await figure.locator('svg.frames > svg').count(), 9);
    const hash = figure.locator('svg.frames > svg', { hasText: 'hashPassword' }).locator('rect');
    const [{ width }, whole] = [
      await hash.boundingBox(),
      await figure.locator('.picture').boundingBox(),
    ];
    ok(Math.abs(width / whole.width - 0.4) < 0.01);
    equal(await figure.getByLabel('Search').isVisible(), false);
    deepEqual(complaints, []);
    await page.close();
  });
});
