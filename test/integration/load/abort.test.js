// --abort-on-fail: a run ends as soon as a condition cannot hold any more, and not before.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load } from 'millrace';
import { assertAddsUp } from '../../fixtures/truth/accounting.js';
import { millrace, millraceJson } from '../../fixtures/truth/cli.js';
import { response } from '../../fixtures/truth/responses.js';
import { delay, ok } from '../../fixtures/truth/scripts.js';
import { truthServer } from '../../fixtures/truth/server.js';

/** Every tenth request fails. */
const FAILING = ({ index }) => response('', { status: index % 10 === 9 ? 500 : 200 });

test('a run ends with exit code 99 and the reason when a condition can no longer hold', async (t) => {
  const [failing, slow] = await Promise.all([truthServer(t, FAILING), truthServer(t, delay(20))]);
  const lost = {
    'errors<3': ['-R', '100', '-d', '60s', failing.url],
    // All that is due in the run, going well, would not make it 1 %.
    'ERRORS<1%': ['-n', '3000', '-R', '300', failing.url],
    'p90<5ms': ['-n', '200', '-c', '1', slow.url],
    'service.max<=10ms': ['-d', '60s', '-c', '1', slow.url],
    'Throughput>1M': ['-d', '60s', '-c', '1', slow.url],
  };
  const runs = Object.entries(lost).map(async ([condition, args]) => {
    const flags = ['--fail-on', 'timeouts<1', '--fail-on', condition, '--abort-on-fail'];
    const { code, stderr, result } = await millraceJson([...flags, ...args]);
    assert.equal(result.abortedBy, condition);
    assert.equal(result.interrupted, false);
    assert.ok(result.durationMs < 30_000, `${condition}: ${result.durationMs}`);
    assertAddsUp(result);
    const { message } = result.warnings.find(({ id }) => id === 'aborted');
    assert.match(message, /^Ended after .* by --abort-on-fail: .* could no longer hold\.$/);
    assert.ok(stderr.includes(`millrace: --fail-on '${condition}' failed: it is `), stderr);
    assert.equal(code, 99);
  });
  await Promise.all(runs);
});

test('a condition that can still hold does not end a run', async (t) => {
  const [failing, fine] = await Promise.all([truthServer(t, FAILING), truthServer(t, ok())]);
  const conditions = [
    'errors<11%',
    'errors<1000',
    'p99<10s',
    'max<10s',
    'throughput>=1',
    'mean<1us',
  ];
  const abortOnFail = true;
  const held = { url: failing.url, requests: 100, rate: 200, failOn: conditions, abortOnFail };
  const [whole, plain] = await Promise.all([
    load(held),
    load({ url: fine.url, duration: 300, connections: 1, failOn: 'throughput>100M', abortOnFail }),
  ]);
  assert.equal(whole.abortedBy, undefined, 'the mean is judged at the end');
  assert.equal(whole.requests.sent, 100);
  assert.equal(plain.abortedBy, undefined, 'not before a second has passed');
  const alone = await millrace(['--abort-on-fail', fine.url]);
  assert.equal(alone.code, 2);
  assert.match(alone.stderr, /^millrace: --abort-on-fail needs --fail-on: /);
  await assert.rejects(load({ url: fine.url, failOn: 'p99<5' }), {
    code: 'ERR_MILLRACE_USAGE',
    message: /^failOn must be a condition \(got 'p99<5'\)/,
  });
  await assert.rejects(load({ url: fine.url, abortOnFail }), {
    code: 'ERR_MILLRACE_USAGE',
    message: 'abortOnFail needs failOn: a condition to end the run by',
  });
});
