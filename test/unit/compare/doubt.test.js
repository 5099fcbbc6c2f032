import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { evaluateRatioCondition, parseRatioCondition } from '#internal/compare/ratio-condition.js';
import { compareRuns } from '#internal/compare/rows/rows.js';
import { buildRun, countRequests } from './runs.js';

const FIGURES = { throughput: 100, p50Ms: 5, p99Ms: 9, cpuPerRequestUs: 50, memoryMb: 60 };
const METRICS = Object.keys(FIGURES);
const NAMED = { throughput: 50, p50Ms: 5, p99Ms: 9 };
const SETTINGS = { margin: 0.02, metric: 'throughput' };

/** Six pairs with equal figures; `change` gives the options of a run. */
function buildRuns(change = () => ({})) {
  return Array.from({ length: 12 }, (_, index) => {
    const [side, pair] = [index % 2 === 0 ? 'a' : 'b', index >> 1];
    // Figures that do not vary at all have an interval without width.
    const shift = 1 + 0.001 * Math.sin(index);
    const figures = Object.fromEntries(METRICS.map((key) => [key, FIGURES[key] * shift]));
    return buildRun(side, pair, figures, {
      byName: { list: NAMED, show: NAMED },
      ...change(side, pair),
    });
  });
}

/** The rows with a doubt, as `metric` or `name: metric`. */
function listDoubted(rows) {
  return rows.flatMap(({ metric, name, doubt }) =>
    doubt === null ? [] : [name === null ? metric : `${name}: ${metric}`],
  );
}

describe('a row has a doubt', () => {
  const everywhere = [
    ...METRICS,
    ...['list', 'show'].flatMap((name) => METRICS.map((one) => `${name}: ${one}`)),
  ];
  const ofName = (name) => everywhere.filter((row) => row.startsWith(`${name}: `));
  const limited = everywhere.filter((row) => /throughput|p50Ms|p99Ms/.test(row));
  const fails = (side, share) => (own) =>
    own === side ? { requests: countRequests(1000, 1000 * share) } : {};
  for (const [what, change, doubted, reason, settings = {}] of [
    ['never where nothing is wrong', undefined, [], null],
    [
      'everywhere where B fails more',
      fails('b', 0.02),
      everywhere,
      /^0 % .* failed on A, 2 % on B$/,
    ],
    [
      'everywhere where A fails more',
      fails('a', 0.5),
      everywhere,
      /^50 % .* failed on A, 0 % on B$/,
    ],
    ['nowhere where they fail alike', () => ({ requests: countRequests(1000, 400) }), [], null],
    [
      'everywhere where both mostly fail',
      () => ({ requests: countRequests(1000, 990) }),
      everywhere,
      /^99 % .* on A, 99 % on B$/,
    ],
    ['nowhere where a difference is allowed', fails('b', 0.5), [], null, { allowDifference: true }],
    [
      'by name where one name fails',
      (side) =>
        side === 'b'
          ? { byName: { list: NAMED, show: { ...NAMED, requests: countRequests(8, 8) } } }
          : {},
      ofName('show'),
      null,
    ],
    [
      'on what the generator limits',
      (_, pair) => ({ clientBound: pair < 2 }),
      limited,
      /^the load generator was the limit in 4 of 12 runs$/,
    ],
    [
      'nowhere for one limited run of twelve',
      (side, pair) => ({ clientBound: side === 'a' && pair === 12 }),
      [],
      null,
    ],
    [
      'on p99 of fewer than 100 responses',
      () => ({ requests: countRequests(99) }),
      ['p99Ms'],
      null,
    ],
    [
      'everywhere where the comparison as a whole has',
      undefined,
      everywhere,
      /^not used$/,
      { doubt: 'not used' },
    ],
  ]) {
    test(what, () => {
      const { rows, verdict } = compareRuns(buildRuns(change), { ...SETTINGS, ...settings });
      const known = rows.filter(({ a }) => a !== null);
      const expected = doubted.filter((row) =>
        known.some(({ name, metric }) => row === (name === null ? metric : `${name}: ${metric}`)),
      );
      assert.deepEqual(listDoubted(known).toSorted(), expected.toSorted());
      if (reason) assert.match(verdict.reason, reason);
      else assert.equal(verdict.reason, null);
      for (const { doubt, verdict } of rows)
        if (doubt !== null) assert.equal(verdict, 'cannot-tell');
      for (const [text, row] of [
        ['throughput ratio>=0.5', 'throughput'],
        ['p99 ratio<=2', 'p99Ms'],
      ]) {
        const { holds } = evaluateRatioCondition(parseRatioCondition(text, '--fail-on'), rows);
        assert.equal(holds, doubted.includes(row) ? null : true, text);
      }
    });
  }

  test('that is also a mark where its figures are of too few responses', () => {
    const { rows } = compareRuns(
      buildRuns(() => ({ requests: countRequests(30) })),
      SETTINGS,
    );
    const ofAll = rows.filter(({ name }) => name === null);
    assert.deepEqual(
      ofAll.filter(({ imprecise }) => imprecise).map(({ metric }) => metric),
      ['p99Ms'],
    );
    assert.match(
      ofAll.find(({ metric }) => metric === 'p99Ms').doubt,
      /as few as 30 responses, .* takes 100$/,
    );
  });
});
