// The page of a load in a real browser.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { time } from '#internal/format/units.js';
import { renderLoadPage } from '#internal/report/load/html.js';
import { cutOff, skip, startBrowser } from '../../fixtures/report/browser.js';
import { testFits } from '../../fixtures/report/fits.js';
import { fixture, hostile, names, withNamedResults } from '../../fixtures/report/results.js';
import { boxes } from '../../fixtures/report/static-page.js';

/** A result whose requests all timed out or were in flight at the end, some of them just sent. */
function allCensored() {
  const result = fixture('open-freeze');
  const latencyMs = { ...result.latencyMs, min: null, censored: result.latencyMs.count };
  const latency = [
    [1, 0],
    [90, 1],
    [100, 1500],
  ];
  return { ...result, latencyMs, percentiles: { ...result.percentiles, latency } };
}

/** A result whose slowest requests have trace ids. */
function withSlowest() {
  const slowest = Array.from({ length: 10 }, (_, index) => ({
    traceId: `${index}`.repeat(32),
    latencyMs: 1000 - index,
    name: `GET /${'a-long-name-'.repeat(index)}`,
    status: index % 2 === 0 ? 200 : null,
    error: index % 2 === 0 ? null : 'connect-timeout',
  }));
  return { ...fixture('closed'), slowest };
}

describe('page in a browser', { skip }, () => {
  let browser;

  before(async () => {
    browser = await startBrowser();
  });

  after(() => browser?.close());

  const open = (result, options) => browser.open(renderLoadPage(result), options);

  testFits(
    [...names.map((name) => [name, fixture(name)]), ['hostile', hostile()]]
      .concat([
        ['request names', withNamedResults(25)],
        ['slowest', withSlowest()],
        ['no known time', allCensored()],
      ])
      .map(([name, result]) => [name, () => renderLoadPage(result)]),
    () => browser,
  );

  const plots = { closed: 3, 'open-freeze': 3, 'tls-errors': 3, empty: 1, server: 5, scenarios: 7 };

  for (const name of names) {
    test(`the page of ${name} draws all plots, their lines within the axes`, async () => {
      const { page } = await open(fixture(name));
      for (const width of [1280, 390]) {
        await page.setViewportSize({ width, height: 900 });
        const areas = await boxes(page, '.area');
        assert.equal(areas.length, plots[name]);
        for (const [index, area] of areas.entries()) {
          const lines = await boxes(page, `:nth-match(.area, ${index + 1}) polyline`);
          assert.ok(lines.length > 0);
          for (const line of lines) {
            assert.ok(line.left >= area.left - 1 && line.right <= area.right + 1);
            assert.ok(line.top >= area.top - 1 && line.bottom <= area.bottom + 1);
          }
        }
      }
      await page.close();
    });
  }

  test('labels of an axis do not overlap, in any width', async () => {
    const { page } = await open(withNamedResults(4));
    for (const width of [1280, 700, 390]) {
      await page.setViewportSize({ width, height: 900 });
      for (let index = 1; index <= plots.closed + 4; index += 1) {
        const labels = await boxes(page, `:nth-match(.area, ${index}) .tick`);
        const shown = labels.filter(({ right, left }) => right > left);
        for (const [at, { left }] of shown.slice(1).entries()) {
          assert.ok(left > shown[at].right, `${width} px wide, plot ${index}, label ${at + 1}`);
        }
      }
    }
    await page.close();
  });

  test('the colors follow the scheme while the page is open, and are light on paper', async () => {
    const { page } = await open(fixture('closed'), { colorScheme: 'dark' });
    const colors = () =>
      page.evaluate(() => [
        getComputedStyle(document.body).backgroundColor,
        getComputedStyle(document.querySelector('polyline.first')).stroke,
      ]);
    const dark = await colors();
    await page.emulateMedia({ colorScheme: 'light' });
    const light = await colors();
    await page.emulateMedia({ colorScheme: 'dark', media: 'print' });
    assert.deepEqual(await colors(), light);
    const brightness = (color) => Math.max(...color.match(/\d+/g).map(Number));
    assert.ok(brightness(dark[0]) < 50 && brightness(light[0]) > 200, `${dark} ${light}`);
    assert.notEqual(dark[1], light[1]);
    await page.close();
  });

  test('failing responses are shown in full with their request', async () => {
    const request = { method: 'GET', url: 'https://127.0.0.1:8443/items?id=1' };
    const failingResponses = [
      {
        status: 503,
        error: null,
        request,
        head: 'HTTP/1.1 503 Service Unavailable\nretry-after: 1',
        body: '{"error":"<b>too many</b> requests"}',
        bodyTruncated: false,
      },
      {
        status: null,
        error: 'reset',
        request,
        head: 'HTTP/1.1 200 OK\ncontent-length: 4096',
        body: 'x'.repeat(400),
        bodyTruncated: true,
      },
    ];
    const { page, complaints } = await open(
      { ...fixture('tls-errors'), failingResponses },
      { width: 390 },
    );
    const section = page.locator('section', {
      has: page.getByRole('heading', { name: 'Failing responses' }),
    });
    assert.deepEqual(await section.locator('figcaption').allTextContents(), [
      '503: first response, to GET https://127.0.0.1:8443/items?id=1',
      'reset: partial response before the first error, to GET https://127.0.0.1:8443/items?id=1',
    ]);
    assert.deepEqual(await section.locator('pre').allTextContents(), [
      'HTTP/1.1 503 Service Unavailable\nretry-after: 1\n\n{"error":"<b>too many</b> requests"}',
      `HTTP/1.1 200 OK\ncontent-length: 4096\n\n${'x'.repeat(400)} …`,
    ]);
    assert.deepEqual(await cutOff(page), []);
    assert.deepEqual(complaints, []);
    await page.close();
  });

  test('the page has no section for failing responses without any', async () => {
    const { page } = await open(fixture('closed'));
    const headings = await page.getByRole('heading').allTextContents();
    assert.ok(headings.includes('Numbers') && !headings.includes('Failing responses'));
    await page.close();
  });

  test('a lower bound is marked in tile, table, caption and definition, and its line ends early', async () => {
    const result = fixture('tls-errors');
    const { page } = await open(result);
    const tile = page.locator('.headline div', { hasText: 'Latency max' });
    assert.match(await tile.textContent(), /≥ 503 ms/);
    const row = page.getByRole('row', { name: /^p99\.9 / });
    assert.deepEqual(await row.getByRole('cell').allTextContents(), [
      `≥ ${time(result.latencyMs.p99_9)}`,
      `≥ ${time(result.serviceTimeMs.p99_9)}`,
      time(result.connectMs.p99_9),
      time(result.tlsMs.p99_9),
    ]);
    const text = await page.locator('main').textContent();
    assert.match(text, /A line that ends below 100 % means that unfinished requests/);
    assert.match(text, /at least: unfinished requests were older than all finished ones/);
    assert.match(text, /at least, ≥:?\s*a lower bound/);
    const known = result.percentiles.latency.at(-1)[0];
    assert.ok(known < 100);
    const figure = 'figure:has-text("Latency by percentile")';
    const [area] = await boxes(page, `${figure} .area`);
    const lines = await boxes(page, `${figure} polyline.first`);
    const end = Math.max(...lines.map(({ right }) => right));
    const part = (end - area.left) / (area.right - area.left);
    assert.ok(part < 0.9, `the line reaches ${part} of the axis`);
    await page.close();
  });

  test('a window extends from its start to its end, also before a gap', async () => {
    const result = fixture('open-freeze');
    const gap = result.series.findIndex((window) => window.p50Ms === null);
    const { page } = await open(result);
    const figure = 'figure:has-text("Percentiles of the requests that ended")';
    const [area] = await boxes(page, `${figure} .area`);
    const [line] = await boxes(page, `${figure} polyline.first`);
    const seconds = ((line.right - area.left) / (area.right - area.left)) * 10;
    assert.ok(Math.abs(seconds - result.series[gap].tMs / 1000) < 0.02, `${seconds} s`);
    await page.close();
  });

  test('a pointer over a plot is over the window whose values the title gives', async () => {
    const result = fixture('server');
    const { page } = await open(result);
    const area = page.locator('figure:has-text("Percentiles of the requests that ended") .area');
    await area.scrollIntoViewIfNeeded();
    const { x, y, width } = await area.boundingBox();
    const at = 7.25;
    const seconds = result.durationMs / 1000;
    const title = await page.evaluate(
      ([left, top]) => document.elementFromPoint(left, top).querySelector('title').textContent,
      [x + (width * at) / seconds, y + 100],
    );
    const { p99Ms, p50Ms } = result.series[72];
    assert.equal(title, `7.2 s: p99 ${time(p99Ms)}, p50 ${time(p50Ms)}`);
    await page.close();
  });

  test('markup in a result is displayed as text', async () => {
    const { page } = await open(hostile(), { width: 390 });
    assert.match(await page.locator('.summary').textContent(), /<\/script><script>/);
    await page.close();
  });
});
