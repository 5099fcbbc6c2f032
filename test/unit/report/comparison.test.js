// Reports of comparisons.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { renderComparisonPage } from '#internal/report/compare/html.js';
import { formatComparisonText } from '#internal/report/compare/text.js';
import {
  faster,
  hostile,
  judged,
  row,
  single,
  withNames,
} from '../../fixtures/report/comparisons.js';

const print = (result, width = 80, color = false) =>
  formatComparisonText(result, { color, width, notes: [] });

/** The text with its lines joined, for sentences. */
const flat = (result) => print(result).replaceAll(/\n +/g, ' ');

describe('text of a comparison', () => {
  test('begins with which is faster, by how much and how sure that is', () => {
    const sentences = [
      [
        judged([1.081, 1.069, 1.093], 'better'),
        'B (branch) is faster than A (main): 8.1 % more requests/s (95 % interval +6.9 % to +9.3 %).',
      ],
      [
        judged([0.8, 0.76, 0.85], 'worse'),
        'B (branch) is slower than A (main): 20 % fewer requests/s (95 % interval -24 % to -15 %).',
      ],
      [
        judged([2.5, 2.4, 2.6], 'better'),
        'B (branch) is faster than A (main): 2.5 times as many requests/s (95 % interval 2.4 to 2.6).',
      ],
      [
        judged([1.003, 0.994, 1.012], 'no-difference'),
        'No difference between A (main) and B (branch): 0.3 % more requests/s (95 % interval -0.6 % to +1.2 %), within the margin of 2 %.',
      ],
      [
        judged([1, 0.994, 1.006], 'no-difference'),
        'No difference between A (main) and B (branch): the same requests/s (95 % interval -0.6 % to +0.6 %), within the margin of 2 %.',
      ],
      [
        judged([0.7, 0.6, 0.8], 'better', { metric: 'p99Ms' }),
        'B (branch) is faster than A (main): 30 % shorter p99 (95 % interval -40 % to -20 %).',
      ],
    ];
    for (const [result, sentence] of sentences) {
      assert.equal(flat(result).split('\n')[0], sentence);
    }
  });

  test('a long label has a line of its own', () => {
    const result = faster();
    const label = 'node --import millrace/register app.js --port 8080';
    result.sides.b.label = label;
    assert.match(flat(result), /^B is faster than A \(main\): /);
    assert.equal(print(result).split('\n')[2], `B: ${label}`);
  });

  test('says why it cannot be told, and what was measured all the same', () => {
    const verdict = {
      metric: 'throughput',
      word: 'cannot-tell',
      reason: 'the interval reaches beyond the margin',
    };
    assert.equal(
      flat(judged([1.02, 0.97, 1.07], 'cannot-tell', { verdict })).split('\n')[0],
      'Cannot tell which is faster, A (main) or B (branch): the interval reaches beyond the margin. Measured for B: 2 % more requests/s (95 % interval -3 % to +7 %).',
    );
  });

  test('a single run of a side has no interval, and the text says so', () => {
    const result = single();
    assert.match(
      flat(result),
      /30 % more requests\/s \(no interval: it takes several runs of each side\)/,
    );
    assert.match(print(result), /^requests\/s +11,420 +14,846 +1\.300 +– {2}cannot tell$/m);
    assert.match(print(result), /^runs +1 of A and 1 of B, from stored results$/m);
    assert.doesNotMatch(print(result), /^intervals/m);
  });

  test('the table has a row per metric with both figures, ratio, interval and verdict', () => {
    const text = print(faster());
    assert.match(text, /^requests\/s +11,420 +12,345 +1\.081 +1\.069 to 1\.093 {2}better$/m);
    assert.match(text, /^p99 +9\.10 ms +9\.30 ms +1\.022 +0\.930 to 1\.120 {2}cannot tell$/m);
    assert.match(text, /^CPU per request +86\.1 µs +79\.2 µs +0\.920 .* {2}better$/m);
    assert.match(text, /^memory +61\.2 MB +68\.8 MB +1\.124 .* {2}worse$/m);
    assert.match(text, /^intervals +95 % for requests\/s; 98\.8 % to 99 % for the others,/m);
  });

  test('figures that no side has take no row, and one that a side lacks is a dash', () => {
    const result = faster();
    result.rows[3] = row('cpuPerRequestUs', [null, null], null, 'cannot-tell');
    result.rows[4] = row('memoryMb', [61.2, null], null, 'cannot-tell');
    assert.doesNotMatch(print(result), /CPU per request/);
    assert.match(print(result), /^memory +61\.2 MB +– +– +– {2}cannot tell$/m);
  });

  test('few request names are all shown, of many those that differ', () => {
    const few = print(withNames(3, 1));
    for (const index of [0, 1, 2]) assert.match(few, new RegExp(`^GET /things-${index}/:id$`, 'm'));
    assert.equal(few.match(/^ {2}(requests\/s|p50|p99) /gm)?.length, 9);

    const many = print(withNames(30, 2));
    const shown = many.match(/^GET .*$/gm);
    assert.deepEqual(shown, ['GET /things-1/:id', 'GET /things-0/:id']);
    assert.equal(many.match(/^ {2}(requests\/s|p50|p99) /gm)?.length, 2);
    assert.match(many, /^28 more request names: 28 without a difference \(all: --html, --csv\)$/m);

    assert.match(
      flat(withNames(30, 20)),
      /18 more request names: 8 that differ, 10 without a difference/,
    );
    assert.match(
      print(withNames(30, 0)),
      /^30 request names: 30 without a difference \(all: --html, --csv\)$/m,
    );
  });

  test('of those that differ the largest difference is first, in whichever direction', () => {
    const result = withNames(30, 2);
    const better = result.rows.find(
      ({ name, metric }) => name?.includes('-5/') && metric === 'p99Ms',
    );
    Object.assign(better, { ratio: { estimate: 0.5, low: 0.4, high: 0.6 }, verdict: 'better' });
    const shown = print(result).match(/^GET .*$/gm);
    assert.deepEqual(shown, ['GET /things-5/:id', 'GET /things-1/:id', 'GET /things-0/:id']);
  });

  test('why there are no more runs', () => {
    assert.match(
      flat(faster()),
      /runs +6 of A and 6 of B in turn, in 1 min 14 s; ended as the interval is 2.2 % wide \(--width 3 %\)/,
    );
    assert.match(
      flat(faster({ ended: 'budget', width: 0.01 })),
      /the time was used up \(--budget\): the interval is 2.2 % wide, 1 % was asked for \(--width\)/,
    );
    const wide = judged([1, 0.001, 3000], 'cannot-tell', { ended: 'interrupted' });
    assert.match(flat(wide), /interrupted: the interval is more than 1,000 % wide$/m);
    assert.match(flat(faster({ ended: 'interrupted' })), /interrupted: the interval is 2.2 % wide/);
  });

  test("differences of the answers, the stack's share and warnings", () => {
    const text = flat(
      faster({
        differences: ['content-length: 12 of A, 14 of B'],
        stack: { native: 9_900, fallback: 100, fallbackReasons: { upgrade: 3, expect: 1 } },
        warnings: [{ id: 'noise', message: 'The machine was busy.' }],
      }),
    );
    assert.match(text, /^difference +content-length: 12 of A, 14 of B$/m);
    assert.match(
      text,
      /served 99 % of B's requests natively \(9,900 of 10,000\); to Node's own code: upgrades \(3 connections\), expect \(1 connection\)/,
    );
    assert.match(text, /^! The machine was busy\.$/m);
    assert.match(flat(faster({ stack: null })), /^native stack +unknown/m);
    assert.doesNotMatch(flat(faster()), /native stack|answers|CLIENT-BOUND/);
  });

  test('runs that the load generator limited are counted', () => {
    const result = faster();
    result.runs[3].clientBound = true;
    assert.match(
      flat(result),
      /CLIENT-BOUND: in 1 of 12 runs the load generator was the limit, not the server\. Use a lower load, a quieter or another machine, or more threads \(-t\) where cores are free\.$/m,
    );
  });

  test('no line is longer than the width, and no text from outside controls the terminal', () => {
    const result = withNames(3, 3);
    const long = `\x1b[31m${'x y'.repeat(80)}`;
    result.sides.a.label = long;
    result.differences = [long];
    for (const one of result.rows) if (one.name !== null) one.name = `${long}${one.name}`;
    for (const width of [60, 80, 132]) {
      for (const line of print(result, width).split('\n')) {
        assert.ok(line.length <= width, `${width}: ${line}`);
        assert.ok(!line.includes('\x1b'));
      }
    }
    assert.ok(print(faster(), 80, true).includes('\x1b['));
  });
});

describe('page of a comparison', () => {
  const textOf = (page) => page.replace(/<style>.*?<\/style>|<script.*?<\/script>/gs, '');

  for (const [name, make] of Object.entries({ faster, single, hostile })) {
    test(`${name}: has the result and no number that is none`, () => {
      const page = renderComparisonPage(make());
      const [, held] = /<script type="application\/json" id="result">(.*?)<\/script>/.exec(page);
      assert.deepEqual(JSON.parse(held), make());
      assert.doesNotMatch(textOf(page), /NaN|undefined|Infinity/);
    });
  }

  test('the verdict is first, before the conditions and the figures', () => {
    const conditions = [{ condition: 'memory ratio<=1.05', value: 1.124, holds: false }];
    const page = textOf(renderComparisonPage(faster({ conditions })));
    const places = ['is faster than A', 'the condition does not hold', 'B / A'];
    const found = places.map((text) => page.indexOf(text));
    assert.ok(found.every((place) => place > 0));
    assert.deepEqual(
      found.toSorted((a, b) => a - b),
      found,
    );
    assert.match(
      page,
      /✗ <code>memory ratio&#60;=1\.05<\/code> does not hold: 1\.124 \(interval 1\.100 to 1\.150\)/,
    );
  });

  test('a condition without an interval cannot be judged, and is no failure', () => {
    const conditions = [
      { condition: 'p99 ratio<=1.1', value: null, holds: null },
      { condition: 'throughput ratio>=0.9', value: 1.081, holds: true },
    ];
    const page = textOf(renderComparisonPage(faster({ conditions })));
    assert.match(page, /<strong>Not judged<\/strong> 1 of 2 conditions cannot be judged/);
    assert.match(page, /\? <code>p99 ratio&#60;=1\.1<\/code> cannot be judged: without a ratio/);
    assert.match(page, /✓ <code>throughput ratio&#62;=0\.9<\/code> holds: 1\.081/);
  });

  test('a condition that holds is not shown if its bound is in the interval', () => {
    const [certain, uncertain] = ['throughput ratio>=0.9', 'throughput ratio>=1.08'].map(
      (condition) => {
        const conditions = [{ condition, value: 1.081, holds: true }];
        return textOf(renderComparisonPage(faster({ conditions })));
      },
    );
    assert.match(certain, /<strong>Passed<\/strong> the condition holds/);
    assert.match(certain, /holds: 1\.081 \(interval 1\.069 to 1\.093\)</);
    assert.match(
      uncertain,
      /holds: 1\.081 \(interval 1\.069 to 1\.093 contains the bound: not shown\)</,
    );
  });

  test('all request names are on the page, and what differs is open', () => {
    const page = renderComparisonPage(withNames(30, 2));
    const [open, folded] = textOf(page).split('<details>');
    assert.equal(open.match(/GET \/things-\d+\/:id/g).length, 2);
    assert.equal(new Set(folded.match(/GET \/things-\d+\/:id/g)).size, 30);
  });

  test('text from outside stays text', () => {
    const page = renderComparisonPage(hostile());
    assert.equal(page.match(/<\/script>/g).length, 1);
    assert.ok(!textOf(page).includes('<img'));
  });
});

test('the ends of an interval that tells nothing are bounds', () => {
  const result = judged([1, 1e-21, 1e21], 'cannot-tell');
  assert.match(print(result), /^requests\/s .* 1\.000 +<0\.001 to >1,000 {2}cannot tell$/m);
});
