// Stored results: compared with each other, and with a load as its baseline.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { compare, load } from 'millrace';
import { selfSignedCertificate } from '#internal/native/addon.js';
import { inOneProcess } from '../../fixtures/cli/one-process.js';
import { assertFits, millrace, server } from '../../fixtures/compare/command.js';

const folder = mkdtempSync(join(tmpdir(), 'millrace-stored-test-'));
const inFolder = { cwd: folder };
const oneMore = inOneProcess(inFolder);
const LOAD = ['-d', '200ms', '-c', '2'];
let stored;

before(async () => {
  stored = await load({ command: server, duration: 200, connections: 2 });
  // On a busy machine it may have been the limit: then nothing is told.
  stored.generator.clientBound = false;
  const faster = structuredClone(stored);
  faster.throughput.mean *= 2;
  for (const name of ['old', 'main-1', 'main-2', 'main-10']) write(name, stored);
  for (const name of ['new', 'branch-1', 'branch-2', 'branch-3']) write(name, faster);
  write('later', { ...stored, schemaVersion: 3 });
  write('other', { ...stored, plan: { ...stored.plan, connections: 50 } });
  const whole = readFileSync(join(folder, 'old.json'), 'utf8');
  writeFileSync(join(folder, 'cut.json'), whole.slice(0, whole.indexOf('}') + 1));
  writeFileSync(join(folder, 'empty.json'), '');
  writeFileSync(join(folder, 'text.json'), 'GET /\n');
  write('damaged', { ...stored, requests: { ...stored.requests, notSent: null } });
  const cut = stored.histograms.latency.slice(0, 40);
  write('histogram', { ...stored, histograms: { ...stored.histograms, latency: cut } });
  const { requests, plan } = stored;
  const failed = { ...requests, ok: 1, statusErrors: requests.ok - 1 };
  for (const name of ['bad-1', 'bad-2']) write(name, { ...faster, requests: failed });
  write('part', { ...stored, plan, interrupted: true });
  write('list', [1]);
});
after(() => rmSync(folder, { recursive: true, force: true }));

function write(name, value) {
  writeFileSync(join(folder, `${name}.json`), JSON.stringify(value));
}

test('single results have a ratio and no interval, which the report says', async () => {
  const json = await millrace(['compare', '--json', 'old.json', 'new.json'], inFolder).ended;
  assert.equal(json.code, 0, json.stderr);
  const result = JSON.parse(json.stdout);
  assertFits(result);
  assert.equal(result.ended, 'files');
  assert.deepEqual(result.rows[0].ratio, { estimate: 2, low: null, high: null });
  assert.equal(result.verdict.word, 'cannot-tell');
  const { stdout } = await oneMore('compare', 'old.json', 'new.json');
  assert.match(stdout.replace(/\s+/g, ' '), /Cannot tell .*no interval/);
});

test('a condition without an interval is not judged: exit 4', async () => {
  const args = ['compare', '--fail-on', 'throughput ratio<=1.1', 'old.json', 'new.json'];
  const { code, stderr } = await oneMore(...args);
  assert.equal(code, 4);
  assert.match(
    stderr,
    /^millrace: --fail-on '.*' is undecided: there is no interval \(the ratio is 2\.000\)\n$/,
  );
});

test('several results of a side are named by a list or a pattern, and have an interval', async () => {
  const args = ['compare', '--json', '--fail-on', 'throughput ratio<=1.1'];
  const files = ['--a', 'main-*.json', '--b', 'branch-1.json branch-?.json'];
  const { code, stdout, stderr } = await millrace([...args, ...files], inFolder).ended;
  assert.equal(code, 99, stderr);
  assert.match(
    stderr,
    /^millrace: --fail-on 'throughput ratio<=1\.1' failed: the ratio is 2\.000\n$/,
  );
  const result = JSON.parse(stdout);
  assertFits(result);
  const sizes = ['a', 'b'].map((name) => result.runs.filter(({ side }) => side === name).length);
  assert.deepEqual(sizes, [3, 4]);
  assert.equal(result.verdict.word, 'better');
});

test('a side that failed decides nothing, however narrow the interval is: exit 4', async () => {
  const args = ['compare', '--fail-on', 'throughput ratio>=0.97', '--junit', '-'];
  const files = ['--a', 'main-1.json main-2.json', '--b', 'bad-?.json'];
  const { code, stdout, stderr } = await oneMore(...args, ...files);
  assert.equal(code, 4, stderr);
  assert.match(stderr, /is undecided: 0 % of the requests failed on A, 9.* % on B/);
  assert.match(stdout, /<skipped message="cannot be judged: .* failed on A/);
});

test('an interrupted result is named as one', async () => {
  const { stdout } = await oneMore('compare', 'old.json', 'part.json');
  const text = stdout.replace(/\s+/g, ' ');
  assert.match(
    text,
    /A result of B, of 20.*, is of a run that was interrupted after .*: it is a part/,
  );
});

describe('one line refuses', () => {
  for (const [files, message, expected = 2] of [
    [['old.json', 'none.json'], "result 'none.json' cannot be read: no such file or directory"],
    [
      ['later.json', 'old.json'],
      "'later.json' has schemaVersion 3: this version of millrace reads 2",
    ],
    [['old.json', 'cut.json'], "'cut.json' is cut off: a result is what -o FILE or --json writes"],
    [
      ['old.json', 'empty.json'],
      "'empty.json' is empty: a result is what -o FILE or --json writes",
    ],
    [
      ['old.json', 'text.json'],
      "'text.json' is not JSON: a result is what -o FILE or --json writes",
    ],
    [
      ['old.json', 'list.json'],
      "'list.json' is not a result of millrace, as -o FILE or --json writes it",
    ],
    [
      ['-o', 'new.json', 'old.json', 'new.json'],
      "-o would overwrite 'new.json', which is read: write to another file",
    ],
    [
      ['old.json', 'damaged.json'],
      "'damaged.json' is not the result of a load, as -o FILE or --json writes it",
    ],
    [
      ['old.json', 'histogram.json'],
      "'histogram.json' is not the result of a load, as -o FILE or --json writes it: a part of it is missing or damaged",
    ],
    [['--stack', 'old.json', 'new.json'], 'a.stack is for a server: the results of a are stored'],
    [
      ['--env-b', 'X=1', 'old.json', 'new.json'],
      'b.env is for a server: the results of b are stored',
    ],
    [['--a', 'x*.json', '--b', 'old.json'], "no file matches 'x*.json'"],
    [
      ['old.json', 'other.json'],
      'the plans of these results differ: connections is 2 in A, 50 in B; --allow-difference compares them all the same',
      5,
    ],
  ]) {
    test(`compare ${files.join(' ')}`, async () => {
      const { code, stdout, stderr } = await oneMore('compare', ...files);
      assert.deepEqual([code, stdout, stderr], [expected, '', `millrace: ${message}\n`]);
    });
  }
});

test('different plans are compared where that is allowed, and the result repeats the difference', async () => {
  const files = ['old', 'other'].map((name) => [join(folder, `${name}.json`)]);
  const [a, b] = files.map((files) => ({ files }));
  const result = await compare({ a, b, allowDifference: true });
  assert.deepEqual(result.differences, ['plans: connections is 2 in A, 50 in B']);
  const args = ['compare', '--allow-difference', 'old.json', 'other.json'];
  const { stdout } = await oneMore(...args);
  assert.match(stdout, /^difference +plans: connections is 2 in A, 50 in B$/m);
});

test('a result that is compared with itself has the name of its file on both sides', async () => {
  const files = [join(folder, 'old.json')];
  const { sides } = await compare({ a: { files }, b: { files } });
  assert.deepEqual([sides.a.label, sides.b.label], [files[0], files[0]]);
});

test('results in memory are compared like files', async () => {
  const result = await compare({
    a: { results: [stored] },
    b: { results: [stored], label: 'new' },
  });
  assertFits(result);
  assert.deepEqual([result.sides.b.label, result.rows[0].ratio.estimate], ['new', 1]);
});

test('sides that fail other shares of their requests are not the same work: nothing can be told', async () => {
  const { ok } = stored.requests;
  const failing = structuredClone(stored);
  failing.requests.ok = ok / 2;
  failing.requests.statusErrors = ok / 2;
  const results = [failing, failing, failing];
  const sides = { a: { results: [stored, stored, stored] }, b: { results } };
  const { verdict, differences } = await compare(sides);
  assert.equal(verdict.word, 'cannot-tell');
  assert.match(verdict.reason, /^0 % of the requests failed on A, 50 % on B$/);
  assert.deepEqual(differences, [verdict.reason]);
});

describe('a baseline', () => {
  test('is compared with the new result, beneath the report', async () => {
    const args = [...LOAD, '--baseline', 'old.json', '--', ...server];
    const { code, stdout, stderr } = await millrace(args, inFolder).ended;
    assert.equal(code, 0, stderr);
    assert.match(
      stdout,
      /^closed: .*throughput .*Cannot tell .* A \(old\.json\) or B \(this\s+run\)/s,
    );
  });

  test('leaves the JSON as it is, and its comparison goes to stderr', async () => {
    const args = [...LOAD, '--json', '--baseline', 'old.json', '--', ...server];
    const { stdout, stderr } = await millrace(args, inFolder).ended;
    assert.equal(JSON.parse(stdout).schemaVersion, 2);
    assert.match(stderr, /Cannot tell/);
  });

  test('of another plan, or one that is none, is refused before the load', async () => {
    for (const [file, message, expected = 2] of [
      [
        'other.json',
        "this load is not that of 'other.json': connections is 50 in A, 2 in B (A: the file, B: this load); store this one too (-o FILE), and millrace compare A B --allow-difference compares them",
        5,
      ],
      ['cut.json', "'cut.json' is cut off: a result is what -o FILE or --json writes"],
    ]) {
      const args = ['-d', '3s', '-c', '2', '--baseline', file, '--', ...server];
      const { code, stderr } = await millrace(args, inFolder).ended;
      assert.deepEqual([code, stderr], [expected, `millrace: ${message}\n`]);
    }
  });
});

describe('a baseline of the API', () => {
  const options = { command: server, duration: 200, connections: 2 };

  test('is a file or a result; the comparison is a part of the result', async () => {
    for (const [baseline, label] of [
      [join(folder, 'old.json'), join(folder, 'old.json')],
      [stored, 'the baseline'],
    ]) {
      const { comparison, requests } = await load({ ...options, baseline });
      assertFits(comparison);
      assert.ok(requests.ok > 0);
      assert.deepEqual([comparison.sides.a.label, comparison.sides.b.label], [label, 'this run']);
    }
  });

  test('of another plan, or one that is none, is refused before the load', async () => {
    let snapshots = 0;
    for (const [baseline, code, message] of [
      [
        join(folder, 'other.json'),
        'ERR_MILLRACE_DIFFERENT',
        /^this load is not that of '.*other.json': connections is 50 in A, 2 in B/,
      ],
      [
        { ...stored, plan: { ...stored.plan, connections: 50 } },
        'ERR_MILLRACE_DIFFERENT',
        /^this load is not that of the baseline: connections is 50 in A, 2 in B \(A: the baseline, B: this load\); store this one too/,
      ],
      [join(folder, 'none.json'), 'ERR_MILLRACE_USAGE', /no such file or directory$/],
      [7, 'ERR_MILLRACE_USAGE', /^baseline must be a result of load\(\) or the name of its file/],
      [{}, 'ERR_MILLRACE_USAGE', /^the baseline is not the result of a load/],
      [{ ...stored, throughput: null }, 'ERR_MILLRACE_USAGE', /^the baseline is not the result/],
    ]) {
      const run = load({ ...options, baseline });
      await assert.rejects(run, (error) => {
        assert.equal(error.code, code, error.stack);
        assert.match(error.message, message);
        return true;
      });
      await assert.rejects(async () => {
        for await (const _ of run) snapshots += 1;
      });
    }
    assert.equal(snapshots, 0);
  });

  test('may be of https, which a command speaks is known once its server runs', async () => {
    const { cert, key } = await selfSignedCertificate(['localhost']);
    const created = `createServer(${JSON.stringify({ cert, key })}, (q, r) => r.end())`;
    const script = `require('https').${created}.listen(0, '127.0.0.1')`;
    const secure = { ...options, command: [process.execPath, '-e', script], insecure: true };
    const baseline = await load(secure);
    const { comparison } = await load({ ...secure, baseline });
    assert.equal(comparison.sides.a.label, 'the baseline');
    const plan = { ...stored.plan, handshake: 'full', verifyCertificate: true };
    // Refused, the load would be lost.
    const http = await load({ ...options, baseline: { ...baseline, plan } });
    assert.match(http.comparison.differences[0], /^plans: handshake is 'full' in A, null in B/);
  });

  test('that the caller or somebody else changes meanwhile is compared as it was', async () => {
    const file = join(folder, 'kept.json');
    const object = structuredClone(stored);
    writeFileSync(file, JSON.stringify(stored));
    for (const [baseline, spoil] of [
      [file, () => rmSync(file)],
      [object, () => Object.assign(object.plan, { connections: 7 })],
    ]) {
      const run = load({ ...options, baseline });
      let isSpoiled = false;
      for await (const _ of run) {
        if (!isSpoiled) spoil();
        isSpoiled = true;
      }
      assert.deepEqual((await run).comparison.differences, []);
    }
  });

  test('that is undefined is none', async () => {
    assert.ok(!('comparison' in (await load({ ...options, baseline: undefined }))));
  });
});

test('a result that a shell of Windows wrote is read: UTF-16, or with a mark', async () => {
  const text = JSON.stringify(stored);
  const files = {
    'utf16.json': Buffer.from(`\ufeff${text}`, 'utf16le'),
    'mark.json': `\ufeff${text}`,
  };
  for (const [name, content] of Object.entries(files)) {
    writeFileSync(join(folder, name), content);
    const { code, stderr } = await oneMore('report', name);
    assert.equal(code, 0, stderr);
  }
});
