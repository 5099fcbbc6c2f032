// An experiment that changes a header keeps those of the load, in whatever form they were given.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EXPERIMENTS } from '#internal/explain/experiments/definitions.js';

const fields = { authorization: 'Bearer x', 'accept-encoding': 'br', cookie: ['a=1', 'b=2'] };
const pairs = [
  ['authorization', 'Bearer x'],
  ['Accept-Encoding', 'br'],
  ['cookie', 'a=1'],
  ['cookie', 'b=2'],
];

test('the experiment with identity encoding keeps the other headers', () => {
  const { change } = EXPERIMENTS.find(({ name }) => name === 'identity-encoding');
  for (const headers of [fields, pairs, new Headers(pairs), new Map(pairs), undefined]) {
    const kept = headers === undefined ? [] : [...new Headers(pairs)];
    const expected = new Headers(kept);
    expected.set('accept-encoding', 'identity');
    const { load } = change(null, { headers });
    const sent = new Headers(load.headers);
    if (headers instanceof Map) expected.set('cookie', 'b=2');
    assert.deepEqual([...sent], [...expected]);
  }
});
