// Stored results with damage of every kind: one line of usage, never the stack of an error.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as report from 'millrace/report';
import * as capacity from '../../fixtures/capacity/results.js';
import { nagle } from '../../fixtures/explain/explanations.js';
import { studied } from '../../fixtures/lab/results.js';
import { faster } from '../../fixtures/report/comparisons.js';
import { fixture } from '../../fixtures/report/results.js';

const FORMATS = [
  report.formatText,
  report.formatMarkdown,
  report.formatCsv,
  report.formatJunit,
  report.formatHgrm,
];

/** Formats a result in each way; gives the errors that are no lines of usage. */
function findFaults(result, { withPage = true } = {}) {
  const stored = JSON.parse(JSON.stringify(result));
  return [...FORMATS, ...(withPage ? [report.formatHtml] : [])].flatMap((format) => {
    try {
      format(stored);
      return [];
    } catch (error) {
      return error.code === 'ERR_MILLRACE_USAGE' ? [] : [error];
    }
  });
}

/** The paths of the fields of a value, two levels deep; of a list the first item stands for all. */
function listPaths(value, depth = 2) {
  if (typeof value !== 'object' || value === null || depth === 0) return [];
  const keys = Array.isArray(value) ? Object.keys(value).slice(0, 1) : Object.keys(value);
  return keys.flatMap((key) => [
    [key],
    ...listPaths(value[key], depth - 1).map((path) => [key, ...path]),
  ]);
}

function damage(result, path, value) {
  const copy = structuredClone(result);
  const owner = path.slice(0, -1).reduce((part, key) => part[key], copy);
  owner[path.at(-1)] = value;
  return copy;
}

const conditions = [{ condition: 'p99<5ms', value: 1, holds: true }];
for (const [kind, result] of Object.entries({
  load: { ...fixture('server'), conditions },
  compare: faster(),
  capacity: capacity.found(),
  explain: nagle(),
  lab: studied(),
})) {
  describe(`of ${kind}`, () => {
    test('a field that is missing or of another type', () => {
      const values = [undefined, null, 'x', 7, [], {}];
      for (const [index, path] of listPaths(result).entries()) {
        const damaged = damage(result, path, values[index % values.length]);
        // Pages take the most time.
        const [fault] = findFaults(damaged, { withPage: index % 5 === 0 });
        assert.equal(fault, undefined, `${path.join('.')} = ${values[index % values.length]}`);
      }
    });
  });
}

test('a histogram that is cut, changed, or no histogram', () => {
  const result = fixture('closed');
  const whole = Buffer.from(result.histograms.latency, 'base64');
  const changed = Array.from({ length: 24 }, (_, index) => {
    const bytes = Buffer.from(whole);
    bytes[(index * 7) % bytes.length] ^= 0xff;
    return bytes.toString('base64');
  });
  const cut = [0, 1, 7, 8, 9, 40].map((length) => whole.subarray(0, length).toString('base64'));
  for (const latency of [...changed, ...cut, 'ä', '%%%', 7, null]) {
    const histograms = { ...result.histograms, latency };
    const [fault] = findFaults({ ...result, histograms }, { withPage: false });
    assert.equal(fault, undefined, String(latency));
  }
});
