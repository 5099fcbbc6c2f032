// The reports of a result: as text, as a page in a real browser, and the schema of the JSON. Long because all three
// are held against the same fixtures.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  bytes,
  cores,
  duration,
  plural,
  rate,
  roundTime,
  share,
  time,
} from '#internal/format/units.js';
import { buildBuckets } from '#internal/report/distributions/buckets.js';
import { groupWindows } from '#internal/report/intervals.js';
import { renderLoadPage } from '#internal/report/load/html.js';
import { formatLoadText } from '#internal/report/load/text.js';
import { clientBound, fixture, hostile, names } from '../../fixtures/report/results.js';
import {
  assertHolds,
  assertRefersToNothing,
  assertStaysText,
  readingsOf,
} from '../../fixtures/report/static-page.js';
import { fitsPublished, isResult } from '../../fixtures/schemas.js';

describe('the report as text', () => {
  const plain = (result, width = 80, notes = []) =>
    formatLoadText(result, { color: false, width, notes });

  // biome-ignore lint/suspicious/noControlCharactersInRegex: the escape sequences of colors
  const uncolored = (text) => text.replace(/\x1b\[[0-9;]*m/g, '');

  /** The value of a field, its further lines joined. */
  function field(text, label) {
    const lines = text.split('\n');
    const first = lines.findIndex((line) => line.startsWith(label.padEnd(13)));
    assert.notEqual(first, -1, `no field ${label} in:\n${text}`);
    const rest = lines.slice(first + 1);
    const end = rest.findIndex((line) => !line.startsWith(' '.repeat(13)));
    return [lines[first], ...rest.slice(0, end)].map((line) => line.slice(13)).join(' ');
  }

  for (const name of names) {
    test(`no line of ${name} exceeds the width, colors aside`, () => {
      const result = clientBound(fixture(name), 'x'.repeat(200));
      for (const width of [60, 80, 133]) {
        const text = plain(result, width, [`-t 10s is ${'long '.repeat(40)}`]);
        for (const line of text.split('\n')) assert.ok(line.length <= width, `${width}: ${line}`);
        assert.ok(!text.includes('\x1b'));
        const colored = formatLoadText(result, { color: true, width, notes: [] });
        assert.ok(colored.includes('\x1b['));
        assert.equal(uncolored(colored), plain(result, width));
      }
    });

    test(`the requests of ${name} add up`, () => {
      const result = fixture(name);
      const account = field(plain(result), 'requests');
      const [sent, terms] = account.split(' sent = ');
      const number = (text) => Number.parseInt(text.replaceAll(',', ''), 10);
      const sum = terms.split(' + ').reduce((total, term) => total + number(term), 0);
      assert.equal(number(sent), result.requests.sent);
      assert.equal(sum, result.requests.sent);
    });

    test(`the report of ${name} fits a screen`, () => {
      // Steps and scenarios have tables of their own.
      const most = name === 'scenarios' ? 60 : 40;
      assert.ok(plain(fixture(name)).split('\n').length <= most);
    });
  }

  test('the first line says how the flags were understood, and the notes follow', () => {
    const [closed, note] = plain(fixture('closed'), 120, ['-t 1 is threads']).split('\n');
    assert.equal(
      closed,
      'closed: 50 connections x pipelining 1, 1 thread, 10 s after 1 s of warm-up, GET http://127.0.0.1:8080/',
    );
    assert.equal(note, 'note: -t 1 is threads');
    const [open] = plain(fixture('open-freeze'), 130).split('\n');
    assert.equal(
      open,
      'open: 1,000 req/s total (constant), up to 10 connections, 2 threads, 10 s, GET http://127.0.0.1:8080/items?id={{sequence}}',
    );
    const [staged] = plain(fixture('server'), 200).split('\n');
    assert.match(staged, /^open: 100 req\/s total, to 400 in 4 s, to 780 in 8 s, to 780 in 3 s/);
    const [tls] = plain(fixture('tls-errors'), 400).split('\n');
    assert.match(tls, /a new connection and a full TLS handshake per request/);
    assert.match(tls, /certificate not verified, 2 targets by weight: GET .* \(weight 8\), POST /);
  });

  test('equal clocks share one column, and different ones have two', () => {
    const closed = plain(fixture('closed'), 60);
    assert.match(closed, /latency = service time$/m);
    assert.match(closed, /^p50 +412 µs$/m);
    const freeze = plain(fixture('open-freeze'));
    assert.match(freeze, /latency +service time/);
    assert.match(freeze, /^p99 +1\.42 s +2\.17 ms/m);
    assert.match(freeze, /^p99\.9 +~ 1\.49 s +~ 1\.49 s/m);
  });

  test('the throughput has the planned rate in an open run', () => {
    assert.match(
      field(plain(fixture('closed')), 'throughput'),
      /^116,852 ± 592 req\/s, 99\.3 MB\/s/,
    );
    assert.match(field(plain(fixture('open-freeze')), 'throughput'), /req\/s of 1,000 asked for/);
    assert.doesNotMatch(field(plain(fixture('server')), 'throughput'), /asked for/);
  });

  test('connect and TLS times are reported only if connections were opened during the run', () => {
    const text = plain(fixture('tls-errors'));
    assert.equal(field(text, 'connect'), 'p50 122 µs, p99 246 µs, max 324 µs');
    assert.match(field(text, 'TLS'), /^p50 2\.29 ms, .* \(19,306 full, 0 resumed\)$/);
    assert.doesNotMatch(plain(fixture('closed')), /^(connect|TLS) {2}/m);
  });

  test('status codes, errors by kind and requests that were not sent are reported', () => {
    const text = plain(fixture('tls-errors'));
    assert.equal(field(text, 'status'), '200: 18,426, 304: 181, 404: 249, 503: 305');
    assert.equal(
      field(text, 'errors'),
      'reset: 67, connect-refused: 47, timeout: 40, closed-early: 18',
    );
    assert.equal(field(text, 'NOT SENT'), '47 without a connection');
    assert.doesNotMatch(plain(fixture('closed')), /NOT SENT|errors/);
  });

  test('censored samples are reported from one in 100 on', () => {
    assert.match(plain(fixture('server')), /^censored: 149 of 7,811 samples did not finish/m);
    assert.doesNotMatch(plain(fixture('closed')), /censored/);
    const { latencyMs, ...few } = fixture('server');
    const text = plain({ ...few, latencyMs: { ...latencyMs, censored: 78 } });
    assert.doesNotMatch(text, /censored/);
  });

  test('the page says first whether the conditions hold, with the measured values', () => {
    const result = fixture('tls-errors');
    const judged = (holds) =>
      renderLoadPage({
        ...result,
        conditions: [
          { condition: 'p99<50ms', value: result.latencyMs.p99, holds: true },
          { condition: 'p99.9<1s', value: result.latencyMs.p99_9, holds },
        ],
      });
    const main = (page) => page.slice(page.indexOf('<main>') + '<main>'.length).trimStart();
    const failed = main(judged(false));
    assert.ok(failed.startsWith('<div class="conditions failed">'));
    assert.match(failed, /<strong>Failed<\/strong> 1 of 2 conditions does not hold/);
    assert.match(failed, /<code>p99&#60;50ms<\/code> holds: 34\.7 ms/);
    assert.match(failed, /<code>p99\.9&#60;1s<\/code> does not hold: at least 503 ms/);
    assert.match(
      main(judged(true)),
      /^<div class="conditions">\n<p><strong>Passed<\/strong> all 2 /,
    );
    assert.doesNotMatch(renderLoadPage(result), /class="conditions/);
  });

  test('without a response there is no latency and no table of bounds', () => {
    const { requests, ...rest } = fixture('tls-errors');
    const { ok, statusErrors, transportErrors } = requests;
    const none = { ok: 0, statusErrors: 0, transportErrors: ok + statusErrors + transportErrors };
    const result = { ...rest, requests: { ...requests, ...none } };
    const text = plain(result);
    assert.match(text, /^No response came: there is no latency to show\.$/m);
    assert.doesNotMatch(text, /^p99/m);
    const page = renderLoadPage(result);
    const main = page.slice(page.indexOf('<main>'), page.indexOf('</main>'));
    assert.match(main, /<dt>Latency p99<\/dt><dd><strong>–/);
    assert.doesNotMatch(main, /(at least|≥) 50\d ms/);
  });

  test('a lower bound is marked, also in the histogram', () => {
    const text = plain(fixture('tls-errors'));
    assert.match(text, /^p99 +34\.7 ms/m);
    for (const name of ['p99.9', 'p99.99', 'max']) {
      assert.match(text, new RegExp(`^${name} +at least 503 ms`, 'm'));
    }
    assert.match(text, /^mean +at least 8\.31 ms/m);
    assert.match(text, /> 503 ms +[▏▎] +0\.21 %/);
    assert.match(text, /^at least: .*restricted mean/ms);
    assert.doesNotMatch(plain(fixture('closed')), /at least|> /);
  });

  test('a percentile with hardly any sample above it is marked', () => {
    assert.match(plain(fixture('server')), /^p99\.9 +~ 194 ms/m);
    assert.match(plain(fixture('server')), /^~: imprecise, as fewer than 10 samples/m);
    assert.doesNotMatch(plain(fixture('closed')), /~/);
  });

  test('CPU per group of threads and memory of the server are reported', () => {
    const text = plain(fixture('server'));
    assert.match(
      field(text, 'server'),
      /^node server\.js --port 3000 \(pid 4242, started, 1 process\)$/,
    );
    assert.match(
      field(text, 'CPU'),
      /^0\.74 cores on average: main 0\.69, V8 worker 0\.04, libuv 0\.01/,
    );
    assert.match(field(text, 'memory'), /^[▁-█]+ {2}0 to 109 MB$/);
  });

  test('a freeze is visible over time', () => {
    assert.match(field(plain(fixture('open-freeze')), 'highest p99'), / {2}0 to 1\.50 s$/);
    assert.match(
      field(plain(fixture('open-freeze')), 'over time'),
      /^▂+▁+█▄▂+ {2}0 to 4,643 req\/s$/,
    );
  });

  test('CLIENT-BOUND is the last block, and absent in a healthy run', () => {
    const result = clientBound(fixture('closed'), 'a thread was busy 99 % of the time');
    const last = plain(result).split('\n\n').at(-1);
    assert.match(last, /^\*\*\* CLIENT-BOUND \*\*\* The generator was the limit/);
    assert.match(last, /- a thread was busy 99 % of the time/);
    assert.doesNotMatch(plain(result), /said in another place/);
    assert.doesNotMatch(plain(fixture('closed')), /CLIENT-BOUND/);
  });

  test('a run that was stopped without a sample is reported', () => {
    const text = plain(fixture('empty'));
    assert.match(text, /there is no latency to show/);
    assert.match(text, /^! Stopped early, after 212 ms\.$/m);
    assert.doesNotMatch(text, /NaN|undefined|null|Infinity/);
  });

  test('text from outside cannot control the terminal', () => {
    const result = fixture('server');
    result.server.command = 'node \x1b[2Jserver.js\r\x07';
    const text = formatLoadText(result, { color: false, width: 80, notes: ['\x1b]0;title\x07'] });
    // biome-ignore lint/suspicious/noControlCharactersInRegex: exactly these must not be there
    assert.doesNotMatch(text, /[\x00-\x09\x0b-\x1f\x7f-\x9f]/);
    assert.match(text, /server\.js/);
  });
});
describe('numbers in words', () => {
  const printed = (format, cases) => {
    for (const [value, text] of cases) assert.equal(format(value), text);
  };

  test('a time has three digits and a suitable unit', () => {
    printed(time, [
      [null, '–'],
      [0, '0 ms'],
      [0.00025, '250 ns'],
      [0.00953, '9.53 µs'],
      [0.412, '412 µs'],
      [0.99949, '999 µs'],
      [0.9997, '1.00 ms'],
      [12.34, '12.3 ms'],
      [999.7, '1.00 s'],
      [1501.6, '1.50 s'],
      [125_000, '125 s'],
      [1_250_000, '1,250 s'],
    ]);
    printed(roundTime, [
      [0.5, '500 µs'],
      [1.5, '1.5 ms'],
      [2000, '2 s'],
    ]);
  });

  test('durations, rates, bytes, shares and counts have their format', () => {
    printed(duration, [
      [0, '0 ms'],
      [500, '500 ms'],
      [1250, '1.25 s'],
      [10_000, '10 s'],
      [90_000, '1 min 30 s'],
      [7_200_000, '2 h'],
    ]);
    printed(rate, [
      [0, '0'],
      [1 / 3600, '0.000278'],
      [1e-7, '0.0000001'],
      [0.25, '0.25'],
      [19.45, '19.4'],
      [112_345.4, '112,345'],
    ]);
    printed(bytes, [
      [0, '0 B'],
      [999, '999 B'],
      [999_600, '1.00 MB'],
      [95_300_000, '95.3 MB'],
    ]);
    printed(share, [
      [0, '0 %'],
      [1e-9, '< 0.001 %'],
      [0.00004, '0.004 %'],
      [0.0123, '1.2 %'],
      [0.0996, '10 %'],
      [1, '100 %'],
    ]);
    assert.equal(plural(1, 'process', 'processes'), '1 process');
    assert.equal(plural(2000, 'thread'), '2,000 threads');
  });

  test('a histogram contains all samples, each below its bound', () => {
    const bimodal = [
      [0, 1],
      [50, 1.1],
      [95, 1.3],
      [97, 990],
      [100, 1020],
    ];
    const bars = buildBuckets(bimodal, 11);
    assert.ok(bars.length <= 11);
    const fast = bars.filter((bucket) => bucket.upToMs <= 2);
    assert.ok(Math.abs(fast.reduce((sum, { share }) => sum + share, 0) - 0.95) < 1e-9);
    const between = bars.filter((bucket) => bucket.upToMs > 2 && bucket.upToMs < 990);
    assert.ok(between.length > 0);
    assert.ok(between.every(({ share }) => share === 0));
    for (const points of [
      ...names.map((name) => fixture(name).percentiles.latency),
      bimodal,
      [[100, 50]],
      [
        [0, 0],
        [100, 0],
      ],
    ]) {
      const shares = buildBuckets(points, 11).reduce((sum, { share }) => sum + share, 0);
      assert.ok(Math.abs(shares - (points.at(-1)?.[0] ?? 0) / 100) < 1e-9);
    }
    assert.deepEqual(buildBuckets([], 11), []);
  });

  test('windows of a series become intervals of the same rate', () => {
    const window = { errors: 1, p50Ms: 1, p99Ms: 2 };
    const series = [0, 100, 200, 300].map((tMs) => ({ ...window, tMs, completed: 10 }));
    series.push({ tMs: 400, completed: 1, errors: 0, p50Ms: null, p99Ms: null });
    const merged = groupWindows({ series, durationMs: 410 }, 3);
    assert.deepEqual(
      merged.map(({ tMs }) => tMs),
      [0, 200],
    );
    assert.equal(merged[0].completed, 100);
    assert.equal(merged[0].errors, 10);
    assert.equal(merged[1].completed, 21 / 0.21);
    assert.equal(merged[1].highestP99Ms, 2);
  });
});
describe('the schema of a result', () => {
  for (const name of names) {
    test(`the result ${name} is valid`, () => {
      isResult(fixture(name));
      assert.deepEqual(isResult.errors, null);
    });
  }

  test('a result with a missing, an unknown or a wrong property is not valid', () => {
    const spoiled = [
      ({ meanInFlight, ...rest }) => rest,
      (result) => ({ ...result, latency: 1 }),
      (result) => ({ ...result, requests: { ...result.requests, sent: -1 } }),
      (result) => ({ ...result, latencyMs: { ...result.latencyMs, p99: '1 ms' } }),
      (result) => ({ ...result, errors: [{ kind: 'unlucky', count: 1, example: null }] }),
      (result) => ({ ...result, percentiles: { ...result.percentiles, latency: [[50]] } }),
    ];
    for (const spoil of spoiled) assert.equal(isResult(spoil(fixture('closed'))), false);
  });

  test('the published schema accepts additional properties at any depth, and no missing ones', () => {
    const result = fixture('closed');
    const { meanInFlight, ...rest } = result;
    assert.ok(fitsPublished({ ...result, added: 1 }));
    assert.ok(fitsPublished({ ...result, latencyMs: { ...result.latencyMs, p99_999: 1 } }));
    assert.equal(fitsPublished(rest), false);
  });
});
/** An hour at 100 responses a second; after half of it a window and a sample stand out, and earlier nothing ended for 18 s. */
function hourLong() {
  const result = fixture('server');
  const at = (index) => index * 100;
  const series = Array.from({ length: 36_000 }, (_, index) => {
    const stalled = index >= 9000 && index < 9180;
    const [p50Ms, p99Ms] = index === 18_007 ? [90, 900] : [1, 2];
    return {
      tMs: at(index),
      completed: 10,
      errors: 0,
      ...(stalled ? { p50Ms: null, p99Ms: null } : { p50Ms, p99Ms }),
    };
  });
  const samples = series.map(({ tMs }, index) => ({
    tMs: tMs + 100,
    cpu: index === 18_007 ? 3.5 : 1,
    rssMb: index === 18_007 ? 999 : 100,
  }));
  return {
    ...result,
    durationMs: 3_600_000,
    series,
    server: { ...result.server, series: samples },
  };
}

describe('the report as a page', () => {
  for (const name of names) {
    test(`the page of ${name} refers to no other resource and contains the whole result`, () => {
      const page = renderLoadPage(fixture(name));
      assertRefersToNothing(page);
      assert.ok(!/@import|url\(/.test(page));
      assertHolds(page, fixture(name));
    });
  }

  test('text from outside stays text', () => {
    const page = renderLoadPage(hostile());
    assertStaysText(page);
    assertHolds(page, hostile());
  });

  test('the values of each window can be read', () => {
    const { series, server } = fixture('server');
    const page = renderLoadPage(fixture('server'));
    const latency = readingsOf(page, 'Latency');
    assert.equal(latency.length, series.length);
    const { p99Ms, p50Ms } = series[2];
    assert.equal(latency[2], `0.2 s: p99 ${time(p99Ms)}, p50 ${time(p50Ms)}`);
    const cpu = readingsOf(page, 'Server CPU');
    assert.equal(cpu.length, server.series.length);
    assert.equal(
      cpu[2],
      `${server.series[2].tMs / 1000} s: CPU ${cores(server.series[2].cpu)} cores`,
    );
    const percentiles = readingsOf(page, 'Latency by percentile');
    assert.match(percentiles[0], /^p0: latency /);
    assert.match(percentiles.at(-1), /^p99\.9\d+: latency /);
  });

  test('a window without an end of a request has no value', () => {
    const result = fixture('open-freeze');
    const gap = result.series.findIndex((window) => window.p50Ms === null);
    const readings = readingsOf(renderLoadPage(result), 'Latency');
    assert.equal(readings[gap], `${result.series[gap].tMs / 1000} s: p99 –, p50 –`);
  });

  test('the series of an hour are thinned, their peaks are kept, and the titles say so', () => {
    const page = renderLoadPage(hourLong());
    const titles = [
      'Throughput, mean of each 9 s',
      'Latency, highest of each 9 s',
      'Server CPU, highest of each 9 s',
      'Server memory, highest of each 9 s',
    ];
    const shown = [...page.matchAll(/<h3>(.*?)<\/h3>/g)].map(([, title]) => title);
    assert.deepEqual(shown.slice(0, 4), titles);
    const [throughput, latency, cpu, memory] = titles.map((title) => readingsOf(page, title));
    for (const readings of [throughput, latency, cpu, memory]) assert.equal(readings.length, 400);
    assert.equal(latency[200], '30 min: p99 900 ms, p50 90.0 ms');
    assert.equal(latency[199], '29 min 51 s: p99 2.00 ms, p50 1.00 ms');
    assert.equal(latency[100], '15 min: p99 –, p50 –', 'a gap stays a gap');
    assert.equal(throughput[200], '30 min: completed 100 req/s', 'a mean');
    assert.ok(cpu.some((text) => text.endsWith('CPU 3.50 cores')));
    assert.ok(memory.some((text) => text.endsWith('memory 999 MB')));
    assert.ok(renderLoadPage(fixture('closed')).includes('<h3>Latency</h3>'));
  });

  test('CLIENT-BOUND precedes the numbers', () => {
    const page = renderLoadPage(clientBound(fixture('closed'), 'a thread was busy'));
    assert.ok(page.indexOf('CLIENT-BOUND') < page.indexOf('class="headline"'));
    assert.ok(!renderLoadPage(fixture('closed')).includes('CLIENT-BOUND'));
  });
});
