// Results in other formats, of a run and of stored files: `millrace report`.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import * as capacity from '../../fixtures/capacity/results.js';
import { inOneProcess } from '../../fixtures/cli/one-process.js';
import { nagle } from '../../fixtures/explain/explanations.js';
import { studied } from '../../fixtures/lab/results.js';
import { faster } from '../../fixtures/report/comparisons.js';
import { fixture } from '../../fixtures/report/results.js';

const bin = fileURLToPath(new URL('../../../bin/millrace.js', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'millrace-stored-'));
const server = createServer((_, response) => response.end('ok'));
let url;

before(async () => {
  await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
  url = `http://127.0.0.1:${server.address().port}/`;
  store('load.json', fixture('tls-errors'));
  store('compare.json', faster());
  store('capacity.json', capacity.found());
  store('explain.json', nagle());
  store('lab.json', studied());
});

after(() => {
  server.closeAllConnections();
  server.close();
  rmSync(folder, { recursive: true });
});

function store(name, value) {
  writeFileSync(join(folder, name), typeof value === 'string' ? value : JSON.stringify(value));
}

function read(name) {
  return readFileSync(join(folder, name), 'utf8');
}

/** Runs millrace in the folder; `input` is its stdin. */
function millrace(args, { env = {}, input = '' } = {}) {
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      [bin, ...args],
      { cwd: folder, env: { ...process.env, ...env }, timeout: 40_000 },
      (error, stdout, stderr) => resolve({ code: error?.code ?? 0, stdout, stderr }),
    );
    child.stdin.on('error', () => {});
    child.stdin.end(input);
  });
}

const oneMore = inOneProcess({ cwd: folder });

describe('standard input is read once', { concurrency: 2 }, () => {
  const target = 'GET http://127.0.0.1:1/\n';
  for (const [args, uses] of [
    [['-b', '@-', '--targets', '-'], /targets file and body file|body file and targets file/],
    [['-H', '@-', '-i', '/dev/stdin', 'URL'], /header file and body file/],
    [['-H', '@-', '-H', '@-', 'URL'], /header file, twice,/],
    [['report', '-', '-'], /'-', twice,/],
    [['--baseline', '-', '-b', '@-', 'URL'], /(body file|result '-') and (body file|result '-')/],
  ]) {
    test(args.join(' '), async () => {
      const isResult = ['report', '--baseline'].includes(args[0]);
      const input = isResult ? read('load.json') : args[0] === '-H' ? 'A: b\n' : target;
      const typed = args.map((arg) => (arg === 'URL' ? url : arg));
      const { code, stdout, stderr } = await millrace(typed, { input });
      assert.deepEqual([code, stdout], [2, ''], stderr);
      const [, asked] = /^millrace: standard input can be read once \(asked for by (.*)\): /.exec(
        stderr,
      );
      assert.match(asked, uses);
    });
  }
});

test('a series is a row for each window, of a run and of a stored result', async () => {
  const own = await millrace(['-d', '300ms', '-c', '1', '--series', '-', '-o', 'own.json', url]);
  assert.equal(own.code, 0, own.stderr);
  const [head, ...rows] = own.stdout
    .trimEnd()
    .split('\n')
    .map((line) => line.split(','));
  const { series, windowMs } = JSON.parse(read('own.json'));
  assert.equal(windowMs, 100);
  assert.equal(rows.length, series.length);
  for (const [name, field] of Object.entries({
    t_ms: 'tMs',
    completed: 'completed',
    errors: 'errors',
  })) {
    const column = head.indexOf(name);
    assert.deepEqual(
      rows.map((row) => Number(row[column])),
      series.map((window) => window[field]),
    );
  }
  const stored = await millrace(['report', 'own.json', '--series', '-']);
  assert.deepEqual([stored.code, stored.stdout], [0, own.stdout]);
  const none = await millrace(['report', 'compare.json', '--series', '-']);
  assert.equal(none.code, 2);
  assert.match(
    none.stderr,
    /is a result of compare, which has no CSV over time; it is for: load$/m,
  );
});

describe('formats of a run', { concurrency: 2 }, () => {
  test('Markdown, CSV and JUnit are written in addition to the report', async () => {
    const files = ['--markdown', 'run.md', '--csv', 'run.csv', '--junit', 'run.xml'];
    const gate = ['--fail-on', 'errors<1', '--fail-on', 'p50<1ns'];
    const { code, stdout } = await millrace(['-n', '20', '-c', '2', ...files, ...gate, url]);
    assert.equal(code, 99);
    assert.match(stdout, /^throughput /m);
    assert.match(read('run.md'), /^### Load failed: /);
    const [heads, ...rows] = read('run.csv').trimEnd().split('\n');
    const [name, sent] = ['name', 'sent'].map((head) => heads.split(',').indexOf(head));
    assert.deepEqual(
      rows.map((row) => [row.split(',')[name], row.split(',')[sent]]),
      [
        ['', '20'],
        ['GET /', '20'],
      ],
    );
    assert.match(read('run.xml'), /tests="2" failures="1"/);
  });

  test('- is standard output, which then has nothing else; notes go to stderr', async () => {
    const note = ['-d', '{"a":1}', '-m', 'POST'];
    const { stdout, stderr } = await millrace(['-n', '5', '--markdown', '-', ...note, url]);
    assert.match(stdout, /^### Load /);
    assert.doesNotMatch(stdout, /^throughput/m);
    assert.match(stderr, /^note: /);
  });

  test("GitHub's summary is appended to, another file is replaced", async () => {
    store('summary.md', 'before\n');
    store('other.md', 'before\n');
    const env = { GITHUB_STEP_SUMMARY: join(folder, 'summary.md') };
    await millrace(['-n', '5', '--markdown', 'summary.md', url], { env });
    assert.match(read('summary.md'), /^before\n\n### Load /);
    await millrace(['-n', '5', '--markdown', 'other.md', url], { env });
    assert.match(read('other.md'), /^### Load /);
  });

  test('Markdown of a run with a baseline has the comparison as well', async () => {
    await millrace(['-n', '20', '-o', 'baseline.json', url]);
    const args = ['--baseline', 'baseline.json', '--markdown', '-'];
    const { stdout } = await millrace(['-n', '20', ...args, url]);
    assert.match(stdout, /^### Load [\s\S]*\n\n### Comparison: cannot tell\n/);
  });

  for (const [args, message] of [
    [
      ['--markdown', '/nonexistent/x'],
      "'/nonexistent/x' cannot be written: no such file or directory",
    ],
    [['--csv', '.'], "'.' cannot be written: it is a directory"],
    [
      ['--csv', 'x', '--markdown', './x'],
      "--markdown and --csv must be different files (got './x' for both)",
    ],
    [
      ['--csv', '-', '--markdown', '-'],
      "--markdown and --csv must be different files (got '-' for both)",
    ],
    [['--json', '--markdown', '-'], '--json and --markdown - cannot both be on standard output'],
    [['--junit', 'x.xml'], '--junit needs --fail-on: each condition is a case'],
  ]) {
    test(`is refused before the run: ${args.join(' ')}`, async () => {
      const { code, stdout, stderr } = await oneMore('-n', '5', ...args, url);
      assert.deepEqual(
        { code, stdout, stderr },
        { code: 2, stdout: '', stderr: `millrace: ${message}\n` },
      );
    });
  }
});

/** A file without a field that its report needs, and what is said of it. */
function without(field, result) {
  const name = `no-${field}.json`;
  const message = `'${name}' is not a complete result of millrace`;
  return [name, { ...result, [field]: undefined }, message];
}

describe('millrace report', () => {
  test('prints any stored result as its command does', async () => {
    const heads = {
      'load.json': /^closed: 20 connections/,
      'compare.json': /^B \(branch\) is faster than A \(main\): /,
      'capacity.json': /^capacity for p99<100ms/,
      'explain.json': /CONFIRMED {2}nagle-delayed-ack/,
      'lab.json': /cores, /,
    };
    for (const [file, head] of Object.entries(heads)) {
      const { code, stdout, stderr } = await oneMore('report', file);
      assert.deepEqual({ code, stderr }, { code: 0, stderr: '' });
      assert.match(stdout, head);
    }
  });

  test('prints several with the names of their files, and reads stdin', async () => {
    const { stdout } = await millrace(['report', 'load.json', 'compare.json']);
    assert.match(stdout, /^== load\.json\n\nclosed: /);
    assert.match(stdout, /\n\n== compare\.json\n\nB \(branch\)/);
    const piped = await millrace(['report', '-'], { input: read('load.json') });
    assert.match(piped.stdout, /^closed: 20 connections/);
  });

  test('renders pages and Markdown of all, CSV of those with figures', async () => {
    for (const name of ['load', 'compare', 'capacity', 'explain', 'lab']) {
      const page = `${name}.html`;
      const document = `${name}.md`;
      const args = ['report', `${name}.json`, '--html', page, '--markdown', document];
      const { code, stdout, stderr } = await oneMore(...args);
      assert.deepEqual({ code, stdout, stderr }, { code: 0, stdout: '', stderr: '' });
      assert.match(read(page), /<\/html>\s*$/);
      assert.match(read(document), /^###? /m);
    }
    const { stdout } = await oneMore('report', 'load.json', 'load.json', '--csv', '-');
    const names = (fixture('tls-errors').byName ?? []).length;
    assert.equal(stdout.trim().split('\n').length, 1 + 2 * (1 + names));
    assert.match(
      (await oneMore('report', 'compare.json', '--csv', '-')).stdout,
      /^started_at,name,metric,/,
    );
    assert.match(
      (await oneMore('report', 'capacity.json', '--csv', '-')).stdout,
      /^started_at,connections,/,
    );
  });

  test("writes HdrHistogram's percentiles of a load", async () => {
    const { stdout } = await oneMore('report', 'load.json', '--hdr', '-');
    assert.match(stdout, /^ +Value +Percentile TotalCount 1\/\(1-Percentile\)\n\n/);
  });

  test('writes the conditions of a run as JUnit', async () => {
    const conditions = [{ condition: 'p99<50ms', value: 34.7, holds: true }];
    store('judged.json', { ...fixture('tls-errors'), conditions });
    const { stdout } = await oneMore('report', 'judged.json', '--junit', '-');
    assert.match(stdout, /<testsuite name="load" tests="1" failures="0"/);
  });

  const whole = JSON.stringify(fixture('closed'));
  for (const [name, content, message] of [
    [
      'cut.json',
      whole.slice(0, 500),
      "'cut.json' is cut off: a result is what -o FILE or --json writes",
    ],
    ['empty.json', '', "'empty.json' is empty: a result is what -o FILE or --json writes"],
    [
      'page.json',
      '<html></html>',
      "'page.json' is not JSON: a result is what -o FILE or --json writes",
    ],
    [
      'foreign.json',
      { latency: {}, requests: {} },
      "'foreign.json' is not a result of millrace, as -o FILE or --json writes it",
    ],
    ['list.json', '[1]', "'list.json' is not a result of millrace, as -o FILE or --json writes it"],
    [
      'older.json',
      { ...fixture('closed'), schemaVersion: 1 },
      "'older.json' has schemaVersion 1: this version of millrace reads 2",
    ],
    [
      'other.json',
      { schemaVersion: 2, tool: { name: 'millrace' } },
      "'other.json' is not a complete result of millrace",
    ],
    [
      'part.json',
      { ...fixture('closed'), latencyMs: {} },
      "'part.json' is not a complete result of millrace load: a part of it is missing or damaged",
    ],
    [
      'text.json',
      { ...fixture('closed'), plan: 'x' },
      "'text.json' is not a complete result of millrace",
    ],
    ...['durationMs', 'margin', 'width'].map((field) => without(field, faster())),
    without('noise', nagle()),
  ]) {
    test(`refuses ${name} in one line, and writes nothing`, async () => {
      store(name, content);
      for (const args of [[], ['--csv', '-']]) {
        const { code, stdout, stderr } = await oneMore('report', name, ...args);
        assert.deepEqual(
          { code, stdout, stderr },
          { code: 2, stdout: '', stderr: `millrace: ${message}\n` },
        );
      }
    });
  }

  for (const [args, message] of [
    [
      [],
      'report needs a result, as -o FILE of load, compare, explain, capacity or lab writes it: millrace report FILE...',
    ],
    [['absent.json'], "result 'absent.json' cannot be read: no such file or directory"],
    [
      ['load.json', '--html', './load.json'],
      "--html would overwrite './load.json', which is read: write to another file",
    ],
    [['load.json', 'load.json', '--html', 'x.html'], '--html takes one result (got 2 files)'],
    [['load.json', 'load.json', '--hdr', '-'], '--hdr takes one result (got 2 files)'],
    [
      ['compare.json', '--hdr', '-'],
      "'compare.json' is a result of compare, which has no HdrHistogram percentiles; it is for: load",
    ],
    [
      ['explain.json', '--csv', '-'],
      "'explain.json' is a result of explain, which has no CSV; it is for: compare, capacity, load",
    ],
    [
      ['load.json', 'compare.json', '--csv', '-'],
      "CSV takes results of one kind: 'load.json' is of load, 'compare.json' of compare",
    ],
    [
      ['load.json', '--junit', '-'],
      "'load.json' has no conditions: JUnit has a case for each --fail-on (failOn) of the run",
    ],
    [
      ['load.json', '--csv', '/nonexistent/x'],
      "'/nonexistent/x' cannot be written: no such file or directory",
    ],
  ]) {
    test(`refuses in one line: report ${args.join(' ')}`, async () => {
      const { code, stdout, stderr } = await oneMore('report', ...args);
      assert.deepEqual(
        { code, stdout, stderr },
        { code: 2, stdout: '', stderr: `millrace: ${message}\n` },
      );
    });
  }
});
