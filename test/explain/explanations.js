// Explanations as `explain()` gives them, for the page: a latency-bound server, TCP's timer, and one with little to say.
import { readFileSync } from 'node:fs';
import { encodeHistogram } from './histogram.js';

/** @typedef {import('../../dist/explain/result.js').Explanation} Explanation */

/** A load of so many connections whose response times lie around `centers`: `[ms, requests]`. */
function loadOf(connections, throughput, centers) {
  const fixture = new URL('../fixtures/report-closed.json', import.meta.url);
  const load = JSON.parse(readFileSync(fixture, 'utf8'));
  const samples = centers.flatMap(([ms, requests]) =>
    [0.985, 0.995, 1, 1.005, 1.02, 1.06].map((part, index) => [
      ms * part,
      Math.round(requests * [0.1, 0.3, 0.3, 0.2, 0.08, 0.02][index]),
    ]),
  );
  samples.sort(([a], [b]) => a - b);
  const count = samples.reduce((sum, [, number]) => sum + number, 0);
  const at = (share) => {
    let [index, seen] = [0, samples[0][1]];
    while (seen < share * count) seen += samples[++index][1];
    return samples[index][0];
  };
  const latencyMs = {
    ...load.latencyMs,
    ...{ count, censored: 0, min: samples[0][0], max: samples.at(-1)[0] },
    mean: samples.reduce((sum, [ms, number]) => sum + ms * number, 0) / count,
    ...{ p50: at(0.5), p75: at(0.75), p90: at(0.9), p95: at(0.95), p99: at(0.99) },
    ...{ p99_9: at(0.999), p99_99: at(0.9999) },
  };
  const requests = { ...load.requests, sent: count, ok: count, inFlightAtEnd: 0 };
  return {
    ...load,
    plan: { ...load.plan, connections, initialConnections: connections, durationMs: 3000 },
    durationMs: 3000,
    requests,
    throughput: { mean: throughput, stdev: throughput / 100 },
    ...{ latencyMs, serviceTimeMs: latencyMs, meanInFlight: connections },
    histograms: { ...load.histograms, latency: encodeHistogram(samples) },
  };
}

const about = (mean, part = 0.01) => ({ low: mean * (1 - part), high: mean * (1 + part), mean });
const times = (ms) => ({ p50: ms, p99: ms * 1.05, mean: ms });

const common = {
  schemaVersion: 1,
  tool: { name: 'millrace', version: '0.1.0' },
  startedAt: '2026-11-21T20:00:00.000Z',
  durationMs: 58_200,
  serverEnded: null,
  interrupted: false,
  hot: [],
  cannotSee: [],
  noise: 0.03,
  probeCost: null,
};

/** @returns {Explanation} */
export function tooFewConnections() {
  return {
    ...common,
    load: loadOf(20, 366.9, [[54.5, 1100]]),
    verdict: {
      limit: 'too-few-connections',
      status: 'confirmed',
      sentence:
        'too few connections: each request waits 54.5 ms for http://127.0.0.1:9000, and only 20 can wait at once.',
      arithmetic: [
        "20 in flight / 54.5 ms = 367 req/s, measured 367 (Little's law closes to 0.02 %)",
        'alone a request takes 54.1 ms: it does not queue',
        'the loop needs 80.0 µs of CPU per request: 12,500 req/s at most, reached by 12,500/s x 54.1 ms = 676 connections',
      ],
      alsoLimiting: [],
    },
    population: [
      { stage: 'on a core', requests: 0.03 },
      { stage: 'waiting for http://127.0.0.1:9000', requests: 19.1 },
      { stage: 'waiting in handlers', requests: 0.37 },
      { stage: 'unexplained', requests: 0.5 },
    ],
    experiments: [
      {
        name: 'connections x2',
        metric: 'throughput',
        change: '20 to 40 in flight',
        otherwise: 1,
        predicted: {
          'too-few-connections': { low: 1.8, high: 2.1 },
          serialized: { low: 0.85, high: 1.15 },
          'outbound-pool': { low: 0.85, high: 1.15 },
        },
        measured: { ratio: 1.98, low: 1.95, high: 2.0, pairs: 5 },
        excludes: ['serialized', 'outbound-pool'],
      },
      {
        name: 'connections /2',
        metric: 'throughput',
        change: '20 to 10 in flight',
        otherwise: 1,
        predicted: {
          'too-few-connections': { low: 0.47, high: 0.56 },
          serialized: { low: 0.85, high: 1.12 },
        },
        measured: { ratio: 0.505, low: 0.5, high: 0.51, pairs: 5 },
        excludes: ['serialized'],
      },
      {
        name: 'cpu injection',
        metric: 'throughput',
        change: '48 µs of work more per request',
        otherwise: 1,
        predicted: {
          'too-few-connections': { low: 0.94, high: 1.06 },
          serialized: { low: 0.94, high: 1.04 },
        },
        measured: { ratio: 0.998, low: 0.985, high: 1.01, pairs: 5 },
        excludes: [],
      },
    ],
    evidence: [
      { what: 'event loop busy', value: 0.031, unit: '1', source: 'probe' },
      { what: 'main thread on a core', value: 0.029, unit: '1', source: 'proc' },
      { what: 'CPU time of the loop per response', value: 0.08, unit: 'ms', source: 'proc' },
      { what: 'in handlers', value: 19.5, unit: 'requests', source: 'probe' },
    ],
    ruledOut: [
      { limit: 'event-loop-cpu', why: 'the main thread runs 2.9 % of the time' },
      { limit: 'generator-saturated', why: "the generator's busiest thread 8 %" },
      {
        limit: 'serialized',
        why: 'connections x2: it would give x 0.85 to 1.15, measured x 1.98 [1.95, 2.00]',
      },
    ],
    remedy: {
      change: 'about 676 connections (or requests in flight); beyond that they only wait',
      predictedThroughput: { low: 8750, high: 13_750 },
      nextLimit: 'event-loop-cpu',
      settings: { connections: 676 },
    },
    capacity: {
      points: [
        { connections: 1, throughput: { ...about(18.47, 0) }, latencyMs: times(54.1) },
        { connections: 10, throughput: about(185), latencyMs: times(54.2) },
        { connections: 20, throughput: about(366.9), latencyMs: times(54.5) },
        { connections: 40, throughput: about(726, 0.02), latencyMs: times(55) },
      ],
      loopLimit: 12_500,
      singleMs: 54.1,
      knee: 676,
    },
    probeCost: { ratio: 0.994, low: 0.986, high: 1.002, pairs: 3 },
  };
}

/** @returns {Explanation} */
export function nagle() {
  return {
    ...common,
    load: loadOf(100, 2270, [
      [0.9, 300],
      [44, 6400],
      [210, 8],
    ]),
    verdict: {
      limit: 'nagle-delayed-ack',
      status: 'confirmed',
      sentence:
        'a timer of TCP: 43.4 ms of 44.0 ms lie between the first and the last byte; the server holds its second part back (Nagle) until the first is acknowledged, which the client delays.',
      arithmetic: [
        '96 % of the responses come in parts, 43.4 ms apart: the delayed acknowledgement of 40 ms',
        '100 / 44.0 ms = 2,273 req/s, measured 2,270',
      ],
      alsoLimiting: ['many-writes'],
    },
    population: [
      { stage: 'on a core', requests: 0.21 },
      { stage: 'between first and last byte', requests: 97.2 },
      { stage: 'waiting to be read by the server', requests: 1.4 },
      { stage: 'unexplained', requests: 1.19 },
    ],
    experiments: [
      {
        name: 'early acknowledgement',
        metric: 'throughput',
        change:
          'an empty line is sent as soon as a response has begun: the acknowledgement goes with it',
        otherwise: 1,
        predicted: {
          'nagle-delayed-ack': { low: 2.4, high: 17 },
          'too-few-connections': { low: 1, high: 1 },
        },
        measured: { ratio: 4.31, low: 4.02, high: 4.6, pairs: 5 },
        excludes: ['too-few-connections'],
      },
      {
        name: 'keep-alive',
        metric: 'throughput',
        change: 'connections are kept',
        otherwise: 1,
        predicted: { 'listen-backlog': { low: 1.5, high: 1000 } },
        measured: { ratio: 1.01, low: 0.97, high: 1.05, pairs: 2 },
        excludes: ['listen-backlog'],
      },
    ],
    evidence: [
      { what: 'gap within a response, median', value: 43.4, unit: 'ms', source: 'load' },
      { what: 'responses in parts', value: 0.96, unit: '1', source: 'load' },
    ],
    ruledOut: [{ limit: 'disk', why: 'some task waited for the disk 0 % of the time' }],
    remedy: {
      change:
        'setNoDelay(true) on the server (the default of node:http since 18), or head and body in one write: end(body), cork()',
      predictedThroughput: { low: 4000, high: 10_000 },
      nextLimit: 'event-loop-cpu',
    },
    hot: [
      { name: 'writev', place: 'node:internal/stream_base_commons:46', share: 0.21 },
      { name: '(anonymous)', place: '/srv/app/src/routes/items.ts:128', share: 0.12 },
    ],
    capacity: {
      points: [
        { connections: 1, throughput: about(22.7, 0), latencyMs: times(44) },
        { connections: 50, throughput: about(1135), latencyMs: times(44) },
        { connections: 100, throughput: about(2270), latencyMs: times(44) },
        { connections: 200, throughput: about(4480, 0.04), latencyMs: times(44.6) },
      ],
      loopLimit: 10_000,
      singleMs: 44,
      knee: 440,
    },
  };
}

/** @returns {Explanation} */
export function cannotTell() {
  return {
    ...common,
    interrupted: true,
    load: loadOf(10, 90, [[111, 270]]),
    verdict: {
      limit: null,
      status: 'cannot-tell',
      sentence: 'cannot tell: 90 req/s in 111 ms each, and no signal that was seen explains it.',
      arithmetic: [],
      alsoLimiting: [],
    },
    population: [],
    experiments: [],
    evidence: [],
    ruledOut: [],
    remedy: null,
    capacity: { points: [], loopLimit: null, singleMs: null, knee: null },
    cannotSee: [
      'inside the server: let millrace start it (millrace explain -- COMMAND), or permit --attach',
      'the processes of the server: it is on another machine',
    ],
  };
}

const attack =
  '</script><script>window.attacked = true</script><!--<img src=x onerror=attacked=1>"\'';

/** Markup and long words wherever text from outside can stand. */
export function hostile() {
  const long = `${attack}${'x'.repeat(300)}`;
  const explanation = nagle();
  const { load, verdict, experiments, remedy } = explanation;
  load.plan.targets[0].url = `http://127.0.0.1/${attack}`;
  load.warnings = [{ id: 'attack', message: attack }];
  Object.assign(verdict, { sentence: long, arithmetic: [long] });
  Object.assign(experiments[0], { name: attack, change: long, metric: attack });
  Object.assign(remedy, { change: long });
  explanation.population[1].stage = `waiting for http://${long}`;
  explanation.evidence = [{ what: long, value: 1, unit: 'ms', source: 'load' }];
  explanation.ruledOut = [{ limit: 'disk', why: long }];
  explanation.hot = [{ name: long, place: long, share: 0.5 }];
  explanation.cannotSee = [long];
  return explanation;
}
