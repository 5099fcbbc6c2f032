// Capacity and compare count iterations where there are scenarios, and say so.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { formatMarkdown, formatText } from 'millrace/report';
import {
  computeErrorShare,
  computeThroughput,
  summarizeLatency,
} from '#internal/capacity/levels.js';
import { readRun } from '#internal/compare/figures.js';
import { compareRuns } from '#internal/compare/rows/rows.js';
import { renderCapacityPage } from '#internal/report/capacity/html.js';
import { formatCells } from '#internal/report/compare/metrics.js';
import { found, plateau } from '../../../fixtures/capacity/results.js';
import { fixture } from '../../../fixtures/report/results.js';
import { asJson, isCapacityResult } from '../../../fixtures/schemas.js';

/** 1,240 iterations began in 3 s, 1,156 were completed and 64 failed; 3,166 requests were sent. */
const run = fixture('scenarios');

describe('a level of capacity', () => {
  test('has completed iterations per second, and the share of those that failed', () => {
    const ended = 1156 + 64;
    const expected = ((1240 * 1000) / run.durationMs) * (1156 / ended);
    assert.equal(computeThroughput(run), expected);
    assert.equal(computeErrorShare([run, run]), 64 / ended);
    const { requests } = fixture('closed');
    assert.equal(computeErrorShare([{ ...fixture('closed'), requests }]), 0);
  });

  test('has durations of iterations, pauses included: users x 1 / throughput', () => {
    const { mean, p50 } = summarizeLatency([run]);
    assert.ok(Math.abs(mean / run.iterations.durationMs.mean - 1) < 0.01);
    assert.ok(Math.abs(p50 / run.iterations.durationMs.p50 - 1) < 0.01);
    const inProgress = (computeThroughput(run) * mean) / 1000;
    assert.ok(inProgress > 18 && inProgress < 22, `${inProgress} of 20 users`);
  });
});

describe('the report of capacity', () => {
  const counted = (result, part) => {
    result[part].counted = 'iterations';
    result.plan.flows = run.plan.flows;
    isCapacityResult(asJson(result));
    assert.deepEqual(isCapacityResult.errors, null);
    return result;
  };

  test('of connections is about iterations and users', () => {
    const result = counted(plateau(), 'sweep');
    for (const text of [formatText(result), formatMarkdown(result), renderCapacityPage(result)]) {
      assert.match(text, /At most 2\d\d iterations\/s/);
      assert.match(text, /capacity over users/);
      const [main] = text.split('id="result"');
      assert.doesNotMatch(main, /req\/s|for a single request/);
    }
    assert.match(formatText(result), /^ {2}users {2}iterations\/s {5}curve /m);
    assert.match(formatText(plateau()), /^connections {5}req\/s {5}curve /m);
    for (const line of formatText(result, { width: 60 }).split('\n')) assert.ok(line.length <= 60);
  });

  test('of a rate is about iterations', () => {
    const result = counted(found(), 'search');
    for (const text of [formatText(result), formatMarkdown(result), renderCapacityPage(result)]) {
      assert.match(text, /holds up to [\d,]+ iterations\/s/);
      assert.doesNotMatch(text.split('id="result"')[0], /req\/s|requests per second/);
    }
  });

  test('has the values of conditions in their own units', () => {
    const result = counted(found(), 'search');
    result.search.objective = ['iterations.failed<1%'];
    for (const trial of result.search.trials) trial.measured = [0.005];
    assert.match(formatText(result), /iterations\.failed\n +\d[\d,]+ +0\.5 % /);
  });
});

describe('a comparison', () => {
  /** @type {('a' | 'b')[]} */
  const sides = ['a', 'b', 'b', 'a'];
  const runs = sides.map((side, index) =>
    readRun({ result: run, side, pair: Math.floor(index / 2) }),
  );

  test('is of iterations without pauses, and by name of requests', () => {
    const [{ figures, byName, counted }] = runs;
    assert.equal(counted, 'iterations');
    assert.equal(figures.throughput, run.iterations.rate);
    assert.equal(figures.p50Ms, run.iterations.activeMs.p50);
    assert.equal(byName[0].figures.throughput, run.byName[0].throughput);
    const { counted: none, figures: others } = readRun({
      ...{ result: fixture('closed'), side: 'a', pair: 0 },
    });
    assert.equal(none, undefined);
    assert.equal(others.throughput, fixture('closed').throughput.mean);
  });

  test('says which rows are of iterations', () => {
    const { rows } = compareRuns(runs, { margin: 0.02, metric: 'throughput' });
    const names = rows.filter(({ name }) => name === null).map((row) => formatCells(row).name);
    assert.deepEqual(
      names,
      ['iterations/s', 'active p50', 'active p99', 'CPU per request', 'memory'].slice(
        0,
        names.length,
      ),
    );
    const named = rows.find(({ name, metric }) => name !== null && metric === 'throughput');
    assert.equal(formatCells(named).name, 'requests/s');
  });
});
