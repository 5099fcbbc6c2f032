// The line that a remedy names, where requests wait.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeWaitPlace } from '#internal/explain/conclusion/waits.js';

/** Waits of a kind, in a function each, for some time. */
function found(...some) {
  const paths = some.map(([kind, phase, name, ms]) => ({
    source: { kind, target: '', phase },
    ...{ waitsFor: kind, queue: null, route: 'GET /', ms },
    frames: [
      { name: 'handler', place: 'app.js:1', origin: 'application' },
      { name, place: 'store.js:12', origin: 'application' },
      { name: 'acquire', place: 'node_modules/x/index.js:3', origin: 'dependency' },
    ],
  }));
  return /** @type {any} */ ({ paths, cost: null });
}

test("the service's own innermost function is named where most of the limit's waits are", () => {
  const waits = found(['promise', '', 'takeLock', 60], ['http', 'answer', 'call', 40]);
  assert.equal(describeWaitPlace('serialized', waits), 'in takeLock (store.js:12)');
  assert.equal(describeWaitPlace('slow-dependency', waits), 'in call (store.js:12)');
  assert.equal(describeWaitPlace('event-loop-cpu', waits), null);
});

test('waiting for a connection is told from waiting for an answer', () => {
  const waits = found(['http', 'connection', 'lease', 70], ['http', 'answer', 'ask', 30]);
  assert.equal(describeWaitPlace('outbound-pool', waits), 'in lease (store.js:12)');
  assert.equal(describeWaitPlace('saturated-dependency', waits), 'in ask (store.js:12)');
});

test('a pool is told from a lock', () => {
  const waits = found(['promise', '', 'takeLock', 60], ['promise', '', 'lease', 40]);
  waits.paths[0].queue = { kind: 'lock', name: 'lock (async-mutex)' };
  waits.paths[1].queue = { kind: 'pool', name: 'pool of generic-pool' };
  assert.equal(describeWaitPlace('outbound-pool', waits), 'in lease (store.js:12)');
  assert.equal(describeWaitPlace('serialized', waits), 'in takeLock (store.js:12)');
});

test('a small part of the waits names no line', () => {
  const waits = found(['promise', '', 'takeLock', 10], ['timer', '', 'pause', 90]);
  assert.equal(describeWaitPlace('serialized', waits), null);
  assert.equal(describeWaitPlace('serialized', null), null);
});

test('a function without a name is told by its line', () => {
  assert.equal(
    describeWaitPlace('serialized', found(['promise', '', '(anonymous)', 1])),
    'at store.js:12',
  );
});
