// Stored results over time: which of a folder belong together, by which commit, and what is skipped.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { readHistory } from 'millrace';
import * as report from 'millrace/report';
import { faster } from '../../fixtures/report/comparisons.js';
import { clientBound, fixture } from '../../fixtures/report/results.js';
import { assertHolds, assertStaysText } from '../../fixtures/report/static-page.js';
import { asJson, isHistory } from '../../fixtures/schemas.js';

let folder;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-history-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

function store(name, value) {
  const path = join(folder, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, typeof value === 'string' ? value : JSON.stringify(value));
}

const COMMITS = ['a', 'b', 'c'].map((digit) => digit.repeat(40));

/**
 * A result of a closed load that began on this day.
 *
 * @param {number} day
 * @param {{ commit?: string, rate?: number, change?: (result: any) => unknown }} [options]
 */
function run(day, { commit, rate, change = () => {} } = {}) {
  const result = fixture('closed');
  result.startedAt = new Date(Date.UTC(2026, 2, day)).toISOString();
  if (commit !== undefined) result.commit = commit;
  if (rate !== undefined) result.throughput.mean = rate;
  change(result);
  return result;
}

const points = (history) => history.plans.map((plan) => plan.points);

describe('a history', () => {
  test('has a point for each commit, in the order of time, and one for each result without', () => {
    store('z.json', run(1, { commit: COMMITS[0], rate: 1000 }));
    store('deep/b.json', run(3, { commit: COMMITS[1], rate: 1210 }));
    store('a.json', run(2, { commit: COMMITS[1], rate: 1000 }));
    store('c.json', run(4, { rate: 900 }));
    store('d.json', run(5, { rate: 901 }));
    const history = readHistory(folder);
    isHistory(asJson(history));
    assert.deepEqual(isHistory.errors, null);
    const [all] = points(history);
    assert.deepEqual(
      all.map(({ commit, runs }) => [commit, runs.map(({ file }) => file)]),
      [
        [COMMITS[0], ['z.json']],
        [COMMITS[1], ['a.json', join('deep', 'b.json')]],
        [null, ['c.json']],
        [null, ['d.json']],
      ],
    );
    // The geometric mean of 1000 and 1210, and Student's t of one degree of freedom: exp(12.706 * ln(1.21) / 2) = 3.36.
    const { value, interval } = all[1].throughput;
    assert.ok(Math.abs(value - 1100) < 1e-6);
    assert.ok(Math.abs(interval.high / value - 3.357) < 0.01, `${interval.high / value}`);
    assert.ok(Math.abs(value / interval.low - 3.357) < 0.01);
    // One run: its own windows, around its own value.
    const { throughput, p99Ms } = all[0];
    assert.equal(throughput.value, 1000);
    assert.ok(throughput.interval.low < 1000 && throughput.interval.high > 1000);
    assert.ok(p99Ms.interval.low <= p99Ms.value && p99Ms.interval.high >= p99Ms.value);
    assert.deepEqual(history.skipped, []);
  });

  test('keeps other loads and other servers apart, ports not; the newest first', () => {
    const onPort = (port) => (result) => {
      for (const target of result.plan.targets) {
        target.url = target.url.replace(/:\d+\//, `:${port}/`);
      }
    };
    store('1.json', run(1, { change: onPort(1001) }));
    store('2.json', run(2, { change: onPort(1002) }));
    store('more.json', run(3, { change: (result) => (result.plan.connections += 1) }));
    store(
      'host.json',
      run(4, {
        change(result) {
          for (const target of result.plan.targets) {
            target.url = target.url.replace(/\/\/[^/:]+/, '//staging.example');
          }
        },
      }),
    );
    store('command.json', run(5, { change: (result) => (result.plan.command = ['node', 'b.js']) }));
    store('open.json', { ...fixture('open-freeze'), startedAt: '2026-03-06T00:00:00.000Z' });
    const files = points(readHistory(folder)).map((all) =>
      all.flatMap(({ runs }) => runs.map(({ file }) => file)),
    );
    assert.deepEqual(files, [
      ['open.json'],
      ['command.json'],
      ['host.json'],
      ['more.json'],
      ['1.json', '2.json'],
    ]);
  });

  test('leaves out runs of which the generator was the limit where there are others', () => {
    const bound = (result) => Object.assign(result, clientBound(result, 'no core'));
    store('1.json', run(1, { commit: COMMITS[0], rate: 1000 }));
    store('2.json', run(2, { commit: COMMITS[0], rate: 10, change: bound }));
    store('3.json', run(3, { commit: COMMITS[1], rate: 20, change: bound }));
    const [[first, second]] = points(readHistory(folder));
    assert.deepEqual(
      [first.throughput.value, first.clientBound, first.runs.length],
      [1000, false, 2],
    );
    assert.deepEqual([second.throughput.value, second.clientBound], [20, true]);
  });

  test('names each file that it skips, with the reason', () => {
    store('good.json', run(1));
    store('copy.json', run(1));
    store('comparison.json', faster());
    store('cut.json', JSON.stringify(run(2)).slice(0, 900));
    store('interrupted.json', run(3, { change: (result) => (result.interrupted = true) }));
    store('nothing.json', { ...fixture('empty'), interrupted: false });
    store('old.json', run(4, { change: (result) => (result.schemaVersion = 1) }));
    store('part.json', run(5, { change: (result) => delete result.series }));
    store('package.json', { name: 'x' });
    const segment = { index: 2, count: 3, whole: {} };
    store('share.json', run(6, { change: (result) => (result.plan.segment = segment) }));
    store('notes.txt', 'not read');
    store('node_modules/x/package.json', '{}');
    store('.git/a.json', '{}');
    const history = readHistory(folder);
    assert.deepEqual(
      history.skipped.map(({ file, reason }) => `${file} ${reason}`),
      [
        'comparison.json is a comparison, not the result of a load',
        'cut.json is cut off: a result is what -o FILE or --json writes',
        'good.json is the same run as copy.json',
        'interrupted.json was interrupted',
        'nothing.json has no response',
        'old.json has schemaVersion 1: this version of millrace reads 2',
        'package.json is not a result of millrace, as -o FILE or --json writes it',
        'part.json is not the whole result of a load: a part of it is missing or damaged',
        'share.json is share 2 of 3: millrace merge adds the shares up',
      ],
    );
    assert.match(report.formatText(history), /^skipped: share\.json is share 2 of 3/m);
  });

  test('of a folder without a result, or of none, is refused in a line', () => {
    assert.throws(() => readHistory(folder), {
      code: 'ERR_MILLRACE_USAGE',
      message: `'${folder}' holds no result of a load, as -o FILE writes it`,
    });
    store('package.json', {});
    assert.throws(() => readHistory(folder), /; package\.json is not a result of millrace/);
    assert.throws(() => readHistory(join(folder, 'none')), {
      code: 'ERR_MILLRACE_USAGE',
      message: /^folder '.*none' cannot be read: no such file or directory$/,
    });
  });

  test('of scenarios is one of iterations, whose intervals need several runs', () => {
    store('1.json', fixture('scenarios'));
    store('2.json', { ...fixture('scenarios'), startedAt: '2026-03-02T00:00:00.000Z' });
    const history = readHistory(folder);
    const [{ counted, points: all }] = history.plans;
    assert.equal(counted, 'iterations');
    assert.equal(all[0].throughput.interval, null);
    assert.match(report.formatText(history), /iterations\/s/);
  });
});

describe('its reports', () => {
  function example() {
    for (let day = 1; day <= 12; day += 1) {
      const commit = day > 6 ? COMMITS[day % 3] : undefined;
      store(`${day}.json`, run(day, { rate: 1000 + day, ...(commit && { commit }) }));
    }
    return readHistory(folder);
  }

  test('the table fits lines of 60, 72 and 80 characters', () => {
    const history = example();
    for (const width of [60, 72, 80]) {
      const lines = report.formatText(history, { width }).split('\n');
      assert.deepEqual(
        lines.filter((line) => line.length > width),
        [],
      );
      assert.ok(lines.some((line) => /^2026-03-01.*1,001/.test(line)));
      assert.ok(lines.some((line) => /cccccccc +2 /.test(line)));
    }
    assert.match(report.formatText(history, { width: 80 }), /-\d+(\.\d)? \+\d+(\.\d)? %/);
  });

  test('an interval of a thousand times its value does not set the scale of the plot', () => {
    for (const [day, p99] of [1, 1000].entries()) {
      const change = ({ latencyMs }) => Object.assign(latencyMs, { p99 });
      store(`${day}.json`, run(day + 1, { commit: COMMITS[0], change }));
    }
    const history = readHistory(folder);
    assert.match(report.formatText(history), /-100 \+>999 %/);
    const page = report.formatHtml(history);
    assert.match(page, /interval, cut off where it leaves the plot\./);
    assert.doesNotMatch(page, /<text[^>]*>\d{5,} s</);
  });

  test('the page holds the history, and draws each point with its interval', () => {
    const history = example();
    const page = report.formatHtml(history);
    assertHolds(page, asJson(history));
    assert.equal(page.match(/class="spread"/g).length, 2 * 9);
    assert.match(
      page,
      /<title>cccccccc, 2026-03-08 00:00: .* req\/s \(.* to .*\), 2 runs<\/title>/,
    );
    assert.match(report.formatMarkdown(history), /^\| 2026-03-08 00:00 \| cccccccc \| 2 \|/m);
  });

  test('what results say stays text', () => {
    const attack = '</script><img src=x><!--';
    store('<img>.json', run(1, { change: (result) => (result.plan.targets[0].name = attack) }));
    store('<!--.json', '{}');
    assertStaysText(report.formatHtml(readHistory(folder)));
  });
});
