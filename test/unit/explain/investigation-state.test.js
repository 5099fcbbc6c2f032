// The state of an investigation: what follows from each event, without a server.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EXPERIMENTS } from '#internal/explain/experiments/definitions.js';
import {
  applyEvent,
  beginState,
  decide,
  toFindings,
} from '#internal/explain/phases/investigation-state.js';
import { buildHealthyMetrics } from '../../fixtures/explain/metrics.js';

const begin = () => beginState({ metrics: buildHealthyMetrics(), retained: null }, null, []);
const { base } = buildHealthyMetrics();
const blocksOf = (throughput, count = 3) => Array(count).fill({ ...base, throughput });
const findExperiment = (wanted) => EXPERIMENTS.find(({ name }) => name === wanted);

/** A state after rounds of an experiment that yielded `gain` times as much. */
function afterRounds(name, gain) {
  const blocks = {
    base: blocksOf(1000),
    changed: new Map([[name, blocksOf(1000 * gain)]]),
  };
  const state = applyEvent(begin(), { kind: 'rounds', blocks });
  return applyEvent(state, { kind: 'experiment', experiment: findExperiment(name), blocks });
}

test('an event leaves the state before it as it was', () => {
  const before = begin();
  const copy = structuredClone({ ...before, blocks: before.blocks.base.length });
  const after = applyEvent(before, { kind: 'skipped', what: 'no time' });
  applyEvent(after, { kind: 'cost', cost: { requests: 1000, cpuMs: 0.3 } });
  assert.deepEqual(after.skippedExperiments, ['no time']);
  assert.deepEqual({ ...before, blocks: before.blocks.base.length }, copy);
});

test('an experiment that yields what a limit predicts makes it the verdict', () => {
  assert.equal(decide(begin()).status, 'likely');
  const { chosen, status } = decide(afterRounds('connections-x2', 2));
  assert.equal(chosen.limit, 'too-few-connections');
  assert.equal(status, 'confirmed');
});

test('what is predicted of an experiment does not come from its own outcome', () => {
  const cost = (index) => ({ requests: 1000 * index, cpuMs: 0.1 + 0.05 * index });
  let state = begin();
  for (let index = 1; index < 9; index += 1)
    state = applyEvent(state, { kind: 'cost', cost: cost(index) });
  const { predictions } = state.evaluation.hypotheses.find(
    ({ limit }) => limit === 'degrades-over-time',
  );
  const restarted = applyEvent(state, {
    kind: 'experiment',
    experiment: findExperiment('restart'),
    blocks: { base: blocksOf(1000), changed: new Map([['restart', blocksOf(2000)]]) },
    costAfterRestart: { requests: 500, cpuMs: 0.1 },
  });
  const [result] = restarted.experiments;
  assert.deepEqual(result.predicted['degrades-over-time'], predictions.restart);
  assert.equal(restarted.history.afterRestart.cpuMs, 0.1);
});

test('rounds whose unchanged load failed are left out, with the reason', () => {
  const { requests } = base.load;
  const load = { ...base.load, requests: { ...requests, transportErrors: requests.ok } };
  const blocks = { base: Array(3).fill({ ...base, load }), changed: new Map() };
  const state = applyEvent(begin(), { kind: 'rounds', blocks });
  assert.equal(state.blocks.base.length, 1);
  assert.match(state.skippedExperiments.join(), /all experiments: 50 % of the requests/);
});

test('a function that causes another limit than the verdict is not named', () => {
  const profiles = {
    hotFunctions: [],
    dominantCall: null,
    loopTime: null,
    rootCause: { name: 'scan', place: 'app.js:1', share: 0.9 },
  };
  const state = afterRounds('connections-x2', 2);
  const of = (limit) => toFindings(applyEvent(state, { kind: 'profile', of: limit, profiles }));
  assert.equal(of('idle-work').rootCauseFunction, null);
  assert.equal(of('too-few-connections').rootCauseFunction.name, 'scan');
});
