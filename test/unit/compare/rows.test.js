import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { compareRuns } from '#internal/compare/rows/rows.js';
import { studentQuantile } from '#internal/statistics/student.js';
import { Noise } from '../../fixtures/noise.js';
import { buildPairs, buildRun, exchangeSides } from './runs.js';

const SETTINGS = { margin: 0.02, metric: 'throughput' };
const OPPOSITE = { better: 'worse', worse: 'better' };
const METRICS = ['throughput', 'p50Ms', 'p99Ms', 'cpuPerRequestUs', 'memoryMb'];
const oppositeOf = (word) => OPPOSITE[word] ?? word;
const near = (actual, expected, what) =>
  assert.ok(Math.abs(actual / expected - 1) < 1e-9, `${what}: ${actual}, not ${expected}`);
const compareThroughput = (pairs, settings) =>
  compareRuns(buildPairs(pairs), { ...SETTINGS, ...settings });

/** Runs with every metric, of all requests and of two names. */
function drawRuns(noise, pairs, ratio, scatter) {
  const draw = (side) =>
    Object.fromEntries(
      METRICS.map((metric) => [
        metric,
        100 * (side === 'b' ? ratio : 1) * Math.exp(noise.normal(scatter)),
      ]),
    );
  return Array.from({ length: pairs }, (_, pair) =>
    ['a', 'b'].map((side) =>
      buildRun(side, pair, draw(side), {
        byName: {
          list: draw(side),
          show: { ...draw(side), cpuPerRequestUs: null, memoryMb: null },
        },
      }),
    ),
  ).flat();
}

describe('the word of the verdict', () => {
  test('is better where more requests/s lie beyond the margin, and worse the other way', () => {
    const pairs = [
      [1000, 1100],
      [1010, 1110],
      [990, 1090],
    ];
    assert.equal(compareThroughput(pairs).verdict.word, 'better');
    assert.equal(compareThroughput(pairs.map(([a, b]) => [b, a])).verdict.word, 'worse');
  });

  for (const metric of ['p50Ms', 'p99Ms', 'cpuPerRequestUs', 'memoryMb']) {
    test(`is worse where ${metric} is higher`, () => {
      const runs = buildPairs(
        [
          [10, 12],
          [10.1, 12],
          [9.9, 12],
        ],
        metric,
      );
      const { rows, verdict } = compareRuns(runs, { margin: 0.02, metric });
      assert.deepEqual(verdict, { metric, word: 'worse', reason: null });
      assert.equal(rows.length, 1);
    });
  }

  test('is no difference where the interval lies within the margin, beyond 1 or not', () => {
    const pairs = [1.01, 1.011, 1.009, 1.01, 1.0105, 1.0095].map((ratio) => [1000, 1000 * ratio]);
    const { rows, verdict } = compareThroughput(pairs);
    assert.ok(rows[0].ratio.low > 1);
    assert.deepEqual(verdict, { metric: 'throughput', word: 'no-difference', reason: null });
  });

  test('cannot be told where the interval reaches across the margin, and the reason names both', () => {
    const { verdict } = compareThroughput([
      [1000, 1010],
      [1000, 1050],
    ]);
    assert.equal(verdict.word, 'cannot-tell');
    assert.match(
      verdict.reason,
      /^the interval of B \/ A, 0\.\d+ to 1\.\d+, is only partly within the margin, 0\.980 to 1\.020$/,
    );
  });
});

describe('rows', () => {
  const noise = new Noise(31);
  const draws = Array.from({ length: 40 }, (_, i) =>
    drawRuns(noise, 2 + (i % 9), [0.9, 0.98, 1, 1.03, 1.2][i % 5], [0.002, 0.01, 0.03][i % 3]),
  );

  test('with A and B exchanged have reciprocal ratios and opposite words', () => {
    for (const runs of draws) {
      const there = compareRuns(runs, SETTINGS).rows;
      const back = compareRuns(exchangeSides(runs), SETTINGS).rows;
      for (const [i, row] of there.entries()) {
        near(row.ratio.estimate * back[i].ratio.estimate, 1, 'product of the ratios');
        near(row.ratio.low * back[i].ratio.high, 1, 'product of the ends');
        assert.equal(row.verdict, oppositeOf(back[i].verdict));
        assert.equal(row.confidence, back[i].confidence);
        assert.deepEqual([row.a, row.b], [back[i].b, back[i].a]);
      }
    }
  });

  test('do not depend on the unit of a figure', () => {
    const scale = (figures) =>
      Object.fromEntries(Object.entries(figures).map(([key, value]) => [key, value && value * 64]));
    for (const runs of draws) {
      const scaled = runs.map((run) => ({
        ...run,
        figures: scale(run.figures),
        byName: run.byName.map(({ name, figures }) => ({ name, figures: scale(figures) })),
      }));
      const [there, other] = [runs, scaled].map((own) => compareRuns(own, SETTINGS).rows);
      for (const [i, row] of there.entries()) {
        for (const end of ['estimate', 'low', 'high'])
          near(row.ratio[end], other[i].ratio[end], end);
        assert.equal(row.verdict, other[i].verdict);
      }
    }
  });

  test('have words that agree with the intervals shown', () => {
    const seen = new Set();
    for (const runs of draws) {
      for (const { metric, ratio, verdict } of compareRuns(runs, SETTINGS).rows) {
        const [isAbove, isBelow] = [ratio.low > 1.02, ratio.high < 1 / 1.02];
        const isWithin = ratio.low >= 1 / 1.02 && ratio.high <= 1.02;
        const [better, worse] = metric === 'throughput' ? [isAbove, isBelow] : [isBelow, isAbove];
        const expected =
          (better && 'better') ||
          (worse && 'worse') ||
          (isWithin && 'no-difference') ||
          'cannot-tell';
        assert.equal(verdict, expected);
        seen.add(verdict);
      }
    }
    assert.equal(seen.size, 4);
  });

  test("begin with the verdict's, which is not corrected; the others are of all requests, then by name", () => {
    const { rows } = compareRuns(draws[0], { margin: 0.02, metric: 'p99Ms' });
    assert.equal(rows[0].confidence, 0.95);
    const order = rows.map(({ metric, name }) => `${name ?? 'all'} ${metric}`);
    assert.deepEqual(order, [
      ...['all p99Ms', 'all throughput', 'all p50Ms', 'all cpuPerRequestUs', 'all memoryMb'],
      ...METRICS.map((metric) => `list ${metric}`),
      ...['show throughput', 'show p50Ms', 'show p99Ms'],
    ]);
    assert.ok(rows.slice(1).every(({ confidence }) => confidence > 0.95));
  });

  test('show the medians of the runs', () => {
    const { rows } = compareThroughput([
      [100, 300],
      [300, 400],
      [200, 800],
    ]);
    assert.deepEqual([rows[0].a, rows[0].b], [200, 400]);
  });

  const isWrong = ({ verdict }) => verdict === 'better' || verdict === 'worse';
  for (const [what, ratio] of [
    ['of a version and itself', 1],
    ['where all rows are at the margin', 1.02],
  ]) {
    test(`hardly ever have a wrong word among many: ${what}`, () => {
      const own = new Noise(7);
      let [verdicts, comparisons] = [0, 0];
      for (let i = 0; i < 1000; i++) {
        const { rows } = compareRuns(drawRuns(own, 6, ratio, 0.03), SETTINGS);
        if (isWrong(rows[0])) verdicts += 1;
        if (rows.slice(1).some(isWrong)) comparisons += 1;
      }
      assert.ok(verdicts <= 50, `${verdicts} of 1000 verdicts are wrong`);
      assert.ok(comparisons <= 50, `${comparisons} of 1000 comparisons have a wrong word`);
    });
  }
});

describe('runs that tell little', () => {
  test('one run of each side has a ratio without an interval', () => {
    const { rows, verdict } = compareThroughput([[1000, 1100]]);
    assert.deepEqual(rows[0].ratio, { estimate: 1.1, low: null, high: null });
    assert.deepEqual(verdict, {
      metric: 'throughput',
      word: 'cannot-tell',
      reason: 'one run of each side does not show how much runs vary',
    });
  });

  test('one run without its partner is not part of the ratio', () => {
    const pairs = [
      [1000, 1100],
      [1010, 1105],
      [990, 1100],
    ];
    const alone = [...buildPairs(pairs), buildRun('a', 3, { throughput: 1 })];
    assert.deepEqual(
      compareRuns(alone, SETTINGS).rows[0].ratio,
      compareThroughput(pairs).rows[0].ratio,
    );
  });

  test('no run at all, or a side without the figure, has no ratio', () => {
    const none = compareRuns([], SETTINGS);
    assert.deepEqual(
      none.rows.map(({ a, b, ratio }) => [a, b, ratio]),
      [[null, null, null]],
    );
    assert.equal(none.verdict.word, 'cannot-tell');
    const runs = [0, 1].flatMap((pair) => [
      buildRun('a', pair, { throughput: 5 }),
      buildRun('b', pair, {}),
    ]);
    const { rows, verdict } = compareRuns(runs, SETTINGS);
    assert.equal(rows[0].ratio, null);
    assert.equal(verdict.reason, 'no run of B has this figure');
  });

  for (const [what, pairs, ratio] of [
    [
      'A',
      [
        [0, 5],
        [0, 6],
      ],
      null,
    ],
    [
      'B',
      [
        [5, 0],
        [6, 0],
      ],
      { estimate: 0, low: null, high: null },
    ],
    [
      'one run',
      [
        [5, 6],
        [5, 0],
        [5, 6],
      ],
      { estimate: 1.2, low: null, high: null },
    ],
  ]) {
    test(`a figure of 0 in ${what} leaves no interval, and the reason says so`, () => {
      const { rows, verdict } = compareThroughput(pairs);
      assert.deepEqual(rows[0].ratio, ratio);
      assert.match(verdict.reason, /^the figure is 0 in \d runs?$/);
    });
  }

  test('no figure that is not a number leaves', () => {
    const odd = [0, null, Number.NaN, Number.POSITIVE_INFINITY, 5, 1e308, 5e-324];
    const noise = new Noise(3);
    const pick = () => odd[Math.floor(noise.uniform() * odd.length)];
    for (let i = 0; i < 500; i++) {
      const pairs = Array.from({ length: i % 4 }, () => [pick(), pick()]);
      const text = JSON.stringify(compareThroughput(pairs), (_, value) =>
        typeof value === 'number' && !Number.isFinite(value) ? 'not finite' : value,
      );
      assert.doesNotMatch(text, /not finite/, JSON.stringify(pairs));
    }
  });

  test('a load generator that was the limit hides requests/s and latencies, not CPU per request', () => {
    const figures = (factor) => ({ throughput: 1000 * factor, cpuPerRequestUs: 10 * factor });
    const runs = [0, 1, 2, 3].flatMap((pair) => [
      buildRun('a', pair, figures(1 + pair / 1000)),
      buildRun('b', pair, figures(1.2), { clientBound: pair === 0 }),
    ]);
    const { rows, verdict } = compareRuns(runs, SETTINGS);
    assert.deepEqual(
      rows.map((row) => row.verdict),
      ['cannot-tell', 'worse'],
    );
    assert.equal(verdict.reason, 'the load generator was the limit in 1 of 8 runs');
  });

  test('a figure that more than a tenth of the runs of a side lack tells nothing', () => {
    const compareLatency = (count) => {
      const runs = Array.from({ length: count }, (_, pair) => [
        buildRun('a', pair, { p99Ms: 10 + pair / 100 }),
        buildRun('b', pair, { p99Ms: pair === 0 ? null : 20 }),
      ]).flat();
      return compareRuns(runs, { margin: 0.02, metric: 'p99Ms' }).verdict;
    };
    assert.deepEqual(compareLatency(10), { metric: 'p99Ms', word: 'worse', reason: null });
    assert.deepEqual(compareLatency(8), {
      metric: 'p99Ms',
      word: 'cannot-tell',
      reason: '13 % of the runs of B do not have this figure',
    });
  });

  test('a load generator that was the limit in one run of ten does not', () => {
    const pairs = Array.from({ length: 10 }, (_, i) => [1000 + i, 1200 + i]);
    const [first, ...others] = buildPairs(pairs);
    const { verdict } = compareRuns([{ ...first, clientBound: true }, ...others], SETTINGS);
    assert.equal(verdict.word, 'better');
  });
});

describe('stored results, which are not paired', () => {
  const store = (side, values) =>
    values.map((value) => buildRun(side, null, { throughput: value }));

  test("have Welch's interval of the logarithms", () => {
    // Logarithms 0, 2, 4 and 6, 7: means 2 and 6.5, variances of the means 4/3 and 1/4.
    const runs = [...store('a', [0, 2, 4].map(Math.exp)), ...store('b', [6, 7].map(Math.exp))];
    const { rows } = compareRuns(runs, SETTINGS);
    const variance = 4 / 3 + 1 / 4;
    const freedom = variance ** 2 / ((4 / 3) ** 2 / 2 + (1 / 4) ** 2);
    const half = studentQuantile(freedom) * Math.sqrt(variance);
    near(Math.log(rows[0].ratio.estimate), 4.5, 'ratio');
    near(Math.log(rows[0].ratio.low), 4.5 - half, 'low');
    near(Math.log(rows[0].ratio.high), 4.5 + half, 'high');
  });

  test('of which a side has only one have no interval', () => {
    const runs = [...store('a', [1000, 1001, 1002]), ...store('b', [1200])];
    const { rows, verdict } = compareRuns(runs, SETTINGS);
    assert.deepEqual(rows[0].ratio, { estimate: 1200 / 1001, low: null, high: null });
    assert.equal(verdict.reason, 'a single run of a side does not show how much its runs vary');
  });
});

test('a name that only one side has, and the only name of all requests, have no rows', () => {
  const figures = { throughput: 100, p99Ms: 5 };
  const build = (side, names) =>
    buildRun(side, 0, figures, { byName: Object.fromEntries(names.map((it) => [it, figures])) });
  const namesOfRows = (a, b) => {
    const { rows } = compareRuns([build('a', a), build('b', b)], {
      margin: 0.02,
      metric: 'throughput',
    });
    return [...new Set(rows.flatMap(({ name }) => name ?? []))];
  };
  assert.deepEqual(namesOfRows(['x'], ['x']), []);
  assert.deepEqual(namesOfRows(['x'], ['y']), []);
  assert.deepEqual(namesOfRows(['x', 'z'], ['y', 'x', 'z']), ['x', 'z']);
});
