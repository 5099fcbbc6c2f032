// `millrace merge` on stored results: exit codes, lines of refusal, files, and reports of what it wrote.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { mergeResults } from 'millrace';
import { formatHtml, formatMarkdown, formatText } from 'millrace/report';
import { inOneProcess } from '../../fixtures/cli/one-process.js';
import { asShare, runMix, startCountingServer } from '../../fixtures/merge/runs.js';
import { asJson } from '../../fixtures/schemas.js';

const folder = mkdtempSync(join(tmpdir(), 'millrace-merge-'));
const file = (name) => join(folder, name);
const millrace = inOneProcess({ cwd: folder });
let shares;

before(async () => {
  const server = await startCountingServer();
  const options = { failOn: 'errors<90%', requests: 60 };
  const runs = await Promise.all([1, 2, 3].map(() => runMix(server.url, options)));
  server.close();
  shares = runs.map((run, index) => {
    const share = asShare(run, index + 1, 3);
    // This machine may be busy.
    Object.assign(share.generator, { clientBound: false, reasons: [] });
    share.warnings = [];
    return share;
  });
  for (const [index, share] of shares.entries()) {
    writeFileSync(file(`share-${index + 1}.json`), JSON.stringify(share));
  }
  const bound = structuredClone(shares[1]);
  Object.assign(bound.generator, { clientBound: true, reasons: ['a thread was busy'] });
  writeFileSync(file('bound.json'), JSON.stringify(bound));
  writeFileSync(file('cut.json'), JSON.stringify(shares[1]).slice(0, 2000));
  writeFileSync(file('old.json'), JSON.stringify({ ...shares[1], schemaVersion: 1 }));
});

after(() => rmSync(folder, { recursive: true }));

const all = () => ['share-1.json', 'share-2.json', 'share-3.json'].map(file);

test('clocks that differed are named in every report', () => {
  const copies = structuredClone(shares);
  const clocks = [-2000, 0.4, 12.5].map((offsetMs) => ({ offsetMs, boundMs: 0.25 }));
  const merged = mergeResults(copies, { names: ['a', 'b', 'c'] });
  for (const [index, clock] of clocks.entries()) merged.generators[index].clock = clock;
  const text = formatText(merged);
  assert.deepEqual(text.match(/^.*its clock.*$/gm), [
    'a: its clock was 2.00 s behind (within 250 µs); all times are corrected',
    'c: its clock was 12.5 ms ahead (within 250 µs); all times are corrected',
  ]);
  assert.match(formatMarkdown(merged), /^- c: its clock was 12\.5 ms ahead/m);
  assert.match(formatHtml(merged), /12\.5 ms ahead \(within 250 µs\)/);
});

test('shares that were stopped are named with their times, some of them where they are many', () => {
  const stop = (share, durationMs) => ({
    ...structuredClone(share),
    interrupted: true,
    durationMs,
  });
  const stopped = (text) => /^! Stopped early: .*?\.$/m.exec(text.replace(/\n {2}/g, ' '))?.[0];
  const one = mergeResults([shares[0], stop(shares[1], 982), shares[2]], {
    names: ['a', 'b', 'c'],
  });
  assert.equal(stopped(formatText(one)), '! Stopped early: b after 982 ms.');
  const many = Array.from({ length: 7 }, (_, index) => {
    const { segment, ...plan } = shares[0].plan;
    const start = { startedAtMs: shares[0].startedAtMs + index };
    return { ...stop(shares[0], 500), ...start, plan };
  });
  const names = many.map((_, index) => `m${index}`);
  assert.match(
    stopped(formatText(mergeResults(many, { names }))) ?? '',
    /m0 after 500 ms, .*m4 after 500 ms, and 2 others\.$/,
  );
});

describe('millrace merge', { timeout: 60_000 }, () => {
  test('prints and writes the whole, which report reads as any other', async () => {
    const merged = file('merged.json');
    const run = await millrace('merge', ...all(), '-o', merged);
    assert.equal(run.code, 0, run.stderr);
    assert.match(run.stdout, /3 generators, all 3 shares of one run/);
    assert.match(run.stdout, /^share-2 /m);
    const stored = JSON.parse(readFileSync(merged, 'utf8'));
    const names = ['share-1', 'share-2', 'share-3'];
    assert.deepEqual(stored, asJson(mergeResults(shares, { names })));
    const page = file('merged.html');
    const outputs = ['--html', page, '--csv', file('merged.csv'), '--series', file('series.csv')];
    const more = ['--markdown', file('merged.md'), '--junit', file('merged.xml')];
    const report = await millrace('report', merged, ...outputs, ...more);
    assert.equal(report.code, 0, report.stderr);
    const markup = readFileSync(page, 'utf8');
    assert.equal(markup.match(/class="multiple"/g).length, 3);
    assert.match(readFileSync(file('merged.md'), 'utf8'), /\| `share-3` \|/);
    assert.match(readFileSync(file('merged.xml'), 'utf8'), /tests="1" failures="0"/);
    assert.match(readFileSync(file('merged.csv'), 'utf8'), /started_at/);
    const again = await millrace('report', merged);
    assert.equal(again.stdout, run.stdout);
  });

  test('judges once, and exits as load does', async () => {
    /** @type {[string[], number, RegExp][]} */
    const outcomes = [
      [['--fail-on', 'errors<100%'], 0, /^$/],
      [
        ['--fail-on', 'GET /:id: errors<1%'],
        99,
        /--fail-on 'GET \/:id: errors<1%' failed: it is 100 %/,
      ],
      [['--strict'], 0, /^$/],
    ];
    for (const [flags, code, message] of outcomes) {
      const run = await millrace('merge', ...all(), ...flags);
      assert.equal(run.code, code, run.stderr);
      assert.match(run.stderr, message);
    }
    const bound = ['share-1.json', 'bound.json', 'share-3.json'].map(file);
    const run = await millrace('merge', ...bound, '--strict');
    assert.equal(run.code, 4, run.stderr);
    assert.match(run.stdout, /CLIENT-BOUND[\s\S]*bound: a thread was busy/);
  });

  test('refuses what it cannot merge, in a line', async () => {
    const [one, two, three] = all();
    /** @type {[string[], number, RegExp][]} */
    const refusals = [
      [[], 2, /merge needs results/],
      [[one, three], 2, /share 2 of 3 missing/],
      [[one, two, two], 2, /'.*' \(share 2 of 3\) is given twice/],
      [[one, file('cut.json')], 2, /cut\.json' is cut off/],
      [[one, file('old.json')], 2, /schemaVersion 1: this version of millrace reads 2/],
      [[one, file('none.json')], 2, /none\.json' cannot be read/],
      [[join(one, 'in-a-file.json')], 2, /in-a-file\.json' cannot be read: not a directory/],
      [[one, two, three, '-o', two], 2, /would overwrite/],
    ];
    for (const [files, code, message] of refusals) {
      const run = await millrace('merge', ...files);
      assert.equal(run.code, code, run.stderr);
      assert.match(run.stderr, message);
      assert.equal(run.stderr.trim().split('\n').length, 1, run.stderr);
      assert.equal(run.stdout, '');
    }
    const other = structuredClone(shares[1]);
    other.plan.timeoutMs = 1;
    writeFileSync(file('other.json'), JSON.stringify(other));
    const files = [one, file('other.json'), three];
    const refused = await millrace('merge', ...files);
    assert.equal(refused.code, 5, refused.stderr);
    assert.match(refused.stderr, /timeoutMs is 200 in 'share-1', 1 in 'other'/);
    const allowed = await millrace('merge', ...files, '--allow-difference');
    assert.equal(allowed.code, 0, allowed.stderr);
    assert.match(allowed.stdout, /The plans differ in timeoutMs: 1, 200\./);
    const without = await millrace('merge', one, three, '--allow-missing');
    assert.equal(without.code, 0, without.stderr);
    assert.match(without.stdout, /2 generators of 3 shares of one run/);
    assert.match(without.stdout, /1 of 3 shares missing: share 2\./);
  });
});
