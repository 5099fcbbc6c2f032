// The reasons for which requests leave the fast path: those of the addon are those of the types, with a row each in the
// reference.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

const read = (path) => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8');
const find = (text, pattern) => [...text.matchAll(pattern)].map(([, id]) => id);

const typed = find(read('src/http/server/unusual-reason.ts'), /^ {2}\| '(.+?)'/gm);

test('the types have each reason that the addon counts', () => {
  const counted = [
    ...find(read('crates/http/src/h1/unsure_reason.rs'), /^ {4}\w+ = "(.+)",$/gm),
    ...find(read('crates/stack/src/unusual.rs'), /\("([a-z-]+)", self\./g),
  ];
  assert.ok(counted.length > 20);
  assert.deepEqual(typed.toSorted(), counted.toSorted());
});

test('each reason is an id, and the reference lists it', () => {
  const [, page] = read('docs/reference/stack.md').split('## Unusual requests');
  const listed = find(page.split('\n## ')[0], /^\| `([^`]+)` \|/gm);
  assert.deepEqual(listed, typed);
  for (const reason of typed) assert.match(reason, /^[a-z]+(-[a-z]+)*$/);
});
