// Results as Markdown, CSV, JUnit's XML and HdrHistogram's percentiles.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { renderCapacityCsv } from '#internal/report/capacity/csv.js';
import { renderCapacityMarkdown } from '#internal/report/capacity/markdown.js';
import { renderComparisonCsv } from '#internal/report/compare/csv.js';
import { renderComparisonMarkdown } from '#internal/report/compare/markdown.js';
import { renderExplanationPage } from '#internal/report/explain/html.js';
import { renderExplanationMarkdown } from '#internal/report/explain/markdown.js';
import { formatExplanationText } from '#internal/report/explain/text.js';
import { renderJunit } from '#internal/report/junit.js';
import { renderLabMarkdown } from '#internal/report/lab/markdown.js';
import { renderLoadCsv } from '#internal/report/load/csv.js';
import { renderLoadMarkdown } from '#internal/report/load/markdown.js';
import { formatPercentileOutput } from '#internal/report/load/percentile-output.js';
import { estimateLatencies, toDurations } from '#internal/statistics/durations.js';
import * as capacity from '../../fixtures/capacity/results.js';
import * as explanations from '../../fixtures/explain/explanations.js';
import { studied } from '../../fixtures/lab/results.js';
import {
  faster,
  hostile as hostileComparison,
  withNames,
} from '../../fixtures/report/comparisons.js';
import { clientBound, fixture, hostile, withNamedResults } from '../../fixtures/report/results.js';

/** The cells of each row of the tables of a document. */
function tableRows(markdown) {
  return markdown
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .map((line) =>
      line
        .slice(1, -1)
        .split(/(?<!\\)\|/)
        .map((cell) => cell.trim()),
    );
}

describe('Markdown', () => {
  test('of a load: outcome in the title, conditions, a row of figures, warnings', () => {
    const result = clientBound(fixture('tls-errors'), 'it was busy');
    result.conditions = [
      { condition: 'p99<50ms', value: 34.7, holds: true },
      { condition: 'errors<1%', value: 0.038, holds: false },
    ];
    const text = renderLoadMarkdown(result);
    assert.match(text, /^### Load failed: 2,395 req\/s, p99 34\.7 ms$/m);
    assert.match(text, /^- ✓ `p99<50ms` holds: 34\.7 ms$/m);
    assert.match(text, /^- ✗ `errors<1%` does not hold: 3\.8 %$/m);
    assert.match(text, /^\*\*CLIENT-BOUND\*\* .*\n\n- it was busy$/m);
    const [heads, , row] = tableRows(text);
    assert.deepEqual(heads, ['', 'req/s', 'p50', 'p90', 'p99', 'max', 'failed']);
    assert.deepEqual(row.slice(1, 4), ['2,395', '6.48 ms', '9.67 ms']);
    assert.equal(row.at(-1), '679 (3.5 %)');
  });

  test('of a load with request names: a row for each of the first 20', () => {
    const text = renderLoadMarkdown(withNamedResults(25));
    const rows = tableRows(text);
    assert.equal(rows.length, 2 + 1 + 20);
    assert.equal(rows[3][0], '`GET /things-0/:id`');
    assert.match(text, /^5 request names with less time not shown\.$/m);
  });

  test('of a comparison: the sentence of the verdict, and the table', () => {
    const text = renderComparisonMarkdown(withNames(9, 2));
    assert.match(text, /^\*\*B \(branch\) is faster than A \(main\): 8\.1 % more requests\/s/m);
    const rows = tableRows(text);
    assert.deepEqual(
      rows.find(([metric]) => metric === 'memory'),
      ['memory', '61.2 MB', '68.8 MB', '1.124', '1.100 to 1.150', '**worse**'],
    );
    assert.equal(rows.filter(([name]) => name.includes('/things-')).length, 2);
    assert.match(text, /^7 more request names: 7 without a difference$/m);
  });

  test('of capacity, of an explanation, of studies: the answer, and what it rests on', () => {
    assert.match(renderCapacityMarkdown(capacity.plateau()), /\*\*At most 250 req\/s/);
    assert.equal(tableRows(renderCapacityMarkdown(capacity.found())).length, 2 + 7);
    const explained = renderExplanationMarkdown(explanations.nagle());
    assert.match(explained, /^### Limit: confirmed `nagle-delayed-ack`$/m);
    assert.match(explained, /^To get more: /m);
    const several = explanations.nagle();
    const predictedThroughput = { low: 1500, high: 1900 };
    several.remedy.alternatives = [{ change: 'less work', predictedThroughput }];
    assert.match(
      renderExplanationMarkdown(several),
      /^To get more: .*; or: less work \(predicted: 1,500 to 1,900 req\/s\)$/m,
    );
    const text = formatExplanationText(several, { color: false, width: 100, notes: [] });
    assert.match(text, /^ {2}or: less work → 1,500 to 1,900 req\/s$/m);
    assert.match(renderExplanationPage(several), /Or: less work.*1,500 to 1,900/);
    assert.match(renderLabMarkdown(studied()), /^### .+$/m);
  });

  test('is the same of a result that was stored', () => {
    const stored = (value) => JSON.parse(JSON.stringify(value));
    for (const make of [capacity.plateau, capacity.atLeast, capacity.found]) {
      assert.equal(renderCapacityMarkdown(stored(make())), renderCapacityMarkdown(make()));
    }
    for (const make of [explanations.nagle, explanations.cannotTell]) {
      assert.equal(renderExplanationMarkdown(stored(make())), renderExplanationMarkdown(make()));
    }
  });

  test('text from outside is neither Markdown nor HTML, and breaks no table', () => {
    const attack = '</a><img src=x>|`*_[x](http://evil)\n# h';
    const result = withNamedResults(2);
    result.byName[0].name = attack;
    result.warnings = [{ id: 'attack', message: attack }];
    result.plan.targets[0].url = attack;
    const documents = [
      renderLoadMarkdown(result),
      renderLoadMarkdown(hostile()),
      renderComparisonMarkdown(hostileComparison()),
      renderExplanationMarkdown(explanations.hostile()),
    ];
    for (const text of documents) {
      const plain = text.replace(/(`+)[^\n]*?[^`]\1(?!`)/g, '');
      assert.doesNotMatch(plain, /(?<!\\)<|(?<!\\)\[/);
      assert.doesNotMatch(text, /^# h/m);
      const rows = tableRows(text);
      assert.ok(rows.every((cells) => [6, 7].includes(cells.length) || cells.length === 2));
    }
  });

  test('code is what it was: a pipe is escaped in a table only', () => {
    const result = withNamedResults(2);
    result.byName[0].name = 'a|b';
    result.conditions = [{ condition: 'a|b: p99<1s', value: 1, holds: true }];
    const text = renderLoadMarkdown(result);
    assert.match(text, /^- ✓ `a\|b: p99<1s` /m);
    assert.match(text, /^\| `a\\\|b` \|/m);
  });
});

/** The cells of each line; there is no line break in any of them. */
function parseCsv(text) {
  const lines = text.trimEnd().split('\n');
  return lines.map((line) =>
    [...line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g)].map(
      ([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? plain,
    ),
  );
}

/** The rows as objects. */
function csvRows(text) {
  const [heads, ...rows] = parseCsv(text);
  return rows.map((cells) => Object.fromEntries(heads.map((head, index) => [head, cells[index]])));
}

describe('CSV', () => {
  test('of loads: a row for all requests, whose name is empty, and one for each name', () => {
    const one = withNamedResults(2);
    const rows = csvRows(renderLoadCsv([one, fixture('tls-errors')]));
    assert.deepEqual(
      rows.map(({ name }) => name),
      ['', 'GET /things-0/:id', 'GET /things-1/:id', '', 'GET /products/:id'],
    );
    assert.equal(Number(rows[0].sent), one.requests.sent);
    assert.equal(Number(rows[1].latency_p99_ms), one.byName[0].latencyMs.p99);
    assert.equal(rows[3].latency_at_least, 'p99_9 p99_99 mean stdev max');
    assert.equal(Number(rows[3].timeouts), 40);
  });

  test('of a comparison and of capacity: a row for each figure', () => {
    const rows = csvRows(renderComparisonCsv([faster()]));
    assert.deepEqual(
      rows.map(({ metric, verdict }) => [metric, verdict]),
      [
        ['throughput', 'better'],
        ['p50_ms', 'better'],
        ['p99_ms', 'cannot-tell'],
        ['cpu_per_request_us', 'better'],
        ['memory_mb', 'worse'],
      ],
    );
    assert.equal(rows[0].low, '1.069');
    assert.equal(csvRows(renderCapacityCsv([capacity.plateau()])).length, 7);
    assert.equal(csvRows(renderCapacityCsv([capacity.found()]))[0].held, 'true');
  });

  test('names with commas and quotes stay whole, and none is run as a formula', () => {
    const result = withNamedResults(3);
    result.byName[0].name = 'list "all", sorted';
    result.byName[1].name = '=HYPERLINK("http://evil")';
    result.byName[2].name = '@SUM(A1)';
    const names = csvRows(renderLoadCsv([result])).map(({ name }) => name);
    assert.deepEqual(names, ['', 'list "all", sorted', `'=HYPERLINK("http://evil")`, "'@SUM(A1)"]);
  });
});

describe('JUnit', () => {
  const suite = (conditions) => [
    { name: 'load', startedAt: '2026-03-02T09:30:00.000Z', durationMs: 8000, conditions },
  ];

  test('has a case for each condition: passed, failed, or skipped if it cannot be judged', () => {
    const xml = renderJunit(
      suite([
        { condition: 'p99<50ms', holds: false, measured: '60 ms' },
        { condition: 'errors<1%', holds: true, measured: '0 %' },
        { condition: 'p99 ratio<=1.1', holds: null, measured: 'without a measured ratio' },
      ]),
    );
    assert.match(
      xml,
      /<testsuite name="load" tests="3" failures="1" errors="0" skipped="1" time="8\.000" timestamp="2026-03-02T09:30:00">/,
    );
    assert.match(xml, /name="p99&#60;50ms" time="0\.000"><failure message="does not hold: 60 ms"/);
    assert.match(xml, /name="errors&#60;1%" time="0\.000"><system-out>measured: 0 %</);
    assert.match(xml, /name="p99 ratio&#60;=1\.1" time="0\.000"><skipped message=/);
  });

  test('no character of a condition breaks the XML', () => {
    const condition = '"]]>&\u0000\u001b\ud800\uffff\n<x>';
    const xml = renderJunit(suite([{ condition, holds: true, measured: condition }]));
    assert.match(xml, /name="&#34;\]\]&#62;&#38;\ufffd\ufffd\ufffd\ufffd&#10;&#60;x&#62;"/);
  });
});

describe('percentiles of HdrHistogram', () => {
  test('five lines for each halving, the last value once more at 100 %, and a summary', () => {
    const samples = Array.from({ length: 1000 }, (_, index) => index + 1);
    const lines = formatPercentileOutput(toDurations(samples)).split('\n');
    assert.equal(lines[0], '       Value     Percentile TotalCount 1/(1-Percentile)');
    assert.equal(lines[2], '       1.000 0.000000000000          1           1.00');
    assert.ok(lines.includes('     500.000 0.500000000000        500           2.00'));
    assert.ok(lines.includes('     750.000 0.750000000000        750           4.00'));
    const shares = lines.slice(2).map((line) => Number(line.trim().split(/\s+/)[1]));
    assert.equal(shares.filter((share) => share < 0.5).length, 5);
    assert.equal(shares.filter((share) => share >= 0.5 && share < 0.75).length, 5);
    const last = lines.findIndex((line) => line.startsWith('#'));
    assert.equal(lines[last - 1], '    1000.000 1.000000000000       1000');
    assert.equal(lines[last], '#[Mean    =      500.500, StdDeviation   =      288.675]');
    assert.equal(lines[last + 1], '#[Max     =     1000.000, Total count    =         1000]');
  });

  test('end before 100 % where the longest times are not known', () => {
    const { histograms } = fixture('tls-errors');
    const text = formatPercentileOutput(estimateLatencies([histograms]));
    assert.doesNotMatch(text, /^ .* 1\.000000000000 /m);
    assert.match(text, /^#\[\d+ requests took longer than 50\d\.\d{3}: how long is not known\]$/m);
  });

  test('of no sample are a head and a summary', () => {
    assert.match(formatPercentileOutput(toDurations([])), /^ +Value .*\n\n#\[Mean {4}= +0\.000,/);
  });
});
