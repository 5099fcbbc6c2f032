// Scenarios that are refused when they are built, in one line that says what is accepted.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load } from 'millrace';
import { header, json, pause, regex, request, scenario } from 'millrace/scenario';

const URL = 'http://127.0.0.1:9/';
const run = (options, module = {}) =>
  load({
    url: URL,
    scenario: { default: scenario('a', [request('r', 'POST /', options)]), ...module },
  });

test('options of what is saved', () => {
  assert.throws(() => json('/a', null), /json takes an object of options: optional \(got null\)/);
  assert.throws(
    // @ts-expect-error what is refused
    () => json('/a', { optionel: true }),
    /unknown option 'optionel'; known are optional/,
  );
  assert.throws(
    // @ts-expect-error what is refused
    () => header('a', { optional: 'yes' }),
    /optional must be true or false \(got 'yes'\)/,
  );
  // @ts-expect-error what is refused
  assert.throws(() => regex(/a/, { grup: 1 }), /unknown option 'grup'; known are optional, group/);
  assert.throws(() => regex(/a/, null), /regex takes an object of options/);
  assert.equal(regex(/(a)/, { group: 1, optional: true }).group, 1);
});

test('a regular expression that is too long, with its step', async () => {
  const long = new RegExp('x'.repeat(10_001));
  const line = /step 'r'.*a regular expression may have 10000 characters \(got 10001\)$/;
  await assert.rejects(run({ save: { a: regex(long) } }), line);
  await assert.rejects(run({ expect: { body: long } }), line);
});

test('a field of a form that is neither text nor a number', async () => {
  await assert.rejects(
    run({ form: { a: { b: 1 } } }),
    /step 'r': form field 'a' must be text, a number, true or false \(got \{ b: 1 \}\)$/,
  );
});

test('a list of scenarios with something else in it', async () => {
  await assert.rejects(
    run({}, { default: [scenario('a', [request('r', 'GET /')]), 7] }),
    /a scenario is what scenario\(\) of millrace\/scenario returns \(got 7\)$/,
  );
});

test('env without a command is for a scenario alone', async () => {
  const env = { KIND: 'a' };
  await assert.rejects(load({ url: URL, env }), /env needs a command/);
  await assert.rejects(
    load({ url: URL, env, scenario: scenario('a', [request('r', 'GET /')]) }),
    /cannot connect to 127\.0\.0\.1:9/,
  );
});

test('what a CommonJS module exports is read', async () => {
  const list = [scenario('a', [request('r', 'GET /')]), 7];
  await assert.rejects(
    // @ts-expect-error what is refused
    load({ url: URL, scenario: { default: { default: list } } }),
    /a scenario is what scenario\(\) of millrace\/scenario returns \(got 7\)$/,
  );
});

test('what other tools mean otherwise', async () => {
  // @ts-expect-error what is refused
  assert.throws(() => pause(1), /pause takes a time with its unit, such as '1s'.*\(got 1\)$/);
  assert.throws(() => request('r', 'PSOT /'), /'PSOT' is no method; did you mean POST\?$/);
  assert.equal(request('r', 'FROBNICATE /').method, 'FROBNICATE');
  const steps = (headers) =>
    load({
      url: URL,
      scenario: scenario('a', [
        request('in', 'POST /', { save: { token: json('/token') } }),
        request('r', 'GET /', { headers }),
      ]),
    });
  // biome-ignore lint/suspicious/noTemplateCurlyInString: it is what is refused.
  const written = steps({ authorization: 'Bearer ${token}' });
  await assert.rejects(written, /\$\{token\} is sent as it is; the variable is \{\{token\}\}$/);
  await assert.rejects(steps({ a: 'b {{token }' }), /'\{\{token \}' has no \}\} at its end$/);
});

test('stages of users beside a rate', async () => {
  const stages = { connectionStages: [{ duration: '1s', connections: 5 }] };
  const options = { url: URL, scenario: scenario('a', [request('r', 'GET /')]), ...stages };
  await assert.rejects(
    load({ ...options, rate: 5 }),
    /stages of users cannot be combined with a rate/,
  );
  const shared = load({ ...options, users: 3, connections: 2 });
  await assert.rejects(shared, /stages of users need connections of their own/);
});
