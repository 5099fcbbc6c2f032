// The page of an explanation: its contents, without a browser.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { renderExplanationPage } from '#internal/report/explain/html.js';
import {
  cannotTell,
  hostile,
  nagle,
  tooFewConnections,
} from '../../fixtures/explain/explanations.js';
import { encodeHistogram } from '../../fixtures/explain/histogram.js';
import {
  assertHolds,
  assertRefersToNothing,
  assertStaysText,
} from '../../fixtures/report/static-page.js';

const explanations = { tooFewConnections, nagle, cannotTell, hostile };
const headings = (page) =>
  [...page.matchAll(/<h2>(.*?)<\/h2>/g)].map(([, text]) => text.replace('&#39;', "'"));
describe('page', () => {
  for (const [name, make] of Object.entries(explanations)) {
    test(`the page of ${name} runs no script and contains the whole explanation`, () => {
      assertHolds(renderExplanationPage(make()), make());
    });
  }

  test('the page refers to no other resource', () => {
    for (const make of [tooFewConnections, nagle, cannotTell]) {
      assertRefersToNothing(renderExplanationPage(make()));
    }
  });

  test('the page contains all parts in reading order', () => {
    assert.deepEqual(headings(renderExplanationPage(nagle())), [
      'To get more',
      'Where the requests are',
      'Experiments',
      'Capacity',
      'Response times',
      'CPU time',
      'Evidence and limits ruled out',
      'Definitions',
    ]);
  });

  test('the distribution of response times marks a TCP timer unless its limit is ruled out', () => {
    const explanation = nagle();
    assert.match(renderExplanationPage(explanation), /40 ms: delayed ACK/);
    explanation.ruledOut = [{ limit: 'nagle-delayed-ack', why: 'one segment per response' }];
    assert.doesNotMatch(renderExplanationPage(explanation), /40 ms: delayed ACK/);
  });

  test('the page leaves out empty parts', () => {
    assert.deepEqual(headings(renderExplanationPage(cannotTell())), [
      'Response times',
      'Not observed',
      'Definitions',
    ]);
    const empty = cannotTell();
    empty.load = { ...empty.load, latencyMs: { ...empty.load.latencyMs, count: 0, min: null } };
    empty.load.histograms = { ...empty.load.histograms, latency: encodeHistogram([]) };
    assert.ok(!headings(renderExplanationPage(empty)).includes('Response times'));
  });

  test('each status has a word of its own', () => {
    const words = {
      confirmed: 'CONFIRMED',
      likely: 'LIKELY',
      'cannot-tell': 'CANNOT TELL',
      'no-limit': 'NO LIMIT',
    };
    for (const [status, word] of Object.entries(words)) {
      const explanation = cannotTell();
      explanation.verdict.status = status;
      const page = renderExplanationPage(explanation);
      assert.ok(page.includes(`<section class="verdict ${status}">`));
      assert.ok(page.includes(`<strong class="badge">${word}</strong>`));
    }
  });

  test('the prediction of the verdict stands out, those of rivals that are excluded are said to be', () => {
    const page = renderExplanationPage(tooFewConnections());
    const rows = [...page.matchAll(/<tr class="(own|fits|against)"><th scope="row">(.*?)<small>/g)];
    assert.deepEqual(
      rows.map(([, kind, limit]) => [kind, limit]),
      [
        ['own', 'too-few-connections'],
        ['against', 'serialized'],
        ['against', 'outbound-pool'],
        ['own', 'too-few-connections'],
        ['against', 'serialized'],
        ['own', 'too-few-connections'],
        ['fits', 'serialized'],
      ],
    );
    assert.equal(page.match(/ruled out by this<\/small>/g).length, 3);
  });

  test('a verdict that its own experiment speaks against does not look confirmed by it', () => {
    const explanation = tooFewConnections();
    explanation.experiments[0].excludes = ['too-few-connections'];
    const page = renderExplanationPage(explanation);
    assert.ok(page.includes('<tr class="against"><th scope="row">too-few-connections'));
  });

  test('numbers far away, of one kind or none break nothing', () => {
    const explanation = tooFewConnections();
    explanation.capacity.points = [explanation.capacity.points[0]];
    explanation.experiments[0].predicted.serialized = { low: 0, high: 1e9 };
    explanation.remedy.predictedThroughput = { low: 0, high: 1e9 };
    for (const loopLimit of [null, 0, 12_500]) {
      for (const singleMs of [null, 54.1, 1e-3, 1e6]) {
        const knee = loopLimit !== null && singleMs !== null ? (loopLimit * singleMs) / 1000 : null;
        Object.assign(explanation.capacity, { loopLimit, singleMs, knee });
        assert.doesNotMatch(renderExplanationPage(explanation), /NaN|undefined|Infinity/);
      }
    }
  });

  test('text from outside stays text', () => assertStaysText(renderExplanationPage(hostile())));
});
