import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decideVerdict } from '#internal/explain/conclusion/verdict.js';
import { rankExperiments } from '#internal/explain/experiments/selection.js';
import { buildHealthyMetrics } from '../../../fixtures/explain/metrics.js';

const CLOSED = { model: 'closed' };
const NOISE = 0.03;

function hypothesis(limit, weight, predictions, causeOf) {
  const isUnknown = causeOf !== undefined || limit === 'event-loop-cpu';
  return {
    limit,
    weight,
    predictions,
    ...(!isUnknown && { unlisted: 'unchanged' }),
    ...(causeOf && { causeOf }),
  };
}

function experiment(name, ratio, spread = 0.03) {
  const measured = { ratio, low: ratio * (1 - spread), high: ratio * (1 + spread), pairs: 4 };
  return {
    name,
    metric: 'throughput',
    change: '',
    predicted: {},
    otherwise: 1,
    measured,
    excludes: [],
  };
}

const doubled = { 'connections-x2': { low: 1.8, high: 2.1 } };
const same = { 'connections-x2': { low: 0.9, high: 1.1 } };

test('a predicted change that is measured and that no rival predicted confirms the limit', () => {
  const few = hypothesis('too-few-connections', 0.9, doubled);
  const queue = hypothesis('serialized', 0.7, same);
  const found = decideVerdict(CLOSED, [few, queue], [experiment('connections-x2', 1.98)], NOISE);
  assert.equal(found.status, 'confirmed');
  assert.equal(found.chosen, few);
  assert.deepEqual(
    found.excluded.map(({ limit }) => limit),
    ['serialized'],
  );
});

test('a result that contradicts the strongest hypothesis leaves the other, which is not confirmed if it predicted no change', () => {
  const few = hypothesis('too-few-connections', 0.9, doubled);
  const queue = hypothesis('serialized', 0.7, same);
  const found = decideVerdict(CLOSED, [few, queue], [experiment('connections-x2', 1.01)], NOISE);
  assert.equal(found.status, 'likely');
  assert.equal(found.chosen, queue);
});

test('an interval that includes no change confirms nothing', () => {
  const few = hypothesis('too-few-connections', 0.9, doubled);
  const found = decideVerdict(CLOSED, [few], [experiment('connections-x2', 1.6, 0.5)], NOISE);
  assert.equal(found.status, 'likely');
});

test('a rival of the same weight that nothing excludes keeps the verdict from being confirmed, and is named', () => {
  const few = hypothesis('too-few-connections', 0.9, doubled);
  const slow = hypothesis('slow-dependency', 0.93, doubled);
  const found = decideVerdict(CLOSED, [slow, few], [experiment('connections-x2', 1.95)], NOISE);
  assert.equal(found.status, 'likely');
  assert.equal(found.chosen, slow);
  assert.deepEqual(found.also, [few]);
});

test('without an experiment the strongest hypothesis is at most likely', () => {
  const found = decideVerdict(CLOSED, [hypothesis('errors', 1, {})], [], NOISE);
  assert.equal(found.status, 'likely');
});

test('the cause of a busy loop is the verdict, and the busy loop is listed too', () => {
  const loop = hypothesis('event-loop-cpu', 1, { 'cpu-injection': { low: 0.6, high: 0.7 } });
  const gain = { 'output-discarded': { low: 1.3, high: 1.7 } };
  const logging = hypothesis('logging', 0.8, { ...loop.predictions, ...gain }, 'event-loop-cpu');
  const runs = [experiment('cpu-injection', 0.65), experiment('output-discarded', 1.5)];
  const found = decideVerdict(CLOSED, [loop, logging], runs, NOISE);
  assert.equal(found.status, 'confirmed');
  assert.equal(found.chosen, logging);
  assert.deepEqual(found.also, [loop]);
});

test('the busy loop is the verdict if an experiment contradicts its cause', () => {
  const loop = hypothesis('event-loop-cpu', 1, { 'cpu-injection': { low: 0.6, high: 0.7 } });
  const gain = { 'output-discarded': { low: 1.3, high: 1.7 } };
  const logging = hypothesis('logging', 0.8, { ...loop.predictions, ...gain }, 'event-loop-cpu');
  const runs = [experiment('cpu-injection', 0.65), experiment('output-discarded', 1.01)];
  const found = decideVerdict(CLOSED, [loop, logging], runs, NOISE);
  assert.equal(found.status, 'confirmed');
  assert.equal(found.chosen, loop);
});

test('an experiment on one cause of a busy loop does not contradict the other causes', () => {
  const gc = hypothesis('gc-young', 0.9, {}, 'event-loop-cpu');
  const found = decideVerdict(CLOSED, [gc], [experiment('output-discarded', 1.4)], NOISE);
  assert.equal(found.chosen, gc);
});

test('no verdict is possible if all hypotheses are contradicted', () => {
  const few = hypothesis('too-few-connections', 0.9, doubled);
  const queue = hypothesis('serialized', 0.7, same);
  const found = decideVerdict(CLOSED, [few, queue], [experiment('connections-x2', 1.4)], NOISE);
  assert.equal(found.status, 'cannot-tell');
  assert.equal(found.chosen, null);
  assert.equal(found.excluded.length, 2);
});

test('an experiment on the busy loop does not confirm its cause', () => {
  const injection = { 'cpu-injection': { low: 0.6, high: 0.7 } };
  const idle = hypothesis('idle-work', 0.9, injection, 'event-loop-cpu');
  const found = decideVerdict(CLOSED, [idle], [experiment('cpu-injection', 0.65)], NOISE);
  assert.equal(found.status, 'likely');
});

test('a weak hypothesis is not the verdict', () => {
  const found = decideVerdict(CLOSED, [hypothesis('single-core', 0.3, {})], [], NOISE);
  assert.equal(found.status, 'cannot-tell');
});

/** An open load of 1000 requests per second for 3 s. */
function open(warnings, throughput = 1000) {
  const requests = { sent: 3000, transportErrors: 0, timeouts: 0 };
  const plan = { model: 'open', rate: 1000 };
  const load = { plan, requests, durationMs: 3000, warnings: warnings.map((id) => ({ id })) };
  return { model: 'open', base: { load, throughput } };
}

test('a sustained rate has no limit, unless something affects the responses', () => {
  const busy = hypothesis('event-loop-cpu', 0.9, {});
  assert.equal(decideVerdict(open([]), [busy], [], NOISE).status, 'no-limit');
  const blocked = hypothesis('event-loop-blocked', 0.9, {});
  assert.equal(decideVerdict(open([]), [busy, blocked], [], NOISE).chosen, blocked);
  assert.equal(decideVerdict(open(['rate-not-reached']), [busy], [], NOISE).chosen, busy);
  // Every request is sent, and the queue grows in the server.
  assert.equal(decideVerdict(open([], 850), [busy], [], NOISE).chosen, busy);
  assert.equal(decideVerdict(open([], 950), [busy], [], NOISE).status, 'no-limit');
});

test('a few errors do not precede a limit that an experiment supports', () => {
  const few = hypothesis('too-few-connections', 0.9, doubled);
  const runs = [experiment('connections-x2', 1.98)];
  const failing = { ...hypothesis('errors', 0, {}), unlisted: undefined };
  const errors = (weight) => decideVerdict(CLOSED, [{ ...failing, weight }, few], runs, NOISE);
  assert.equal(errors(0.46).chosen, few);
  assert.equal(errors(0.9).chosen.limit, 'errors');
});

test('a rival that nothing excludes, however weak, keeps the verdict from being confirmed', () => {
  const few = hypothesis('too-few-connections', 0.95, doubled);
  const runs = [experiment('connections-x2', 1.98)];
  const other = { ...hypothesis('bandwidth', 0.5, {}), unlisted: undefined };
  assert.equal(decideVerdict(CLOSED, [few, other], runs, NOISE).status, 'likely');
  assert.equal(
    decideVerdict(CLOSED, [few, { ...other, weight: 0.4 }], runs, NOISE).status,
    'confirmed',
  );
});

test('the causes of a busy loop are excluded with it', () => {
  const loop = hypothesis('event-loop-cpu', 1, { 'cpu-injection': { low: 0.6, high: 0.7 } });
  const imbalance = hypothesis('worker-imbalance', 0.9, {}, 'event-loop-cpu');
  const found = decideVerdict(CLOSED, [loop, imbalance], [experiment('cpu-injection', 1)], NOISE);
  assert.equal(found.status, 'cannot-tell');
  assert.deepEqual(
    found.excluded.map(({ limit }) => limit),
    ['event-loop-cpu', 'worker-imbalance'],
  );
  assert.match(found.excluded[1].why, /CPU injection: it predicts × 0.60 to 0.70/);
});

test('a cause with an inconclusive experiment remains the verdict if its signature is strong', () => {
  const loop = hypothesis('event-loop-cpu', 1, { 'cpu-injection': { low: 0.6, high: 0.7 } });
  const runs = [experiment('cpu-injection', 0.65), experiment('young-generation-x4', 1.5, 0.6)];
  const gain = { 'young-generation-x4': { low: 1.3, high: 2 } };
  const cause = (weight) =>
    decideVerdict(
      CLOSED,
      [loop, hypothesis('gc-young', weight, gain, 'event-loop-cpu')],
      runs,
      NOISE,
    ).chosen.limit;
  assert.equal(cause(0.9), 'gc-young');
  assert.equal(cause(0.65), 'event-loop-cpu');
});

test('an experiment that changes several things excludes no limit that predicts nothing for it', () => {
  const few = hypothesis('too-few-connections', 0.9, doubled);
  const runs = [experiment('connections-x2', 1.98), experiment('not-found-path', 8)];
  assert.equal(decideVerdict(CLOSED, [few], runs, NOISE).status, 'confirmed');
});

test('an experiment whose prediction includes "no change" ranks after an informative one', () => {
  const setting = {
    hasProbe: true,
    isNativeStack: false,
    canRestart: true,
    canAddLoad: true,
    socketPath: null,
  };
  const metrics = buildHealthyMetrics();
  const vague = hypothesis('serialized', 1, { 'outbound-delay': { low: 0.1, high: 1.08 } });
  const sharp = hypothesis('outbound-pool', 1, { 'max-sockets-x2': { low: 1.5, high: 2.1 } });
  const order = rankExperiments(metrics, [vague, sharp], setting).map(
    ({ experiment }) => experiment.name,
  );
  assert.deepEqual(
    order.filter((name) => name !== 'connections-x2'),
    ['max-sockets-x2', 'outbound-delay'],
  );
});

test('a cause with its own prediction is not bound by that of the busy loop', () => {
  const busy = hypothesis('event-loop-cpu', 1, { 'second-process': { low: 1.05, high: 1.9 } });
  const ageing = (predictions) =>
    hypothesis('degrades-over-time', 0.8, predictions, 'event-loop-cpu');
  const found = (predictions) =>
    decideVerdict(CLOSED, [busy, ageing(predictions)], [experiment('second-process', 6)], NOISE);
  const own = found({ 'second-process': { low: 1.05, high: 7 } });
  assert.equal(own.chosen.limit, 'degrades-over-time');
  assert.deepEqual(
    own.excluded.map(({ limit }) => limit),
    ['event-loop-cpu'],
  );
  assert.equal(found({}).status, 'cannot-tell');
});

test('what takes most of a busy loop is its cause, though one setting did not help', () => {
  const loop = hypothesis('event-loop-cpu', 0.9, same);
  const garbage = {
    ...hypothesis(
      'gc-young',
      0.9,
      { 'young-generation-x4': { low: 1.2, high: 5 } },
      'event-loop-cpu',
    ),
    loopShare: 0.5,
  };
  const tried = [experiment('connections-x2', 1), experiment('young-generation-x4', 0.95)];
  // The experiment excludes it if its interval is narrow.
  assert.equal(decideVerdict(CLOSED, [loop, garbage], tried, NOISE).chosen, loop);
  const unsure = [tried[0], experiment('young-generation-x4', 0.9, 0.6)];
  assert.equal(decideVerdict(CLOSED, [loop, garbage], unsure, NOISE).chosen, garbage);
  const little = { ...garbage, loopShare: 0.2 };
  assert.equal(decideVerdict(CLOSED, [loop, little], unsure, NOISE).chosen, loop);
});

test('a process that ran out of memory precedes a limit that an experiment supports', () => {
  const loop = hypothesis('event-loop-cpu', 0.9, doubled);
  const tried = [experiment('connections-x2', 2)];
  const grown = (weight) => hypothesis('memory-growth', weight, {}, undefined);
  const full = { ...grown(1), unlisted: undefined };
  assert.equal(decideVerdict(CLOSED, [loop, full], tried, NOISE).chosen, full);
  const soon = { ...grown(0.97), unlisted: undefined };
  assert.equal(decideVerdict(CLOSED, [loop, soon], tried, NOISE).chosen, loop);
});
