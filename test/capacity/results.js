// Results as `capacity()` gives them, for the page and the schema: a plateau, a peak, rates, and some with little to say.
import { readFileSync } from 'node:fs';

/** @typedef {import('../../dist/capacity/result.js').CapacityResult} CapacityResult */

const { plan } = JSON.parse(
  readFileSync(new URL('../fixtures/report-closed.json', import.meta.url), 'utf8'),
);

const common = {
  schemaVersion: 1,
  tool: { name: 'millrace', version: '0.1.0' },
  startedAt: '2026-11-21T20:00:00.000Z',
  durationMs: 44_200,
  budgetMs: 60_000,
  interrupted: false,
  plan: { ...plan, command: ['node', 'server.js'] },
  sweep: null,
  search: null,
  warnings: [],
};

const about = (value, part = 0.01) => ({
  value,
  low: value * (1 - part),
  high: value * (1 + part),
});

function level(connections, throughput, [p50, p99], changes = {}) {
  const { low, high } = about(throughput, 0.02);
  return {
    connections,
    blocks: [0.99, 1, 1.01].map((part) => part * throughput),
    throughput: { mean: throughput, low, high },
    latencyMs: { mean: (1000 * connections) / throughput, p50, p99 },
    errorShare: 0,
    clientBound: false,
    serverCpu: 0.02 * connections ** 0.25,
    ...changes,
  };
}

/** The points of a curve, as dense as those of a real one. */
function curvePoints(most, law) {
  const places = Array.from({ length: 8 * Math.log2(most) + 1 }, (_, step) => 2 ** (step / 8));
  return [...new Set(places.map(Math.round))].map((connections) => ({
    connections,
    throughput: about(law(connections), 0.03),
  }));
}

/** 25.1 ms alone and 250/s at most. @returns {CapacityResult} */
export function plateau() {
  const law = (n) => Math.min(n / 0.0251, 250);
  const times = { 1: [24.5, null], 2: [24.8, null], 4: [24.9, null], 8: [32, 37.2] };
  const levels = [1, 2, 4, 8, 16, 32, 64].map((n) =>
    level(n, law(n) * (1 + 0.004 * (n % 3)), times[n] ?? [4 * n, 4 * n + 3]),
  );
  return {
    ...common,
    sweep: {
      levels,
      best: levels[4],
      model: {
        ...{ curve: 'bounds', singleMs: about(25.1), maxThroughput: about(250) },
        ...{ knee: about(6.3, 0.02), peak: null, scatter: 0.0099 },
        points: curvePoints(128, law),
      },
      ended: 'past-knee',
    },
  };
}

/** Throughput falls beyond 22 connections; the largest level was the generator's, one failed. @returns {CapacityResult} */
export function peak() {
  const law = (n) => (1000 * n) / (1 + 0.05 * (n - 1) + 0.002 * n * (n - 1));
  const sound = [1, 2, 4, 8, 16, 32, 64, 128].map((n) =>
    level(n, law(n), [(700 * n) / law(n), (2100 * n) / law(n)], { serverCpu: null }),
  );
  const levels = [
    ...sound,
    level(256, 900, [280, 900], { serverCpu: null, errorShare: 0.5 }),
    level(512, 800, [640, 1900], { serverCpu: null, clientBound: true }),
  ];
  return {
    ...common,
    sweep: {
      levels,
      best: levels[4],
      model: {
        ...{ curve: 'usl', singleMs: about(1), maxThroughput: about(7530, 0.05) },
        ...{ knee: about(7.53, 0.06), peak: about(21.8, 0.1), scatter: 0.021 },
        points: curvePoints(256, law),
      },
      ended: 'client-bound',
    },
    warnings: [{ id: 'shared-cores', message: 'Server and generator share 2 cores.' }],
  };
}

/** Still growing, and the intervals of the curve have no upper end. @returns {CapacityResult} */
export function growing() {
  const levels = [1, 2].map((n) => level(n, 40 * n, [25, null]));
  const open = (value) => ({ value, low: value / 3, high: Number.POSITIVE_INFINITY });
  return {
    ...common,
    interrupted: true,
    sweep: {
      levels,
      best: levels[1],
      model: {
        ...{ curve: 'amdahl', singleMs: open(25), maxThroughput: null, knee: null, peak: null },
        scatter: 0.03,
        points: [1, 2, 3, 4].map((connections) => ({
          connections,
          throughput: open(40 * connections),
        })),
      },
      ended: 'interrupted',
    },
  };
}

/** Every request failed. @returns {CapacityResult} */
export function failing() {
  const failed = { errorShare: 1, blocks: [0], throughput: { mean: 0, low: 0, high: 0 } };
  const latencyMs = { mean: null, p50: null, p99: null };
  const levels = [level(1, 1, [1, 1], { ...failed, latencyMs, serverCpu: null })];
  return { ...common, sweep: { levels, best: null, model: null, ended: 'errors' } };
}

/** Nothing was measured. @returns {CapacityResult} */
export function nothing() {
  return { ...common, sweep: { levels: [], best: null, model: null, ended: 'interrupted' } };
}

function trial(rate, p99, changes = {}) {
  return {
    rate,
    durationMs: 8130,
    throughput: Math.min(rate, 250),
    latencyMs: { mean: p99 * 0.7, p50: p99 * 0.65, p99 },
    samples: Math.round(8.13 * rate),
    measured: [p99],
    held: true,
    failures: [],
    clientBound: false,
    ...changes,
  };
}

const failed = (rate, p99, why = `p99<100ms: it is ${p99} ms`) =>
  trial(rate, p99, { held: false, failures: [why] });

/** @returns {CapacityResult} */
export function found() {
  return {
    ...common,
    search: {
      objective: ['p99<100ms'],
      rate: { value: 229, low: 198, high: 271 },
      trials: [
        trial(123, 40.5),
        trial(184, 44.2),
        failed(276, 493),
        trial(201, 60.6),
        failed(246, 130),
        trial(211, 69.1),
        failed(266, 379, 'only 240/s completed'),
      ],
      confirmed: trial(198, 56.8),
      single: { meanMs: 25, samples: 40 },
      ended: 'budget',
      reason: '',
    },
  };
}

/** Two conditions, of which one is a share; beyond some rate the generator was the limit. @returns {CapacityResult} */
export function atLeast() {
  const measured = (throughput, p90, errors) => ({ throughput, measured: [p90, errors] });
  const generators = { held: false, clientBound: true, failures: ['p90<50ms: it is 90 ms'] };
  return {
    ...common,
    search: {
      objective: ['p90<50ms', 'errors<=1%'],
      rate: { value: 30_000, low: 30_000, high: Number.POSITIVE_INFINITY },
      trials: [
        trial(20_000, 5, measured(20_010, 4, 0)),
        trial(30_000, 9, measured(29_980, 7, 0.002)),
        trial(45_000, 120, { ...measured(41_000, 90, 0.004), ...generators }),
      ],
      confirmed: null,
      single: { meanMs: 0.4, samples: 9000 },
      ended: 'client-bound',
      reason: '',
    },
  };
}

/** @returns {CapacityResult} */
export function neverHolds() {
  return {
    ...common,
    search: {
      objective: ['p50<5ms'],
      rate: null,
      trials: [],
      confirmed: null,
      single: { meanMs: 30.2, samples: 33 },
      ended: 'never-holds',
      reason: 'not even one request at a time holds p50<5ms: it is 30.1 ms',
    },
  };
}

/** The only rate tried failed, without an answer at all. @returns {CapacityResult} */
export function noneHolds() {
  const result = neverHolds();
  const silent = { measured: [null], latencyMs: { mean: null, p50: null, p99: null } };
  const failures = ['p50<5ms: there is no sample'];
  return {
    ...result,
    search: {
      ...result.search,
      trials: [trial(10, 1, { ...silent, throughput: 0, samples: 0, held: false, failures })],
      ended: 'budget',
      reason: 'the only rate tried 10 per second: p50<5ms: there is no sample',
    },
  };
}

const attack =
  '</script><script>window.attacked = true</script><!--<img src=x onerror=attacked=1>"\'';

/** Markup and long words wherever text from outside can stand. @returns {CapacityResult} */
export function hostile() {
  const long = `${attack}${'x'.repeat(300)}`;
  const result = found();
  result.plan = structuredClone(result.plan);
  result.plan.targets[0].url = `http://127.0.0.1/${long}`;
  Object.assign(result.plan, { command: ['node', long], addresses: [long] });
  result.warnings = [{ id: 'attack', message: long }];
  Object.assign(result.search.trials[2], { failures: [long] });
  Object.assign(result.search, { rate: null, ended: 'server-ended', reason: long });
  return result;
}
