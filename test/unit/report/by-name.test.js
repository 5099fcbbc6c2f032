// The requests of a load by name, as text and on the page.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { renderLoadPage } from '#internal/report/load/html.js';
import { formatLoadText } from '#internal/report/load/text.js';
import { withNamedResults } from '../../fixtures/report/results.js';
import { readingsOf } from '../../fixtures/report/static-page.js';

const print = (result, width = 80) => formatLoadText(result, { color: false, width, notes: [] });

describe('requests by name', () => {
  test('the text shows the names with the most time, and counts the rest', () => {
    const result = withNamedResults(25);
    result.byName[1].requests.statusErrors = 7;
    result.byName[20].requests.timeouts = 5;
    const lines = print(result).split('\n');
    const head = lines.findIndex((line) => line.startsWith('by name'));
    assert.match(lines[head + 1], /^GET \/things-0\/:id +7\.7 % +8,989 +412 µs +568 µs +0$/);
    assert.match(lines[head + 2], /^GET \/things-1\/:id .* 7$/);
    assert.match(
      lines[head + 9],
      /^and 17 more names: 47 % of the time, [\d,]+ requests, 5 failed$/,
    );
    assert.equal(lines[head + 10], '');
  });

  test('a single name is what all requests have: it is not shown', () => {
    assert.doesNotMatch(print(withNamedResults(1)), /by name/);
    assert.doesNotMatch(renderLoadPage(withNamedResults(1)), /By request name/);
  });

  test('a name that is too long is cut, and none controls the terminal', () => {
    const result = withNamedResults(3);
    result.byName[0].name = `GET /${'long/'.repeat(40)}`;
    result.byName[1].name = 'GET /\u001b[31m';
    for (const width of [60, 80]) {
      const lines = print(result, width).split('\n');
      for (const line of lines) assert.ok(line.length <= width, line);
      assert.ok(lines.some((line) => /^GET \/long.*… +50 %/.test(line)));
      assert.ok(!lines.some((line) => line.includes('\u001b')));
    }
  });

  test('a name without a response has no latency', () => {
    const result = withNamedResults(2);
    Object.assign(result.byName[1].requests, { ok: 0, timeouts: result.byName[1].requests.sent });
    assert.match(print(result), /^GET \/things-1\/:id .* – +– +\d+/m);
    assert.deepEqual(listPlots(renderLoadPage(result)), ['GET /things-0/:id']);
  });

  /** The titles of the plots of names. */
  function listPlots(page) {
    return [...page.matchAll(/<h3>(GET .*?)<\/h3>/g)].map(([, title]) => title);
  }

  test('the page has all names in a table, and a plot for each of 20', () => {
    const page = renderLoadPage(withNamedResults(25));
    assert.equal(page.match(/<th scope="row"><code>GET \/things-\d+\/:id<\/code>/g).length, 25);
    const plots = listPlots(page);
    assert.equal(plots.length, 20);
    assert.equal(plots[0], 'GET /things-0/:id');
    // The median of the histogram is that of the result.
    const median = readingsOf(page, plots[0]).find((text) => /^p5\d/.test(text));
    assert.match(median, /^p50\S*: latency 41\d µs$/);
    assert.match(page, /The 20 names with the most time have a plot\./);
  });
});
