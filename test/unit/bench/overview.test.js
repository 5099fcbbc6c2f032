import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  formatApps,
  formatExpectation,
  formatMissing,
  formatServers,
  replaceBlock,
  selectMeasured,
} from '../../../bench/documents/overview.js';

const measured = (commit, on) => ({ date: '2026-11-26', cpu: 'AMD EPYC', commit, on });
const figures = (node, main, more) => ({ node, main, peers: {}, bars: [], ...more });
const hello = measured('abc', [
  figures(24, '2.38 [2.3..2.4]'),
  figures(26, '1.85 [1.8..1.9]', { peers: { nginx: '2.04' }, bars: ['≥ 0.95 × nginx: open'] }),
]);
const upload = measured('abc', [figures(26, '0.72 [0.7..0.8]', { bars: ['≥ 1.15: missed'] })]);

test('the versions of Node.js stand side by side, the newest first', () => {
  assert.deepEqual(formatServers({ hello, upload }), [
    '| case | Node 26 | Node 24 | nginx | bars on Node 26 |',
    '| --- | ---: | ---: | ---: | ---: |',
    '| `hello` | 1.85 [1.8..1.9] | 2.38 [2.3..2.4] | 2.04 | ≥ 0.95 × nginx: open |',
    '| `upload` | 0.72 [0.7..0.8] |  |  | ≥ 1.15: missed |',
    '',
    'Measured 2026-11-26 on AMD EPYC, commit abc.',
  ]);
});

test('a table of several commits has a column that says which', () => {
  const lines = formatServers({ hello, upload: { ...upload, commit: 'def' } });
  assert.match(lines[0], / \| commit \|$/);
  assert.match(lines[2], / \| abc \|$/);
  assert.match(lines[3], / \| def \|$/);
  assert.equal(lines.at(-1), 'Measured 2026-11-26 on AMD EPYC.');
});

test('a table has the measured cases in order, unless one that it needs, or every one, is missing', () => {
  const names = ['hello', 'flood', 'upload'];
  const selected = selectMeasured(names, { upload, gone: upload, hello }, ['hello']);
  assert.deepEqual(Object.keys(selected.cases), ['hello', 'upload']);
  assert.deepEqual(selected.missing, ['flood']);
  assert.equal(selectMeasured(names, { upload }, ['hello']).cases, null);
  assert.equal(selectMeasured(names, { gone: upload }).cases, null);
});

test('a table names the cases that it does not have', () => {
  assert.deepEqual(formatMissing([]), []);
  assert.deepEqual(formatMissing(['flood', 'idle']), [
    '',
    'Not in this table, as not measured: `flood`, `idle`.',
  ]);
});

test('applications have a table for each version, and a line with the time that they save', () => {
  const bars = ['≥ 1.05: met', 'memory ≤ 1.15: met'];
  const app = (savedUs, ...more) =>
    measured('abc', [
      figures(26, '2.1', {
        ...{ cpuUs: '43.0 → 20.1', savedUs, throughput: '2.0', memory: '1.1 [1.0..1.2]' },
        bars: [...more, ...bars],
      }),
    ]);
  const cases = { express: app(22.9, '≥ 2: open'), next: app(18), yoga: app(14.6) };
  const lines = formatApps(cases);
  assert.equal(lines[2], '| `express` | 43.0 → 20.1 | 2.1 | 22.9 | 2.0 | 1.1 | ≥ 2: open |');
  assert.equal(
    lines.at(-1),
    'Measured 2026-11-26 on AMD EPYC, commit abc. In every row ≥ 1.05: met; memory ≤ 1.15: met.',
  );
  assert.equal(
    formatExpectation(cases).join(' '),
    'What to expect: on Node 26 the stack takes 18 µs of CPU time off each request of an application, as the median of 3 ([each of them](bench/results/apps.md), with its interval).',
  );
});

test('a block of a document is replaced between its comments', () => {
  const block = (name, text) => `<!-- figures: ${name} -->\n${text}\n<!-- end of figures -->`;
  const document = `a\n\n${block('load', 'old')}\n\nb\n\n${block('stack', 'old')}\n`;
  const expected = `a\n\n${block('load', 'old')}\n\nb\n\n${block('stack', '| 1 |\n| 2 |')}\n`;
  assert.equal(replaceBlock(document, 'stack', ['| 1 |', '| 2 |']), expected);
  assert.equal(replaceBlock(expected, 'stack', ['| 1 |', '| 2 |']), expected);
  assert.throws(() => replaceBlock(document, 'apps', []), /no block of figures "apps"/);
});
