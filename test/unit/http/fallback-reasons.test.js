// The reasons of fallbacks are ids, each with a row of the reference and words in reports.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { labelFallback } from '#internal/report/compare/fallback-labels.js';

const read = (path) => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8');

/** The members of the union, a template's name as NAME. */
const reasons = [...read('src/http/state/fallback-reason.ts').matchAll(/\| ['`]([^'`]+)['`]/g)].map(
  ([, reason]) => reason.replace(/\$\{string\}/, 'NAME'),
);

test('each reason of a fallback is an id, and the reference lists it', () => {
  const page = read('docs/reference/stack.md').split('## Reasons of fallbacks')[1];
  const listed = [...page.matchAll(/^\| `([^`]+)` \|/gm)].map(([, reason]) => reason);
  assert.ok(reasons.length > 10);
  assert.deepEqual(listed, reasons);
  for (const reason of reasons) assert.match(reason, /^[a-z0-9]+(-[a-z0-9]+)*(:NAME)?$/);
});

test('reports have words for each reason', () => {
  for (const reason of reasons) assert.notEqual(labelFallback(reason), reason);
  assert.equal(labelFallback('tls-option:pfx'), 'the TLS option pfx');
  assert.equal(labelFallback('constructor'), 'constructor');
});
