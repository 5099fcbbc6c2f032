// The published schemas of explanations, capacity results, comparisons and studies. That of a load is tested with its fixtures in report.test.js,
// and real results where they are made.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { EXPERIMENT_LABELS, METRIC_LABELS } from '#internal/explain/experiment-names.js';
import { LIMIT_IDS } from '#internal/explain/limit-ids.js';
import { STUDY_NAMES } from '#internal/lab/result.js';
import { renderLabPage } from '#internal/report/lab/html.js';
import * as results from '../../fixtures/capacity/results.js';
import * as explanations from '../../fixtures/explain/explanations.js';
import { withGraphs } from '../../fixtures/explain/flame-graphs.js';
import { studied } from '../../fixtures/lab/results.js';
import * as comparisons from '../../fixtures/report/comparisons.js';
import {
  asJson,
  fitsPublishedCapacity,
  fitsPublishedComparison,
  fitsPublishedExplanation,
  isCapacityResult,
  isComparison,
  isExplanation,
  isLabResult,
  publishedExperiments,
  publishedLimits,
  publishedMetrics,
  publishedStudies,
} from '../../fixtures/schemas.js';

/** A copy, changed. */
function changed(value, change) {
  const copy = asJson(value);
  change(copy);
  return copy;
}

describe('explanation', () => {
  const { tooFewConnections, cannotTell } = explanations;

  for (const [name, make] of Object.entries({ ...explanations, withGraphs })) {
    test(`the explanation ${name} is valid`, () => {
      isExplanation(asJson(make()));
      assert.deepEqual(isExplanation.errors, null);
    });
  }

  test('the limits of the schema are the known ones, in their order', () => {
    assert.deepEqual(publishedLimits, [...LIMIT_IDS]);
  });

  test('the experiments of the schema are the known ones, in their order', () => {
    assert.deepEqual(publishedExperiments, Object.keys(EXPERIMENT_LABELS));
    assert.deepEqual(publishedMetrics, Object.keys(METRIC_LABELS));
    const ids = [...publishedExperiments, ...publishedMetrics];
    assert.deepEqual(
      ids.filter((id) => !/^[a-z0-9]+(-[a-z0-9]+)*$/.test(id)),
      [],
    );
  });

  test('an explanation with a missing, an unknown or a wrong property is not valid', () => {
    const spoiled = [
      (it) => delete it.serverEnded,
      (it) => delete it.experiments[0].otherwise,
      (it) => delete it.load.meanInFlight,
      (it) => Object.assign(it, { cause: 1 }),
      (it) => Object.assign(it.experiments[0].measured, { stdev: 1 }),
      (it) => Object.assign(it.load, { latency: 1 }),
      (it) => Object.assign(it.verdict, { limit: 'bad-luck' }),
      (it) => Object.assign(it.verdict, { status: 'sure' }),
      (it) => it.verdict.alsoLimiting.push('bad-luck'),
      (it) => Object.assign(it.experiments[0].predicted, { 'bad-luck': { low: 1, high: 2 } }),
      (it) => Object.assign(it.experiments[0].predicted, { disk: 2 }),
      (it) => it.experiments[0].excludes.push('bad-luck'),
      (it) => Object.assign(it.experiments[0].measured, { high: null }),
      (it) => Object.assign(it.ruledOut[0], { limit: null }),
      (it) => Object.assign(it.remedy, { nextLimit: 'bad-luck' }),
      (it) => Object.assign(it.remedy.settings, { environment: { UV_THREADPOOL_SIZE: 16 } }),
      (it) => Object.assign(it.population[0], { requests: -1 }),
      (it) => Object.assign(it.population[0], { stage: 'on a core' }),
      (it) => Object.assign(it.experiments[0], { name: 'connections x2' }),
      (it) => Object.assign(it.experiments[0], { metric: 'CPU per response' }),
      (it) => Object.assign(it.capacity.points[0].latencyMs, { p50: '1 ms' }),
      (it) => Object.assign(it, { startedAt: 'today' }),
    ];
    for (const spoil of spoiled) {
      assert.equal(isExplanation(changed(tooFewConnections(), spoil)), false, `${spoil}`);
    }
  });

  test('the published schema of explanations accepts additional properties at any depth, and no missing ones', () => {
    const added = [
      (it) => Object.assign(it, { added: 1 }),
      (it) => Object.assign(it.verdict, { added: 1 }),
      (it) => Object.assign(it.experiments[0], { added: 1 }),
      (it) => Object.assign(it.load, { added: 1 }),
      (it) => Object.assign(it.capacity.points[0].latencyMs, { p99_9: 1 }),
    ];
    for (const add of added) {
      assert.ok(fitsPublishedExplanation(changed(tooFewConnections(), add)), `${add}`);
    }
    assert.equal(fitsPublishedExplanation(changed(cannotTell(), (it) => delete it.noise)), false);
    assert.equal(
      fitsPublishedExplanation(changed(cannotTell(), (it) => delete it.load.requests)),
      false,
    );
  });
});

describe('capacity result', () => {
  const { plateau, found, atLeast } = results;

  for (const [name, make] of Object.entries(results)) {
    test(`the capacity result ${name} is valid`, () => {
      isCapacityResult(asJson(make()));
      assert.deepEqual(isCapacityResult.errors, null);
    });
  }

  test('a capacity result with a missing, an unknown or a wrong property is not valid', () => {
    const spoiled = [
      [plateau, (it) => delete it.search],
      [plateau, (it) => delete it.sweep.model.points],
      [plateau, (it) => delete it.plan.threads],
      [plateau, (it) => Object.assign(it, { added: 1 })],
      [plateau, (it) => Object.assign(it.sweep.levels[0], { added: 1 })],
      [plateau, (it) => Object.assign(it.sweep.model, { curve: 'straight' })],
      [plateau, (it) => Object.assign(it.sweep, { ended: 'never-holds' })],
      [plateau, (it) => Object.assign(it.sweep.levels[0], { connections: 1.5 })],
      [plateau, (it) => Object.assign(it.sweep.levels[0].throughput, { high: null })],
      [plateau, (it) => Object.assign(it.sweep.model.singleMs, { low: null })],
      [found, (it) => delete it.search.trials[0].failures],
      [found, (it) => Object.assign(it.search.trials[0], { held: 'yes' })],
      [found, (it) => Object.assign(it.search, { ended: 'past-knee' })],
      [found, (it) => Object.assign(it.search.rate, { value: null })],
      [found, (it) => Object.assign(it.search.confirmed, { added: 1 })],
      [found, (it) => Object.assign(it.warnings, [{ id: 'x' }])],
    ];
    for (const [make, spoil] of spoiled) {
      assert.equal(isCapacityResult(changed(make(), spoil)), false, `${spoil}`);
    }
  });

  test('the published schema of capacity results accepts additional properties at any depth, and no missing ones', () => {
    const added = [
      [plateau, (it) => Object.assign(it, { added: 1 })],
      [plateau, (it) => Object.assign(it.sweep.levels[0].latencyMs, { p99_9: 1 })],
      [plateau, (it) => Object.assign(it.sweep.model, { added: 1 })],
      [found, (it) => Object.assign(it.search.trials[0], { added: 1 })],
      [atLeast, (it) => Object.assign(it.search.rate, { added: 1 })],
    ];
    for (const [make, add] of added) {
      assert.ok(fitsPublishedCapacity(changed(make(), add)), `${add}`);
    }
    assert.equal(fitsPublishedCapacity(changed(found(), (it) => delete it.search.rate)), false);
  });
});

describe('comparison', () => {
  const { faster, withNames } = comparisons;

  test('one with and one without request names is valid', () => {
    for (const result of [faster(), withNames(3, 1)]) {
      isComparison(asJson(result));
      assert.deepEqual(isComparison.errors, null);
    }
  });

  test('one with a missing, an unknown or a wrong property is not', () => {
    const spoiled = [
      (it) => delete it.sides.b,
      (it) => delete it.rows[0].ratio,
      (it) => Object.assign(it, { kind: 'load' }),
      (it) => Object.assign(it, { added: 1 }),
      (it) => Object.assign(it, { rows: [] }),
      (it) => Object.assign(it, { ended: 'files-and-more' }),
      (it) => Object.assign(it.verdict, { word: 'faster' }),
      (it) => Object.assign(it.runs[0], { pair: 0.5 }),
      (it) => Object.assign(it.runs[0].figures, { p50Ms: '1' }),
    ];
    for (const spoil of spoiled) {
      assert.equal(isComparison(changed(faster(), spoil)), false, `${spoil}`);
    }
  });

  test('as published lets properties be added, and none be left out', () => {
    assert.ok(fitsPublishedComparison(changed(faster(), (it) => Object.assign(it, { added: 1 }))));
    assert.equal(fitsPublishedComparison(changed(faster(), (it) => delete it.verdict)), false);
  });
});

describe('studies', () => {
  test('a page of studies contains their result, which is valid', () => {
    const json = /<script type="application\/json" id="result">(.*?)<\/script>/s;
    const [, held] = json.exec(renderLabPage(studied()));
    assert.deepEqual(JSON.parse(held), asJson(studied()));
    isLabResult(JSON.parse(held));
    assert.deepEqual(isLabResult.errors, null);
  });

  test('the names of the schema are the known studies, in their order', () => {
    assert.deepEqual(publishedStudies, [...STUDY_NAMES]);
  });

  test('a result of studies with a missing, an unknown or a wrong property is not valid', () => {
    const spoiled = [
      (it) => delete it.machine.node,
      (it) => Object.assign(it, { schemaVersion: 3 }),
      (it) => Object.assign(it.studies[0], { name: 'luck' }),
      (it) => Object.assign(it.studies[0].claims[0], { held: 'yes' }),
      (it) => Object.assign(it.studies[0].claims[0], { why: '' }),
      (it) => Object.assign(it.studies[0].causes[0], { limit: 'bad-luck' }),
      (it) => Object.assign(it.studies[0].causes[0], { status: 'sure' }),
      (it) => it.studies[0].tables[0].rows[0].cells.push('1'),
      (it) => Object.assign(it.studies[0].tables[0].columns[0], { unit: 'yard' }),
      (it) => it.studies[0].figures[0].series[0].points[0].push(1),
    ];
    for (const spoil of spoiled) {
      assert.equal(isLabResult(changed(studied(), spoil)), false, `${spoil}`);
    }
  });
});
