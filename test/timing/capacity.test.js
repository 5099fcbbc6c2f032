// How much a real server can take, whose capacity is known.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { capacityPage } from '../../dist/report/capacity/html.js';
import { capacityText } from '../../dist/report/capacity/text.js';
import { assertFits, millrace, near, started } from '../fixtures/capacity/command.js';
import { Noise } from '../fixtures/noise.js';
import { retried } from '../fixtures/retry.js';

const noise = new Noise(11);
const folder = mkdtempSync(join(tmpdir(), 'millrace-capacity-'));
after(() => rmSync(folder, { recursive: true, force: true }));

test('throughput over connections: a delay of 20 ms, and 4 ms one after the other', async () => {
  const page = join(folder, 'page.html');
  const flags = ['--json', '--html', page, '--budget', '16s', ...started];
  const sweep = async () => {
    const { code, stdout, stderr } = await millrace(flags, { DELAY: '20', SERVICE: '4' }).ended;
    assert.equal(code, 0, stderr);
    return JSON.parse(stdout);
  };
  const report = await retried(sweep, ({ sweep: { levels, best } }) => {
    near(0.2, best.throughput.mean, 250, 'best');
    assert.ok(best.connections >= 4, `${best.connections} connections`);
    // Whatever this machine did meanwhile, more connections were no slower by far.
    const last = levels.at(-1);
    near(0.3, last.throughput.mean, 250, 'last');
    near(0.3, last.latencyMs.p50, last.connections * 4, 'wait of the last');
  });
  assertFits(report);
  assert.equal(readFileSync(page, 'utf8'), capacityPage(report));
  assert.equal(report.schemaVersion, 1);
  assert.equal(report.search, null);
  assert.match(capacityText(report, { color: false, width: 80, notes: [] }), /req\/s/);
});

test('the highest rate: within 20 % of what the queue gives', async () => {
  // Lindley's recursion: what waits is what waited before, plus the service, less the time between two arrivals.
  const [delay, serviceMs, boundMs] = [20, 4, 100];
  const p90 = (rate) => {
    let wait = 0;
    const times = Array.from({ length: 60_000 }, () => {
      wait = Math.max(0, wait + serviceMs - noise.exponential(1000 / rate));
      return delay + wait + serviceMs;
    });
    return times.sort((a, b) => a - b)[54_000];
  };
  let [low, high] = [10, 250];
  while (high / low > 1.005) {
    const middle = Math.sqrt(low * high);
    if (p90(middle) < boundMs) low = middle;
    else high = middle;
  }
  const flags = ['--json', '--slo', 'p90<100ms', '--budget', '18s', ...started];
  const env = { DELAY: String(delay), SERVICE: String(serviceMs) };
  const search = async () => {
    const { code, stdout, stderr } = await millrace(flags, env).ended;
    assert.equal(code, 0, stderr);
    return JSON.parse(stdout);
  };
  const report = await retried(search, ({ search: { rate, trials } }) => {
    near(0.2, rate.value, low, 'rate');
    // JSON has no infinity: without an upper end it is `null`.
    const meets = rate.low <= 1.2 * low && (rate.high ?? low) >= 0.8 * low;
    assert.ok(meets, `${rate.low} to ${rate.high} instead of ${low}`);
    assert.ok(trials.some(({ held }) => held) && trials.some(({ held }) => !held));
  });
  assertFits(report);
  assert.deepEqual(report.search.objective, ['p90<100ms']);
});

test('one that ends under load: what was measured until then, and exit 3', async () => {
  const env = { DELAY: '5', ENDS_ABOVE: '12' };
  const sweep = () => millrace(['--json', '--budget', '10s', ...started], env).ended;
  // A busy machine may bound the generator before.
  await retried(sweep, ({ code, stdout }) => {
    const report = JSON.parse(stdout);
    assertFits(report);
    assert.equal(report.sweep.ended, 'server-ended');
    assert.equal(code, 3);
    assert.deepEqual(
      report.sweep.levels.map(({ connections }) => connections),
      [1, 2, 4, 8],
    );
  });
});
