// Hooks that throw anything, or set variables to anything: the step fails, the run goes on.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HookDispatcher } from '#internal/load/engine/hooks.js';

/** Calls one hook and returns the result that goes to the engine. */
function call(hook, response) {
  /** @type {any} */
  const plan = {
    hooks: [hook],
    data: undefined,
    native: { timeoutMs: 20, flows: { variables: ['v'] } },
  };
  const dispatcher = new HookDispatcher(plan);
  let results;
  dispatcher.answerTo({ answerHooks: (answers) => (results = answers) });
  dispatcher.dispatch([{ worker: 0, user: 0, hook: 0, iteration: 0, variables: [], response }]);
  return results[0];
}

const set = (value) => call({ before: ({ variables }) => (variables.v = value) });
const thrown = (value) =>
  call({
    before() {
      throw value;
    },
  });

test('a value that has no JSON text fails the step', () => {
  const circle = {};
  circle.itself = circle;
  const fails = {
    toJSON() {
      throw new Error('no\ntext');
    },
  };
  for (const [value, text] of /** @type {[unknown, RegExp][]} */ ([
    [10n, /BigInt/],
    [circle, /circular/],
    [fails, /^variable v: Error: no text$/],
  ])) {
    const { error, variables } = set(value);
    assert.match(error, text);
    assert.deepEqual(variables, []);
  }
  assert.deepEqual(set(Number.NaN).variables, [{ variable: 0, json: 'null' }]);
});

test('whatever is thrown becomes one line', () => {
  const unreadable = Object.defineProperty(new Error('x'), 'message', {
    get() {
      throw new Error('y');
    },
  });
  assert.equal(thrown('plain').error, 'plain');
  assert.equal(thrown(undefined).error, 'thrown');
  assert.equal(thrown({ code: 7 }).error, '{ code: 7 }');
  assert.equal(thrown(Object.create(null)).error, '[Object: null prototype] {}');
  assert.equal(thrown(unreadable).error, 'a value that cannot be shown was thrown');
});

test('JSON with a byte order mark is read as fetch reads it', () => {
  const response = { status: 200, durationMs: 1, headers: [], body: Buffer.from('\ufeff{"a":1}') };
  const { error, variables } = call(
    { after: (answer, { variables }) => (variables.v = answer.json().a) },
    response,
  );
  assert.deepEqual([error, variables], [undefined, [{ variable: 0, json: '1' }]]);
});

test('a hook whose promise does not settle fails its step after the time limit, and is heard no more', async () => {
  let settle;
  /** @type {any} */
  const plan = {
    hooks: [{ before: () => new Promise((resolve) => (settle = resolve)) }],
    data: undefined,
    native: { timeoutMs: 20, flows: { variables: [] } },
  };
  const dispatcher = new HookDispatcher(plan);
  const answers = [];
  const answered = new Promise((resolve) => {
    dispatcher.answerTo({ answerHooks: (results) => resolve(answers.push(...results)) });
  });
  dispatcher.dispatch([{ worker: 0, user: 0, hook: 0, iteration: 0, variables: [] }]);
  await answered;
  assert.match(answers[0].error, /has not ended within 20 ms \(--timeout\)/);
  settle();
  await new Promise(setImmediate);
  assert.equal(answers.length, 1);
});
