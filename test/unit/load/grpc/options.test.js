// Calls of gRPC: what options say, and what is refused.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { buildPlan } from '#internal/load/plan/plan.js';
import { PROTO } from '../../../fixtures/grpc/greeter.js';

const url = 'http://127.0.0.1:50051';
const grpc = 'demo.Greeter/Greet';

async function refuses(cases) {
  for (const [options, message] of cases) {
    await assert.rejects(
      buildPlan({ url, grpc, ...options }),
      (/** @type {any} */ error) => {
        assert.equal(error.code, 'ERR_MILLRACE_USAGE', error.stack);
        assert.ok(!error.message.includes('\n'), error.message);
        assert.match(error.message, message);
        return true;
      },
      JSON.stringify(options),
    );
  }
}

describe('the call', () => {
  test('it is a POST with the framed message and the fields of gRPC', async () => {
    const { native, summary } = await buildPlan({ url, grpc, body: Uint8Array.of(8, 1) });
    const [{ method, target, body, headers }] = native.requests;
    assert.deepEqual([method, target], ['POST', `/${grpc}`]);
    assert.deepEqual([...body], [0, 0, 0, 0, 2, 8, 1]);
    const fields = headers.map(({ name, value }) => `${name}: ${value}`);
    assert.ok(fields.includes('Content-Type: application/grpc'), fields.join());
    assert.ok(fields.includes('TE: trailers'), fields.join());
    assert.deepEqual([native.grpc, native.expected], [true, [0]]);
    assert.equal(summary.grpc, grpc);
    assert.equal(summary.targets[0].url, `${url}/${grpc}`);
  });

  test('its servers speak HTTP/2, whatever the URL', async () => {
    const secure = 'https://127.0.0.1:50051';
    for (const options of [
      ...[{ url }, { url, h2c: true }, { url: secure }, { url: secure, http2: true }],
      ...[{ url: 'unix:/tmp/greeter.sock:/' }, { socketPath: '/tmp/greeter.sock' }],
      { url: [url, secure], window: '64kib' },
    ]) {
      const { native, summary } = await buildPlan({ grpc, ...options });
      const { http2, origins } = native;
      const speak = origins.map((origin) => origin.http2);
      const { url: where, window } = /** @type {any} */ ({
        url: '',
        window: undefined,
        ...options,
      });
      assert.ok(speak.length > 0 && speak.every(Boolean), String(where));
      assert.equal(summary.httpVersion, '2', String(where));
      assert.equal(http2?.window, window && 65_536);
    }
  });

  test('a name, a type of content and expectations of its own are kept', async () => {
    const { native, names } = await buildPlan({
      ...{ url, grpc, name: 'greet', expect: ['OK', 'deadlineExceeded', 'CANCELED', 14, '5xx'] },
      headers: { 'content-type': 'application/grpc+proto' },
    });
    assert.deepEqual(names, ['greet']);
    assert.deepEqual(native.expected.slice(0, 5), [0, 4, 1, 14, 500]);
    const types = native.requests[0].headers.filter((it) => /^content-type$/i.test(it.name));
    assert.deepEqual(types, [{ name: 'content-type', value: 'application/grpc+proto' }]);
  });

  test('what does not fit is refused in a line', async () => {
    await refuses([
      [
        { grpc: 'Greet' },
        /^grpc must be a method such as 'package\.Service\/Method' \(got 'Greet'\)$/,
      ],
      [{ url: `${url}/path` }, /leave out '\/path' in the URL/],
      [{ method: 'GET' }, /method cannot be combined with grpc/],
      [{ url: undefined, targets: [{ url }] }, /targets cannot be combined with grpc/],
      [{ follow: 1 }, /follow cannot be combined with grpc/],
      [{ preferHttp2: true }, /http2 in place of preferHttp2/],
      [{ http2: true }, /http2 needs an https:\/\/ URL/],
      [{ body: '{}' }, /JSON needs proto/],
      [{ body: Buffer.from('a{{seq}}') }, /cannot have placeholders.*--no-placeholders/],
      [{ grpc: undefined, proto: PROTO }, /it needs grpc/],
      [
        { grpc: undefined, expect: 'OK' },
        /^expect must be statuses, .* \(got 'OK'\): it is a status of gRPC, and no call/,
      ],
      [{ expect: 'NOTFOUNT' }, /^expect: gRPC has no status 'NOTFOUNT'; did you mean NOT_FOUND\?$/],
      [{ expect: 'FINE' }, /^expect: gRPC has no status 'FINE'; it has OK, CANCELLED, .*UNAUTH/],
      [{ expect: '17' }, /^expect must be statuses of gRPC, .* \(got '17'\)$/],
      [{ url: undefined }, /^url, targets, targetsFile or command is needed/],
    ]);
    const { native } = await buildPlan({
      ...{ url, grpc, body: Buffer.from('{{'), placeholders: false },
    });
    assert.equal(native.requests[0].body.subarray(5).toString(), '{{');
  });
});
