// `millrace/report`: what a program gets is what the command line writes, of each kind of result in each format.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import * as report from 'millrace/report';
import * as capacity from '../../fixtures/capacity/results.js';
import { nagle } from '../../fixtures/explain/explanations.js';
import { studied } from '../../fixtures/lab/results.js';
import { faster } from '../../fixtures/report/comparisons.js';
import { fixture } from '../../fixtures/report/results.js';

const bin = fileURLToPath(new URL('../../../bin/millrace.js', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'millrace-programs-'));
after(() => rmSync(folder, { recursive: true }));

const conditions = [{ condition: 'p99<1s', holds: true }];
const RESULTS = {
  load: { ...fixture('tls-errors'), conditions },
  compare: {
    ...faster(),
    conditions: [{ condition: 'throughput ratio>=0.9', value: 1.2, holds: true }],
  },
  capacity: capacity.found(),
  explain: nagle(),
  lab: studied(),
};
const FORMATS = {
  '': report.formatText,
  '--html': report.formatHtml,
  '--markdown': report.formatMarkdown,
  '--csv': report.formatCsv,
  '--series': report.formatSeriesCsv,
  '--junit': report.formatJunit,
  '--hdr': report.formatHgrm,
};

for (const [kind, result] of Object.entries(RESULTS)) {
  const file = join(folder, `${kind}.json`);
  writeFileSync(file, JSON.stringify(result));

  test(`a result of ${kind} is found, in memory and in a file`, () => {
    assert.equal(report.identifyResult(result), kind);
    assert.deepEqual(report.readResult(file), JSON.parse(report.formatJson(result)));
    assert.equal([...report.formatJsonParts(result)].join(''), report.formatJson(result));
  });

  for (const [flag, format] of Object.entries(FORMATS)) {
    test(`${format.name} of ${kind} is what millrace report ${flag} writes`, () => {
      const output = join(folder, 'output');
      const args = [bin, 'report', file, ...(flag === '' ? [] : [flag, output])];
      const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
      let text;
      try {
        text = format(report.readResult(file));
      } catch (error) {
        assert.equal(error.code, 'ERR_MILLRACE_USAGE');
        assert.deepEqual([status, stdout, stderr], [2, '', `millrace: ${error.message}\n`]);
        return;
      }
      assert.deepEqual([status, stderr], [0, '']);
      if (flag === '') assert.equal(stdout, `${text}\n`);
      else assert.equal(readFileSync(output, 'utf8'), text);
    });
  }
}

test('a text has its color and width, and the notes of a load', () => {
  const colored = report.formatText(RESULTS.load, { color: true, width: 120, notes: ['a note'] });
  const plain = report.formatText(RESULTS.load);
  assert.ok(colored.includes('\x1b[') && !plain.includes('\x1b['));
  assert.match(colored, /note: a note/);
  assert.ok(Math.max(...plain.split('\n').map((line) => line.length)) <= 80);
});

test('several results are one table, one suite each, or one after the other', () => {
  const two = [RESULTS.load, RESULTS.load];
  assert.equal(
    report.formatCsv(two).trim().split('\n').length,
    2 * report.formatCsv(two[0]).trim().split('\n').length - 1,
  );
  assert.equal(report.formatJunit(two).match(/<testsuite /g).length, 2);
  const mixed = report.formatMarkdown([RESULTS.load, RESULTS.capacity]);
  assert.equal(mixed, [RESULTS.load, RESULTS.capacity].map(report.formatMarkdown).join('\n'));
});

test('what is no result, or lacks a part, is refused in one line', () => {
  const { plan: _, ...part } = RESULTS.load;
  for (const [value, message] of [
    [null, 'the given value is not a complete result of millrace'],
    [[], 'the given value is not a complete result of millrace'],
    ['load', 'the given value is not a complete result of millrace'],
    [part, 'the given value is not a complete result of millrace'],
    [
      { ...RESULTS.load, latencyMs: {} },
      'the given value is not a complete result of millrace load: a part of it is missing or damaged',
    ],
  ]) {
    assert.throws(() => report.formatText(value), { code: 'ERR_MILLRACE_USAGE', message });
  }
  assert.throws(() => report.formatCsv([]), { message: 'CSV takes at least one result' });
});
