// `millrace/report`: what a program gets is what the command line writes, of each kind of result in each format.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { startTestServer } from 'millrace';
import * as report from 'millrace/report';
import * as capacity from '../../fixtures/capacity/results.js';
import { inOneProcess } from '../../fixtures/cli/one-process.js';
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
  '--html': report.formatHtml,
  '--markdown': report.formatMarkdown,
  '--csv': report.formatCsv,
  '--series': report.formatSeriesCsv,
  '--junit': report.formatJunit,
  '--hdr': report.formatHgrm,
};

/** The formats that each kind of result has, besides text. */
const WRITTEN = {
  load: Object.keys(FORMATS),
  compare: ['--html', '--markdown', '--csv', '--junit'],
  capacity: ['--html', '--markdown', '--csv'],
  explain: ['--html', '--markdown'],
  lab: ['--html', '--markdown'],
};

/** Runs the command line; resolves with its exit code and what it prints. */
async function millrace(...args) {
  const child = spawn(process.execPath, [bin, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = once(child, 'close');
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  const [code] = await ended;
  return [code, stdout, stderr];
}

const oneMore = inOneProcess();

/** Runs `millrace report`; resolves with its exit code and what it prints. */
async function printed(...args) {
  const { code, stdout, stderr } = await oneMore('report', ...args);
  return [code, stdout, stderr];
}

/** Checks that the command line writes what the functions return, into all files of a result at once. */
async function checkWritten(kind, file, formats) {
  const fileOf = (flag) => join(folder, `${kind}${flag}`);
  const flags = formats.flatMap(([flag]) => [flag, fileOf(flag)]);
  assert.deepEqual(await printed(file, ...flags), [0, '', '']);
  for (const [flag, format] of formats) {
    assert.equal(readFileSync(fileOf(flag), 'utf8'), format(report.readResult(file)), flag);
  }
}

/** Checks that the command line refuses a format that a kind of result does not have, in the function's words. */
async function checkRefused(file, [flag, format]) {
  const { code, message } = catchError(() => format(report.readResult(file)));
  assert.equal(code, 'ERR_MILLRACE_USAGE');
  const refused = await printed(file, flag, join(folder, 'refused'));
  assert.deepEqual(refused, [2, '', `millrace: ${message}\n`]);
}

function catchError(call) {
  try {
    call();
  } catch (error) {
    return error;
  }
  return assert.fail('nothing is refused');
}

describe('what a program gets is what millrace report writes', () => {
  for (const [kind, result] of Object.entries(RESULTS)) {
    const file = join(folder, `${kind}.json`);
    writeFileSync(file, JSON.stringify(result));
    const [written, refused] = [true, false].map((has) =>
      Object.entries(FORMATS).filter(([flag]) => WRITTEN[kind].includes(flag) === has),
    );

    test(`a result of ${kind} is found, in memory and in a file`, () => {
      assert.equal(report.identifyResult(result), kind);
      assert.deepEqual(report.readResult(file), JSON.parse(report.formatJson(result)));
      assert.equal([...report.formatJsonParts(result)].join(''), report.formatJson(result));
    });

    test(`the text of ${kind}`, async () => {
      const expected = `${report.formatText(report.readResult(file))}\n`;
      assert.deepEqual(await printed(file), [0, expected, '']);
    });

    test(`the formats of ${kind}`, () => checkWritten(kind, file, written));

    for (const one of refused) {
      test(`${one[0]} of ${kind} is refused`, () => checkRefused(file, one));
    }
  }
});

test('what a program gets of a run is what the run has written', async () => {
  const { url, close } = await startTestServer({ processes: 1 });
  try {
    const fileOf = (name) => join(folder, `run.${name}`);
    const flags = ['json', 'html', 'csv', 'junit'].flatMap((name) => [
      name === 'json' ? '-o' : `--${name}`,
      fileOf(name),
    ]);
    const ended = await millrace('-n', '20', '--fail-on', 'errors<1', ...flags, url);
    const result = report.readResult(fileOf('json'));
    assert.deepEqual(ended, [0, `${report.formatText(result)}\n`, '']);
    const { formatJson: json, formatHtml: html, formatCsv: csv, formatJunit: junit } = report;
    for (const [name, format] of Object.entries({ json, html, csv, junit })) {
      assert.equal(readFileSync(fileOf(name), 'utf8'), format(result), name);
    }
  } finally {
    await close();
  }
});

test('a text has its color and width, and the notes of a load', () => {
  const colored = report.formatText(RESULTS.load, { color: true, width: 120, notes: ['a note'] });
  const plain = report.formatText(RESULTS.load);
  assert.ok(colored.includes('\x1b[') && !plain.includes('\x1b['));
  assert.match(colored, /note: a note/);
  assert.ok(Math.max(...plain.split('\n').map((line) => line.length)) <= 80);
});

test('the hint of a load has its command on a line of its own, and is empty where there is none', () => {
  const started = fixture('server');
  const command = 'npx millrace explain -R 500 -c 10 -- node server.js --port 3000';
  const lines = report.formatHint(started, { command, width: 60 }).split('\n');
  assert.match(lines[0], /^Why not more\? It keeps up: /);
  assert.match(lines.at(-2), / To be sure:$/);
  assert.equal(lines.at(-1), `  ${command}`);
  assert.ok(lines.slice(0, -1).every((line) => line.length <= 60));
  assert.doesNotMatch(report.formatHint(started), /To be sure/);
  assert.equal(report.formatHint(RESULTS.load), '');
  assert.throws(() => report.formatHint(RESULTS.lab), {
    code: 'ERR_MILLRACE_USAGE',
    message: 'the given value is a result of lab, which has no hint; it is for: load',
  });
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
