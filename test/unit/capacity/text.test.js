// The text of a capacity run.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { formatCapacityText } from '#internal/report/capacity/text.js';

const sample = JSON.parse(
  readFileSync(new URL('../../fixtures/report-closed.json', import.meta.url), 'utf8'),
);

test('no line of the text is wider than the terminal', () => {
  const level = (connections, changes) => ({
    ...{
      connections,
      blocks: [9e5],
      throughput: { mean: 9e5, low: 8e5, high: 1e6 },
      serverCpu: 12,
    },
    ...{
      latencyMs: { mean: 1, p50: 123, p99: 1234 },
      errorShare: 0,
      clientBound: false,
      ...changes,
    },
  });
  const trial = (rate, changes) => ({
    ...{
      rate,
      durationMs: 1000,
      throughput: rate,
      latencyMs: { mean: 1, p50: 1, p99: 1 },
      samples: 9,
    },
    ...{ measured: [1234, 0.5], held: true, failures: [], clientBound: false, ...changes },
  });
  const failures = ['p99<50ms: it is 1.23 s', '50 % failed', 'only 123,456/s completed'];
  const whole = {
    ...{ durationMs: 60_000, interrupted: false, warnings: [], plan: sample.plan },
    sweep: {
      levels: [
        level(1),
        level(1_000_000, { errorShare: 0.0012 }),
        level(64, { clientBound: true }),
      ],
      ...{ best: level(1), model: null, ended: 'client-bound' },
    },
    search: {
      ...{ objective: ['p99<50ms', 'errors<1%'], rate: { value: 9e5, low: 8e5, high: 1e6 } },
      trials: [trial(9e5), trial(1e6, { held: false, clientBound: true, failures })],
      ...{
        confirmed: trial(8e5),
        single: { meanMs: 1, samples: 9 },
        ended: 'budget',
        reason: '',
      },
    },
  };
  for (const width of [80, 100, 120]) {
    const lines = formatCapacityText(whole, { color: false, width, notes: [] }).split('\n');
    for (const line of lines) assert.ok(line.length <= width, line);
  }
});
