// Each kind of check, seen passing and failing; what a failed step does; codings of bodies.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as zlib from 'node:zlib';
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { load } from 'millrace';
import { absent, exists, json, pause, regex, request, scenario } from 'millrace/scenario';
import { scenarioServer } from '../../../fixtures/scenario/server.js';

/** Absent from Node 20. */
const zstd = /** @type {any} */ (zlib).zstdCompressSync;

const CONTENT = { state: 'paid', total: 12.5, list: [1, { a: null }], text: 'é "x"', '': 'empty' };
const BODY = JSON.stringify(CONTENT);

/** Runs each of the steps a few times, and gives the step's result by its name. */
async function run(url, steps, options = {}) {
  const result = await load({
    ...{ url, scenario: scenario('one', steps), requests: 3, users: 1, seed: 1, ...options },
  });
  return { result, byName: Object.fromEntries(result.steps.map((step) => [step.name, step])) };
}

/** By name: expectations that hold, such that do not, and what the latter say. */
const CHECKS = {
  'status one': [{ status: 201 }, { status: 200 }, /^status 201 in: \{"state":"paid"/],
  'status class': [{ status: '2xx' }, { status: '3xx' }, /^status 201/],
  'status list': [{ status: ['404', 200, '201-204'] }, { status: [200, '202-299'] }, /^status 201/],
  'header text': [
    { headers: { 'X-Kind': 'order' } },
    { headers: { 'x-kind': 'Order' } },
    /^'order'$/,
  ],
  'header pattern': [
    { headers: { 'x-kind': /^or/ } },
    { headers: { 'x-kind': /^r/ } },
    /^'order'$/,
  ],
  'header exists': [
    { headers: { 'x-kind': exists } },
    { headers: { 'x-none': exists } },
    /^no header x-none$/,
  ],
  'header absent': [
    { headers: { 'x-none': absent } },
    { headers: { 'x-kind': absent } },
    /^there is 'order'$/,
  ],
  'json text': [{ json: { '/state': 'paid' } }, { json: { '/state': 'open' } }, /^'paid'$/],
  'json number': [{ json: { '/total': 12.5 } }, { json: { '/total': '12.5' } }, /^'12\.5'$/],
  'json list': [
    { json: { '/list': [1, { a: null }] } },
    { json: { '/list': [1] } },
    /^'\[1,\{"a":null\}\]'$/,
  ],
  'json null': [{ json: { '/list/1/a': null } }, { json: { '/list/0': null } }, /^'1'$/],
  'json whole': [{ json: { '': CONTENT } }, { json: { '': {} } }, /^'\{"state"/],
  'json pattern': [{ json: { '/state': /^pa.d$/ } }, { json: { '/state': /^p$/ } }, /^'paid'$/],
  'json exists': [
    { json: { '/list/1/a': exists } },
    { json: { '/list/2': exists } },
    /^nothing at '\/list\/2' in: \{/,
  ],
  'json absent': [
    { json: { '/none': absent } },
    { json: { '/state': absent } },
    /^there is 'paid'$/,
  ],
  'json two': [
    { json: { '/state': 'paid', '/total': 12.5 } },
    { json: { '/state': 'paid', '/total': 1 } },
    /^'12\.5'$/,
  ],
  'body text': [{ body: '"paid"' }, { body: 'Paid' }, /^'\{"state"/],
  'body pattern': [{ body: /"total":\s*\d+/ }, { body: /^\s*total/ }, /^'\{"state"/],
  'body list': [{ body: ['paid', /12\.5/] }, { body: ['paid', /13/] }, /^'\{"state"/],
  within: [{ within: '10s' }, { within: 0.001 }, /^it took \d+\.\d ms$/],
  'size exact': [
    { size: Buffer.byteLength(BODY) },
    { size: 1 },
    new RegExp(`^${Buffer.byteLength(BODY)} bytes$`),
  ],
  'size range': [{ size: '1-1kb' }, { size: '1kb-1mb' }, /^\d+ bytes$/],
};

const answer = () => ({ status: 201, headers: { 'x-kind': 'order' }, body: BODY });

describe('checks', { timeout: 30_000 }, () => {
  test('of each kind pass and fail', async (t) => {
    const server = await scenarioServer(t, answer);
    const steps = Object.entries(CHECKS).flatMap(([name, [holds, fails]]) => [
      request(`${name} +`, 'GET /', { expect: holds, onError: 'continue' }),
      request(`${name} -`, 'GET /', { expect: fails, onError: 'continue' }),
    ]);
    const { result, byName } = await run(server.url, steps);
    for (const [name, [, , found]] of Object.entries(CHECKS)) {
      const [passing, failing] = [byName[`${name} +`], byName[`${name} -`]];
      assert.ok(
        passing.checks.every(
          (check) => check.passed === 3 && check.failed === 0 && check.example === null,
        ),
        `${name}: ${JSON.stringify(passing)}`,
      );
      assert.deepEqual(passing.failures, [], name);
      const last = failing.checks.at(-1);
      assert.deepEqual([last.passed, last.failed], [0, 3], name);
      assert.match(last.example, found, name);
      const [{ reason, count, example }] = failing.failures;
      assert.deepEqual([failing.failures.length, reason, count], [1, 'check', 3], name);
      assert.equal(example, last.example, name);
    }
    // Each request was sent, and each iteration counts as failed.
    assert.equal(server.requests.length, 3 * steps.length);
    assert.deepEqual(result.iterations.failed, 3);
    assert.equal(result.checks.failed, 3 * Object.keys(CHECKS).length);
  });

  test('compare with saved values', async (t) => {
    const server = await scenarioServer(t, answer);
    const { byName } = await run(server.url, [
      request('save', 'GET /', { save: { total: json('/total'), state: json('/state') } }),
      request('same', 'GET /', {
        expect: { json: { '/total': '{{total}}', '/state': '{{state}}' }, body: '"{{state}}"' },
        onError: 'continue',
      }),
      request('other', 'GET /', {
        expect: { json: { '/state': '{{total}}' } },
        onError: 'continue',
      }),
    ]);
    assert.deepEqual(byName.same.failures, []);
    assert.equal(byName.other.checks[0].failed, 3);
  });

  test('that need a body fail where there is none that can be looked at', async (t) => {
    const bodies = {
      '/long': `"${'x'.repeat(5000)}"`,
      '/text': 'no json',
      '/gzip': 'not gzip',
      '/empty': '',
    };
    const server = await scenarioServer(t, ({ url }) => ({
      ...{ body: bodies[url], headers: url === '/gzip' ? { 'content-encoding': 'gzip' } : {} },
    }));
    const names = Object.keys(bodies);
    const tests = { exists: { '/a': exists }, equals: { '/a': 1 }, pattern: { '/a': /1/ } };
    const steps = names.flatMap((name) =>
      Object.entries(tests).map(([kind, expected]) =>
        request(`${name} ${kind}`, `GET ${name}`, {
          expect: { json: expected },
          onError: 'continue',
        }),
      ),
    );
    const { byName } = await run(server.url, steps, { maxBody: 4096 });
    const reasons = {
      ...{ '/long': /longer than 4096 bytes/, '/text': /^no JSON in: no json$/ },
      ...{ '/gzip': /cannot be decoded from gzip/, '/empty': /^no JSON$/ },
    };
    for (const [name, { checks }] of Object.entries(byName)) {
      assert.equal(checks[0].failed, 3, name);
      assert.match(checks[0].example, reasons[name.split(' ')[0]], name);
    }
  });

  test('and saves see bodies without their codings', async (t) => {
    const codings = {
      ...{
        identity: (it) => it,
        gzip: gzipSync,
        'x-gzip': gzipSync,
        br: brotliCompressSync,
        deflate: deflateSync,
      },
      'deflate raw': deflateRawSync,
      'gzip, br': (it) => brotliCompressSync(gzipSync(it)),
      ...(zstd && { zstd }),
    };
    // As Node 20 has none: a frame with one raw block (RFC 8878, 3.1.1).
    codings['zstd frame'] = (bytes) =>
      Buffer.concat([
        Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x20, bytes.length]),
        Buffer.from([(bytes.length << 3) | 1, bytes.length >> 5, 0]),
        bytes,
      ]);
    const names = Object.keys(codings);
    const server = await scenarioServer(t, ({ url }) => {
      const name = names[Number(url.slice(1))];
      return {
        headers: { 'content-encoding': name.replace(/ (?:raw|frame)$/, '') },
        body: codings[name](Buffer.from(BODY)),
      };
    });
    const steps = names.map((name, index) =>
      request(name, `GET /${index}`, {
        ...{ onError: 'continue', headers: { 'accept-encoding': 'gzip, br, zstd, deflate' } },
        expect: { json: { '': CONTENT }, body: /"total":12.5/, size: BODY.length + 1 },
        save: { state: regex(/"state":"(\w+)"/) },
      }),
    );
    const { byName } = await run(server.url, steps);
    for (const name of names) {
      assert.deepEqual(byName[name].failures, [], name);
      assert.equal(byName[name].saves[0].found, 3, name);
    }
  });
});

describe('a failed step', { timeout: 30_000 }, () => {
  test('ends the iteration, unless it says that it goes on', async (t) => {
    const server = await scenarioServer(t, ({ url }) => ({
      status: url.startsWith('/bad') ? 500 : 200,
      body: 'oh no',
    }));
    const { result, byName } = await run(server.url, [
      request('first', 'GET /bad/1', { onError: 'continue' }),
      request('second', 'GET /ok'),
      pause('1ms'),
      request('third', 'GET /bad/2'),
      request('never', 'GET /never'),
    ]);
    assert.deepEqual(
      server.requests.map(({ url }) => url),
      Array(3).fill(['/bad/1', '/ok', '/bad/2']).flat(),
    );
    for (const name of ['first', 'third']) {
      assert.deepEqual(byName[name].failures, [
        { reason: 'status', count: 3, example: 'status 500 in: oh no' },
      ]);
    }
    const { started, completed, failed, inProgress } = result.iterations;
    assert.deepEqual([started, completed, failed, inProgress], [3, 0, 3, 0]);
  });

  test('is also one without a response', async (t) => {
    const server = await scenarioServer(t, ({ url }) => ({
      headers: url === '/close' ? { 'content-length': 5 } : {},
    }));
    const { result, byName } = await run(
      server.url,
      [request('close', 'GET /close'), request('never', 'GET /never')],
      { timeout: '300ms' },
    );
    assert.deepEqual(
      byName.close.failures.map(({ reason, count }) => [reason, count]),
      [['transport', 3]],
    );
    assert.deepEqual([result.iterations.failed, byName.never.failures], [3, []]);
  });
});
