// The highest rate that a real server can take: the search itself is tested with simulated ones in test/unit/capacity.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertFits, millrace, near, started } from '../fixtures/capacity/command.js';
import { Noise } from '../fixtures/noise.js';
import { retried } from '../fixtures/retry.js';

const noise = new Noise(11);

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
