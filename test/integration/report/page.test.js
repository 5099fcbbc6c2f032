// The page of a load in a real browser.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { cores, time } from '#internal/format/units.js';
import { renderLoadPage } from '#internal/report/load/html.js';
import { cutOff, skip, startBrowser } from '../../fixtures/report/browser.js';
import { fixture, hostile, names, withNamedResults } from '../../fixtures/report/results.js';

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

describe('page in a browser', { skip }, () => {
  let browser;

  before(async () => {
    browser = await startBrowser();
  });

  after(() => browser?.close());

  const open = (result, options) => browser.open(renderLoadPage(result), options);

  /** How many pixels of each plot have the color of the first series. */
  async function drawnPixels(page) {
    // A change of the scheme is told to the page with its next frame.
    await page.evaluate(
      () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))),
    );
    return page.evaluate(() => {
      const style = getComputedStyle(document.documentElement).getPropertyValue('--first').trim();
      const [red, green, blue] = [1, 3, 5].map((at) =>
        Number.parseInt(style.slice(at, at + 2), 16),
      );
      return [...document.querySelectorAll('.canvas canvas')].map((canvas) => {
        const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
        let pixels = 0;
        for (let at = 0; at < data.length; at += 4) {
          if (data[at] === red && data[at + 1] === green && data[at + 2] === blue) pixels += 1;
        }
        return pixels;
      });
    });
  }

  const plots = { closed: 3, 'open-freeze': 3, 'tls-errors': 3, empty: 1, server: 5 };

  for (const name of names) {
    test(`the page of ${name} draws all plots, loads nothing and cuts nothing off`, async () => {
      for (const width of [1280, 390]) {
        const { page, complaints } = await open(fixture(name), { width });
        const pixels = await drawnPixels(page);
        assert.equal(pixels.length, plots[name]);
        for (const number of pixels) assert.ok(number > 100, `${pixels} pixels drawn`);
        assert.deepEqual(await cutOff(page), []);
        assert.deepEqual(complaints, []);
        await page.close();
      }
    });
  }

  test('the plots of request names are drawn, and nothing is cut off', async () => {
    for (const width of [1280, 390]) {
      const { page, complaints } = await open(withNamedResults(25), { width });
      const pixels = await drawnPixels(page);
      assert.equal(pixels.length, plots.closed + 20);
      for (const number of pixels) assert.ok(number > 100, `${pixels} pixels drawn`);
      assert.deepEqual(await cutOff(page), []);
      assert.deepEqual(complaints, []);
      await page.close();
    }
  });

  test('plots of times begin at zero', async () => {
    const { page, complaints } = await open(allCensored());
    assert.ok((await drawnPixels(page)).every((pixels) => pixels > 100));
    assert.deepEqual(complaints, []);
    await page.close();
  });

  test('the colors follow the scheme while the page is open, and are light on paper', async () => {
    const { page } = await open(fixture('closed'), { colorScheme: 'dark' });
    const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const dark = await background();
    assert.ok((await drawnPixels(page)).every((pixels) => pixels > 100));
    await page.emulateMedia({ colorScheme: 'light' });
    const light = await background();
    assert.ok((await drawnPixels(page)).every((pixels) => pixels > 100));
    await page.emulateMedia({ colorScheme: 'dark', media: 'print' });
    assert.equal(await background(), light);
    const brightness = (color) => Math.max(...color.match(/\d+/g).map(Number));
    assert.ok(brightness(dark) < 50 && brightness(light) > 200, `${dark} ${light}`);
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
    const last = await page.evaluate(`(() => {
      const [plot] = plots.filter(({ id }) => id === 'distribution');
      const values = plot.series[0].values;
      const end = values.findLastIndex((value) => value !== null);
      return { part: plot.x[end] / plot.end };
    })()`);
    assert.ok(last.part < 0.9, `the line reaches ${last.part} of the axis`);
    await page.close();
  });

  test('arrow keys move the cursor of all plots over time', async () => {
    const { page } = await open(fixture('server'));
    const values = (id) => page.locator(`#plot-${id} .u-value`).allTextContents();
    assert.deepEqual(await values('latency'), ['–', '–', '–']);
    await page.locator('#plot-latency').focus();
    for (let times = 0; times < 3; times += 1) await page.keyboard.press('ArrowRight');
    const { series, server } = fixture('server');
    const { p99Ms, p50Ms } = series[2];
    assert.deepEqual(await values('latency'), ['0.2 s', time(p99Ms), time(p50Ms)]);
    assert.deepEqual(await values('cpu'), ['0.2 s', `${cores(server.series[2].cpu)} cores`]);
    await page.close();
  });

  test('a window extends from its start to its end, also before a gap', async () => {
    const result = fixture('open-freeze');
    const last = result.series.findIndex((window) => window.p50Ms === null) - 1;
    const middle = (result.series[last].tMs + 70) / 1000;
    const { page } = await open(result);
    const column = await page.evaluate(`(() => {
      const { ctx } = drawn[1];
      const x = Math.round(drawn[1].valToPos(${middle}, 'x', true));
      return [...ctx.getImageData(x, 0, 1, ctx.canvas.height).data];
    })()`);
    const strong = column.filter((value, at) => at % 4 === 2 && value > 160 && column[at - 2] < 30);
    assert.ok(strong.length > 0, 'p50 is not drawn');
    const area = await page.locator('#plot-latency .u-over').boundingBox();
    await page.mouse.move(area.x + (area.width * middle) / 10, area.y + 20);
    const [time] = await page.locator('#plot-latency .u-value').allTextContents();
    assert.equal(time, `${result.series[last].tMs / 1000} s`);
    await page.close();
  });

  test('dragging zooms all plots over time, and Escape resets the zoom', async () => {
    const { page } = await open(fixture('server'));
    // `drawn` is the script's own list of its charts.
    const ranges = () => page.evaluate('drawn.map(({ scales }) => [scales.x.min, scales.x.max])');
    const all = await ranges();
    for (const range of all.slice(0, 4)) assert.deepEqual(range.map(Math.round), [0, 15]);
    const area = page.locator('#plot-latency .u-over');
    const { x, y, width } = await area.boundingBox();
    await page.mouse.move(x + width / 3, y + 20);
    await page.mouse.down();
    await page.mouse.move(x + width / 2, y + 20, { steps: 3 });
    await page.mouse.up();
    const zoomed = await ranges();
    for (const [from, to] of zoomed.slice(0, 4)) {
      assert.ok(Math.abs(from - 5) < 0.2 && Math.abs(to - 7.5) < 0.2, `${from} to ${to}`);
    }
    assert.deepEqual(zoomed[4], all[4]);
    await page.locator('#plot-latency').focus();
    await page.keyboard.press('Escape');
    assert.deepEqual(await ranges(), all);
    await page.close();
  });

  test('a zoom into a gap shows nothing, and the page continues to work', async () => {
    const { page, complaints } = await open(fixture('open-freeze'));
    const { x, y, width } = await page.locator('#plot-latency .u-over').boundingBox();
    await page.mouse.move(x + width * 0.42, y + 20);
    await page.mouse.down();
    await page.mouse.move(x + width * 0.53, y + 20, { steps: 3 });
    await page.mouse.up();
    const [, latency] = await drawnPixels(page);
    assert.equal(latency, 0);
    await page.mouse.dblclick(x + width / 2, y + 20);
    const [, all] = await drawnPixels(page);
    assert.ok(all > 100);
    assert.deepEqual(complaints, []);
    await page.close();
  });

  test('the plots follow the width of the window', async () => {
    const { page } = await open(fixture('closed'));
    await page.setViewportSize({ width: 500, height: 900 });
    await page.waitForFunction(() => document.querySelector('.uplot').offsetWidth < 500);
    assert.deepEqual(await cutOff(page), []);
    await page.close();
  });

  test('markup in a result is displayed as text', async () => {
    const { page, complaints } = await open(hostile(), { width: 390 });
    assert.equal(await page.evaluate(() => window.attacked), undefined);
    assert.match(await page.locator('.summary').textContent(), /<\/script><script>/);
    assert.deepEqual(complaints, []);
    assert.deepEqual(await cutOff(page), []);
    await page.close();
  });
});
