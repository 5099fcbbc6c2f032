// The page of a capacity run: what it holds, and how it looks in a real browser.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { renderCapacityPage } from '#internal/report/capacity/html.js';
import { formatCapacityText } from '#internal/report/capacity/text.js';
import * as results from '../../fixtures/capacity/results.js';
import {
  assertHolds,
  assertRefersToNothing,
  assertStaysText,
} from '../../fixtures/report/static-page.js';
import { asJson } from '../../fixtures/schemas.js';

const { plateau, peak, growing, failing, nothing, found, atLeast, neverHolds, noneHolds, hostile } =
  results;
const all = Object.entries(results);
const matches = (page, pattern) => [...page.matchAll(pattern)].map(([, text]) => text);
const headings = (page) => matches(page, /<h2>(.*?)<\/h2>/g);
const charts = (page) => matches(page, /<h3>(.*?)<\/h3>/g);
const answer = (page) => /class="verdict (\S+)">\n<p class="sentence">(.*?)<\/p>/.exec(page);
describe('page', () => {
  for (const [name, make] of all) {
    test(`the page of ${name} runs no script and contains the whole result, also of one read from JSON`, () => {
      const page = renderCapacityPage(make());
      assertHolds(page, asJson(make()));
      assert.equal(renderCapacityPage(asJson(make())), page);
    });

    test(`the sentence of ${name} is the same on the page and in the text`, () => {
      if (name === 'hostile') return;
      const text = formatCapacityText(asJson(make()), { color: false, width: 1000, notes: [] });
      const [, , sentence] = answer(renderCapacityPage(make()));
      assert.ok(text.includes(sentence.replaceAll('&#60;', '<')), `${sentence} in ${text}`);
    });
  }

  test('the page refers to no other resource', () => {
    for (const make of [plateau, peak, found, atLeast])
      assertRefersToNothing(renderCapacityPage(make()));
  });

  test('the page contains all parts in reading order', () => {
    const last = ['Settings', 'Definitions'];
    assert.deepEqual(headings(renderCapacityPage(plateau())), [
      'By number of connections',
      'Measured',
      ...last,
    ]);
    assert.deepEqual(charts(renderCapacityPage(plateau())), [
      'Throughput over connections',
      'Latency over connections',
    ]);
    assert.deepEqual(headings(renderCapacityPage(found())), ['By rate', 'Rates tried', ...last]);
    assert.deepEqual(charts(renderCapacityPage(atLeast())), [
      'p90 over the rate',
      'errors over the rate',
      'Latency over the rate',
      'Throughput over the rate',
    ]);
  });

  test('the page leaves out empty parts', () => {
    for (const make of [nothing, neverHolds]) {
      assert.deepEqual(headings(renderCapacityPage(make())), ['Settings', 'Definitions']);
    }
    for (const make of [failing, noneHolds]) {
      assert.deepEqual(charts(renderCapacityPage(make())), []);
    }
  });

  test('the page says whether a figure is the answer, a lower bound or neither', () => {
    const kinds = { plateau, growing, failing, found, atLeast, neverHolds };
    assert.deepEqual(
      Object.values(kinds).map((make) => answer(renderCapacityPage(make()))[1]),
      ['found', 'at-least', 'not-found', 'found', 'at-least', 'not-found'],
    );
  });

  test('the page contains the reasons to doubt the result', () => {
    const page = renderCapacityPage(peak());
    const [, warnings] = /<ul class="warnings">(.*?)<\/ul>/.exec(page);
    assert.match(warnings, /CLIENT-BOUND: with 512 connections/);
    assert.match(warnings, /share 2 cores/);
    assert.doesNotMatch(renderCapacityPage(plateau()), /<ul class="warnings">/);
  });

  test('every chart has a description', () => {
    const [throughput, latency] = matches(
      renderCapacityPage(plateau()),
      /class="chart" role="img" aria-label="(.*?)"/g,
    );
    assert.match(throughput, /160 with 4 connections/);
    assert.match(throughput, /By the curve at most 250, knee at 6\.$/);
    assert.match(latency, /8 connections: p50 32\.0 ms/);
    assert.match(latency, /8 connections: p99 37\.2 ms/);
    const [objective] = matches(renderCapacityPage(found()), /role="img" aria-label="(.*?)"/g);
    assert.match(objective, /69\.1 ms at 211 requests per second, held/);
    assert.match(objective, /130 ms at 246 requests per second, did not hold/);
  });

  test('the tables contain every point, those of rates in their order', () => {
    const rows = (page) => matches(page, /<tr><th scope="row">([\d,]+)<(?:small|\/th)>/g);
    assert.deepEqual(rows(renderCapacityPage(plateau())), ['1', '2', '4', '8', '16', '32', '64']);
    assert.deepEqual(rows(renderCapacityPage(found())), [
      '123',
      '184',
      '201',
      '211',
      '246',
      '266',
      '276',
      '198',
    ]);
  });

  test('the page contains the command, the target and the time', () => {
    const page = renderCapacityPage(found());
    assert.match(page, /<th scope="row">command<\/th><td>node server\.js<\/td>/);
    assert.match(page, /<th scope="row">time<\/th><td>44 s of 1 min<\/td>/);
    assert.match(page, /the highest rate that holds p99&#60;100ms/);
  });

  test('text from outside stays text', () => assertStaysText(renderCapacityPage(hostile())));
});
