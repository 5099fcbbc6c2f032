import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  checkBar,
  computeSavedUs,
  describeBars,
  formatRatio,
  judgeBar,
} from '../../../bench/harness/ratios.js';

/** Two runs of a row in each round, around the means that are given for the rounds. */
const runsOf = (row, metric, means) =>
  means.flatMap((mean, round) =>
    [mean - 1, mean + 1].map((value) => ({ row, round, [metric]: value })),
  );
const rates = [
  ...runsOf('node', 'requestsPerSecond', [100, 200, 100]),
  ...runsOf('millrace', 'requestsPerSecond', [250, 400, 200]),
  ...runsOf('nginx', 'requestsPerSecond', [300, 600, 300]),
];
const cpu = [
  ...runsOf('node', 'cpuUsPerRequest', [100, 120, 100]),
  ...runsOf('millrace', 'cpuUsPerRequest', [80, 98, 78]),
  ...runsOf('node, flat', 'cpuUsPerRequest', [40, 40, 40]),
  ...runsOf('millrace, flat', 'cpuUsPerRequest', [20, 20, 20]),
];
const saved = { saved: ['node', 'millrace'], than: ['node, flat', 'millrace, flat'], atLeast: 1 };

test('a ratio is the median over the rounds of the ratios of means, with the interval of the rounds', () => {
  assert.equal(formatRatio(rates, 'millrace', 'node', 'requestsPerSecond'), '2.00 [2.00..2.50]');
  assert.equal(formatRatio(rates, 'node', 'node', 'requestsPerSecond'), '1');
});

test('a bar is met or missed by the whole interval, and otherwise open', () => {
  const verdict = (bar) => judgeBar({ than: 'node', ...bar }, rates).verdict;
  assert.equal(verdict({ atLeast: 2 }), 'met');
  assert.equal(verdict({ atLeast: 2.1 }), 'open');
  assert.equal(verdict({ atLeast: 2.6 }), 'missed');
  assert.equal(verdict({ atMost: 1.9 }), 'missed');
  assert.equal(verdict({ than: 'bun', atLeast: 1 }), 'not measured');
  assert.match(checkBar({ than: 'node', atLeast: 2.1 }, rates), /, \*\*open: the bar lies within/);
});

test('what a row saves is a difference per request, compared with what another pair saves', () => {
  assert.deepEqual(
    (({ median, low, high }) => [median, low, high])(computeSavedUs(cpu, 'millrace', 'node')),
    [22, 20, 22],
  );
  const { demand, measured, verdict } = judgeBar(saved, cpu);
  assert.equal(demand, 'CPU per request that millrace saves ≥ 1 × what millrace, flat saves');
  assert.deepEqual([measured.median, measured.low, verdict], [1.1, 1, 'met']);
  assert.equal(judgeBar(saved, cpu.slice(6)).verdict, 'not measured');
});

test('a case is described by its judged row, the others and the verdicts', () => {
  const bars = [
    { than: 'nginx', atLeast: 0.95 },
    { than: 'node', atLeast: 1.5 },
  ];
  const bench = { baseline: 'node', bars };
  assert.deepEqual(describeBars(bench, rates, 'requestsPerSecond'), {
    main: '2.00 [2.00..2.50]',
    peers: { nginx: '3.00 [3.00..3.00]' },
    bars: ['≥ 0.95 × nginx: missed', '≥ 1.5: met'],
  });
});
