// `millrace capacity` and capacity(): what they say of servers that give no answer, how they are ended, and bad input.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { after, before, describe, test } from 'node:test';
import { capacity } from 'millrace';
import { assertFits, millrace, started } from '../../fixtures/capacity/command.js';
import { inOneProcess } from '../../fixtures/cli/one-process.js';

test('a server that never holds the objective ends with exit code 99 and the reason', async () => {
  const { ended } = millrace(['--slo', 'p50<5ms', '--budget', '5s', ...started], { DELAY: '30' });
  const { code, stdout } = await ended;
  assert.equal(code, 99);
  assert.match(
    stdout,
    /p50<5ms: no rate found: p50<5ms does not hold even with one request at a time:\s+it is/,
  );
});

test('a server that answers errors has no rate and no level', async () => {
  const failing = { FAILS_ABOVE: '0' };
  const rates = await millrace(['--slo', 'p50<1s', '--budget', '5s', ...started], failing).ended;
  assert.equal(rates.code, 99);
  assert.match(rates.stdout.replace(/\s+/g, ' '), /every request failed, with status 503/);
  const levels = await millrace(['--budget', '5s', ...started], failing).ended;
  assert.equal(levels.code, 3);
  assert.match(levels.stdout, /No usable level, of 1 level/);
});

test('a server that ends at once or does not exist ends with one line and exit code 3', async () => {
  const ends = await millrace(['--', process.execPath, '-e', 'process.exit(1)']).ended;
  assert.equal(ends.code, 3);
  assert.match(ends.stderr, /^millrace: .*ended with exit code 1 before it listened.*\n$/);
  const absent = await millrace(['http://127.0.0.1:1/']).ended;
  assert.equal(absent.code, 3);
  assert.match(absent.stderr, /^millrace: cannot connect to 127\.0\.0\.1:1: .*\n$/);
});

describe('a server in this process', () => {
  let url;
  let requests = 0;
  let onRequest = () => {};
  const server = createServer((request, response) => {
    requests += 1;
    onRequest(request);
    setTimeout(() => response.end(), 5);
  });

  before(async () => {
    await once(server.listen(0, '127.0.0.1'), 'listening');
    url = `http://127.0.0.1:${server.address().port}/`;
  });
  after(() => {
    server.closeAllConnections();
    server.close();
  });

  test('Ctrl-C ends a capacity run with the report so far', async () => {
    const { child, ended } = millrace(['--json', '--budget', '60s', url]);
    // Sent on the second connection of a level of several, so after the first one.
    const seen = new Promise((resolve) => {
      const sockets = new Set();
      onRequest = ({ socket }) => {
        sockets.add(socket);
        if (sockets.size > 14) resolve();
      };
    });
    await seen;
    child.kill('SIGINT');
    const { code, stdout, stderr } = await ended;
    onRequest = () => {};
    assert.equal(code, 0, stderr);
    const report = JSON.parse(stdout);
    assertFits(report);
    assert.equal(report.interrupted, true);
    assert.equal(report.sweep.ended, 'interrupted');
    assert.ok(report.sweep.levels.length >= 1);
  });

  test('the API reports its progress and obeys its signal', async () => {
    const abort = new AbortController();
    const run = capacity({ url, slo: ['p50<1s'], budget: '20s', signal: abort.signal });
    const steps = [];
    for await (const { step, elapsedMs, budgetMs } of run) {
      steps.push(step);
      assert.ok(elapsedMs >= 0 && budgetMs === 20_000);
      if (/requests per second/.test(step)) abort.abort();
    }
    const result = await run;
    assertFits(result);
    const { interrupted, search } = result;
    assert.equal(interrupted, true);
    assert.equal(search.ended, 'interrupted');
    assert.ok(steps.includes('one request at a time'), steps.join());
    const early = capacity({ url, signal: AbortSignal.abort(new Error('enough')) });
    await assert.rejects(early, /enough/);
    assert.ok(requests > 0);
  });
});

const BAD_INPUT = [
  [[], /^millrace: capacity needs a server: /],
  [['--slo', 'p99<50', 'h'], /^millrace: --slo must be a condition \(got 'p99<50'\)/],
  [
    ['--slo', 'throughput>5', 'h'],
    /slo must be about times, errors, timeouts or checks \(got 'throughput>5'\)/,
  ],
  [['--budget', '1s', 'h'], /^millrace: --budget must be at least 5s \(got 1s\)$/],
  [['--budget', 'soon', 'h'], /^millrace: --budget must be a duration such as .* \(got soon\)/],
  [['-d', '5s', 'h'], /^millrace: -d is not supported: .* --budget 60s$/],
  [['-n', '5', 'h'], /^millrace: -n is not supported: .* --budget 60s$/],
  [['-R', '100', 'h'], /^millrace: -R is not supported: rates are what capacity looks for/],
  [['--stage', '1s:5', 'h'], /^millrace: --stage is not supported: /],
  [['--html', '-', 'h'], /^millrace: --html must be the name of a file \(got -\)$/],
  [['--html', '/no/such/x', 'h'], /^millrace: '\/no\/such\/x' cannot be written: /],
  [['--fail-on', 'p99<1s', 'h'], /^millrace: --fail-on is not supported: an objective is --slo$/],
  [['-c', '0', 'h'], /^millrace: -c must be a whole number from 1 .* \(got 0\)$/],
  [['htp://h'], /^millrace: URL: 'htp:\/\/h' is not a URL to load/],
  [['--'], /-- given without a command after it/],
];
describe('invalid arguments', () => {
  const run = inOneProcess();
  for (const [args, message] of BAD_INPUT) {
    test(`invalid arguments are refused: ${args.join(' ')}`, async () => {
      const { code, stdout, stderr } = await run('capacity', ...args);
      assert.equal(code, 2, stderr);
      assert.equal(stdout, '');
      assert.match(stderr.trimEnd(), message);
      assert.equal(stderr.trimEnd().split('\n').length, 1);
    });
  }
});

test('invalid options of the API are refused', async () => {
  // @ts-expect-error: there is no such option
  await assert.rejects(capacity({ url: 'http://h', rate: 5 }), /unknown option 'rate'/);
  await assert.rejects(
    capacity({ url: 'http://h', slo: 5 }),
    /slo must be a condition .* \(got 5\)/,
  );
  await assert.rejects(
    capacity({ url: 'http://h', slo: [] }),
    /slo must contain at least one condition/,
  );
});
