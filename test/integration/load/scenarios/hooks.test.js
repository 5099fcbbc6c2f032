// Hooks: JavaScript before a request and after its response, at once or by promises; what it throws; metrics of one's own.
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { describe, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { load } from 'millrace';
import { json, request, scenario } from 'millrace/scenario';
import { scenarioServer } from '../../../fixtures/scenario/server.js';

const run = (url, steps, options = {}) =>
  load({ url, scenario: scenario('one', steps), requests: 20, users: 4, seed: 1, ...options });

const sign = (text) => createHmac('sha256', 'key').update(text).digest('hex');

describe('hooks', { timeout: 30_000 }, () => {
  for (const isLate of [false, true]) {
    const kind = isLate ? 'by a promise' : 'at once';
    test(`set variables before a request and after its response, ${kind}`, async (t) => {
      const server = await scenarioServer(t, ({ number }) => ({
        ...{
          headers: { 'X-Number': `${number}`, 'set-cookie': ['a=1', 'b=2'] },
          body: { id: number, list: [1] },
        },
      }));
      const iterations = new Set();
      const wrong = [];
      const result = await run(server.url, [
        request('get', 'GET /get', { save: { id: json('/id'), list: json('/list') } }),
        request('sign', 'POST /sign/{{id}}?s={{signature}}', {
          json: { list: '{{list}}', made: '{{made}}' },
          before(context) {
            const { variables, iteration } = context;
            iterations.add(iteration);
            const set = () => {
              variables.signature = sign(`${variables.id}`);
              if (Array.isArray(variables.list)) variables.list.push('é');
              variables.made = { at: [iteration] };
            };
            return isLate ? setImmediate().then(set) : set();
          },
          after(response, { variables }) {
            const { id } = Object(response.json());
            if (response.headers['x-number'] !== `${id}`) wrong.push(response.headers);
            if (response.status !== 200 || !(response.durationMs > 0)) wrong.push(response);
            if (response.text() !== response.body.toString()) wrong.push(response.text());
            if (response.headers['set-cookie'] !== 'a=1\nb=2') wrong.push(response.headers);
            variables.second = id;
          },
        }),
        request('use', 'GET /use/{{id}}/{{second}}'),
      ]);
      assert.deepEqual(wrong, []);
      assert.equal(result.iterations.completed, 20);
      assert.equal(result.hooks.calls, 40);
      assert.equal(iterations.size, 20);
      const ids = [];
      for (const { url, body } of server.requests) {
        const [, name, id, second] = new URL(url, server.url).pathname.split('/');
        if (name === 'get') continue;
        ids.push(Number(id));
        if (name === 'use') {
          // The number of the iteration's own signed request.
          assert.equal(server.requests[second].url.split(/[/?]/)[2], id);
          continue;
        }
        assert.ok(url.endsWith(`?s=${sign(id)}`), url);
        const { list, made } = JSON.parse(body);
        assert.deepEqual(list, [1, 'é']);
        assert.ok(iterations.has(made.at[0]));
      }
      assert.equal(ids.length, 40);
      assert.equal(new Set(ids).size, 20);
    });
  }

  test('that throw or reject fail their step, with the message', async (t) => {
    const server = await scenarioServer(t);
    const failing = {
      throws: () => {
        throw new TypeError('no\n  key');
      },
      rejects: () => Promise.reject(new Error('later')),
      text: () => {
        throw 'only text';
      },
      nothing: () => Promise.reject(undefined),
      json: (response) => response.json?.() ?? JSON.parse(''),
    };
    const messages = {
      ...{ throws: /^TypeError: no key$/, rejects: /^Error: later$/, text: /^only text$/ },
      ...{ nothing: /^rejected$/, json: /^SyntaxError: / },
    };
    for (const hook of ['before', 'after']) {
      const steps = Object.entries(failing).map(([name, call]) =>
        request(name, `GET /${hook}/${name}`, { onError: 'continue', [hook]: call }),
      );
      const result = await run(server.url, steps, { requests: 3, users: 1 });
      for (const { name, failures } of result.steps) {
        assert.deepEqual(
          failures.map(({ reason, count }) => [reason, count]),
          [['hook', 3]],
          name,
        );
        assert.match(failures[0].example, messages[name], name);
      }
      assert.equal(result.iterations.failed, 3);
      // What fails before a request is not sent.
      const arrived = server.requests.filter(({ url }) => url.startsWith(`/${hook}/`)).length;
      assert.equal(arrived, hook === 'before' ? 0 : 3 * steps.length);
    }
  });

  for (const kind of ['at once', 'by a promise']) {
    test(`that set what is no value of JSON fail their step, ${kind}`, async (t) => {
      const server = await scenarioServer(t);
      const set = (name, value) => {
        const before = ({ variables }) => {
          variables[name] = value;
        };
        return kind === 'at once' ? before : async (context) => before(context);
      };
      const circular = [];
      circular.push(circular);
      const result = await run(
        server.url,
        [
          request('big', 'GET /{{big}}', { onError: 'continue', before: set('big', 1n) }),
          request('circle', 'GET /{{circle}}', {
            onError: 'continue',
            before: set('circle', circular),
          }),
          request('function', 'GET /{{f}}', { onError: 'continue', before: set('f', () => {}) }),
          request('fine', 'GET /{{fine}}', { before: set('fine', { a: 1 }) }),
        ],
        { requests: 2, users: 1 },
      );
      const examples = result.steps.map(({ failures }) =>
        failures.map((it) => `${it.reason}: ${it.example}`).join(),
      );
      assert.match(examples[0], /^hook: variable big: TypeError: .*BigInt/);
      assert.match(examples[1], /^hook: variable circle: TypeError: .*circular/);
      assert.equal(examples[2], 'variable: the variable f has no value');
      assert.deepEqual(
        server.requests.map(({ url }) => url),
        Array(2).fill('/%7B%22a%22%3A1%7D'),
      );
    });
  }

  test('that never end leave their iteration in progress', async (t) => {
    const server = await scenarioServer(t);
    const result = await run(
      server.url,
      [
        request('waits', 'GET /', {
          before: ({ iteration }) => iteration === 1 && new Promise(() => {}),
        }),
        request('b', 'GET /b'),
      ],
      { requests: undefined, duration: '300ms', users: 2 },
    );
    const { started, completed, failed, inProgress } = result.iterations;
    assert.equal(started, completed + failed + inProgress);
    assert.ok(completed > 0 && failed === 0 && inProgress >= 1 && inProgress <= 2);
    // One in flight at the end may not have been read by the server.
    const { sent, inFlightAtEnd } = result.requests;
    const arrived = server.requests.length;
    assert.ok(arrived <= sent && arrived >= sent - inFlightAtEnd, `${arrived} of ${sent}`);
  });

  test('that throw once end that iteration alone', async (t) => {
    const server = await scenarioServer(t);
    const result = await run(server.url, [
      request('odd', 'GET /odd', {
        before: ({ iteration }) => {
          if (iteration % 2 === 1) throw new Error('odd');
        },
      }),
      request('then', 'GET /then'),
    ]);
    const { started, completed, failed } = result.iterations;
    assert.deepEqual([started, completed, failed], [20, 10, 10]);
    assert.equal(server.requests.length, 20);
  });

  test('add to metrics of their own', async (t) => {
    const server = await scenarioServer(t, ({ number }) => ({ body: { number } }));
    const result = await run(server.url, [
      request('any', 'GET /', {
        after: (response, { metrics }) => {
          metrics.add('number', Object(response.json()).number);
          metrics.add('count');
        },
      }),
      request('bad', 'GET /bad', {
        onError: 'continue',
        after: (_, { metrics }) => metrics.add('number', /** @type {any} */ ('x')),
      }),
      request('name', 'GET /name', {
        onError: 'continue',
        after: (_, { metrics }) => metrics.add(''),
      }),
    ]);
    const numbers = server.requests.flatMap(({ url, number }) => (url === '/' ? [number] : []));
    const { number, count } = result.metrics;
    const sum = numbers.reduce((total, it) => total + it, 0);
    assert.deepEqual([count.count, count.sum, count.stdev], [20, 20, 0]);
    assert.deepEqual(
      [number.count, number.sum, number.min, number.max],
      [20, sum, Math.min(...numbers), Math.max(...numbers)],
    );
    const [, bad, name] = result.steps;
    assert.match(bad.failures[0].example, /metrics\.add\('number'\) takes a number \(got 'x'\)/);
    assert.match(name.failures[0].example, /metrics\.add takes a name and a number/);
  });

  test('know what setup() returned, also what is no value of JSON', async (t) => {
    const server = await scenarioServer(t);
    const data = { token: 't', count: 1n, self: null, key: Symbol('k') };
    data.self = data;
    const seen = new Set();
    const module = {
      default: scenario('one', [
        request('any', 'GET /{{token}}', { before: (context) => seen.add(context.data) }),
      ]),
      setup: () => data,
    };
    const result = await load({ url: server.url, scenario: module, requests: 3, users: 1 });
    assert.deepEqual([...seen], [data]);
    assert.equal(result.iterations.completed, 3);
    assert.deepEqual([...new Set(server.requests.map(({ url }) => url))], ['/t']);
  });
});
