import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isOfName } from '../../../scripts/test-types.js';

const names = new Set(['LoadResult', 'CacheOptions']);
const missing = (type) => `Property 'a' does not exist on type '${type}'.`;

test('a field that a type of the source does not have is an error of a name', () => {
  assert.ok(isOfName({ code: '2339', text: missing('LoadResult') }, names));
  assert.ok(isOfName({ code: '2339', text: missing('typeof LoadResult') }, names));
  const text = "'duratoin' does not exist in type 'Partial<CacheOptions>'.";
  assert.ok(isOfName({ code: '2561', text }, names));
});

test('so is a module or an export that is not there, but for packages that are not installed', () => {
  for (const module of ['./a.js', '../a.js', '#internal/a.js', 'millrace/a']) {
    assert.ok(isOfName({ code: '2307', text: `Cannot find module '${module}'` }, names), module);
  }
  const text = `Module '"#internal/a.js"' has no exported member 'b'.`;
  assert.ok(isOfName({ code: '2305', text }, names));
  assert.ok(!isOfName({ code: '2307', text: "Cannot find module 'express'" }, names));
});

test('other types, unions and other errors are not', () => {
  for (const type of ['Socket', '{}', 'unknown', 'LoadResult | Error', 'Promise<LoadResult>']) {
    assert.ok(!isOfName({ code: '2339', text: missing(type) }, names), type);
  }
  assert.ok(!isOfName({ code: '2345', text: missing('LoadResult') }, names));
});
