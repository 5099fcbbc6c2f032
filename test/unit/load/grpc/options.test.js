// Calls of gRPC: what options say, and what is refused.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { buildPlan } from '#internal/load/plan/plan.js';
import { PROTO } from '../../../fixtures/grpc/greeter.js';

const url = 'http://127.0.0.1:50051';
const grpc = 'demo.Greeter/Greet';

let folder;
before(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-'));
});
after(() => rmSync(folder, { recursive: true }));

/** Writes files into a folder of its own; gives the path of the first. */
function writeFiles(name, files) {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(folder, name, path, '..'), { recursive: true });
    writeFileSync(join(folder, name, path), text);
  }
  return join(folder, name, Object.keys(files)[0]);
}

async function refuses(cases) {
  for (const [options, message] of cases) {
    await assert.rejects(
      buildPlan({ url, grpc, ...options }),
      (error) => {
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
    assert.ok(fields.includes('content-type: application/grpc'), fields.join());
    assert.ok(fields.includes('te: trailers'), fields.join());
    assert.deepEqual([native.grpc, native.expected], [true, [0]]);
    assert.equal(summary.grpc, grpc);
    assert.equal(summary.targets[0].url, `${url}/${grpc}`);
  });

  test('HTTP/2 follows from the URL, also where the scheme of a command is not known', async () => {
    for (const [options, http2] of [
      [{ url }, { tls: 'http1', cleartext: true }],
      [
        { url, h2c: true },
        { tls: 'http1', cleartext: true },
      ],
      [{ url: 'https://127.0.0.1:50051' }, { tls: 'http2', cleartext: false }],
      [{ url: 'unix:/tmp/greeter.sock:/' }, { tls: 'http1', cleartext: true }],
      [
        { url: [url, 'https://127.0.0.1:1'], window: '64kib' },
        { tls: 'http2', cleartext: true, window: 65_536 },
      ],
    ]) {
      const { native, summary } = await buildPlan({ grpc, ...options });
      assert.deepEqual([native.http2, summary.httpVersion], [http2, '2'], String(options.url));
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
      [{ grpc: 'demo.Greeter.Greet' }, /did you mean demo\.Greeter\/Greet\?$/],
      [{ url: `${url}/path` }, /leave out '\/path' in the URL/],
      [{ method: 'GET' }, /method cannot be combined with grpc/],
      [{ url: undefined, targets: [{ url }] }, /targets cannot be combined with grpc/],
      [{ follow: 1 }, /follow cannot be combined with grpc/],
      [{ preferHttp2: true }, /http2 in place of preferHttp2/],
      [{ http2: true }, /http2 needs an https:\/\/ URL/],
      [{ body: '{}' }, /JSON needs proto/],
      [{ body: Buffer.from('a{{seq}}') }, /cannot have placeholders.*--no-placeholders/],
      [{ grpc: undefined, proto: PROTO }, /it needs grpc/],
      [{ grpc: undefined, expect: 'OK' }, /^expect must be statuses, classes or ranges/],
      [{ expect: 'NOTFOUNT' }, /^expect: gRPC has no status 'NOTFOUNT'; did you mean NOT_FOUND\?$/],
      [{ expect: 'FINE' }, /^expect: gRPC has no status 'FINE'; it has OK, CANCELLED, .*UNAUTH/],
      [{ expect: '17' }, /^expect must be statuses of gRPC, .* \(got '17'\)$/],
    ]);
    const { native } = await buildPlan({
      ...{ url, grpc, body: Buffer.from('{{'), placeholders: false },
    });
    assert.equal(native.requests[0].body.subarray(5).toString(), '{{');
  });
});

describe('JSON bodies', () => {
  test('what the file does not have is refused in a line that lists what it has', async () => {
    await refuses([
      [{ proto: 'none.proto' }, /^proto 'none\.proto' cannot be read: .*no such file/],
      [{ proto: PROTO, grpc: 'a.B/C' }, /no service 'a\.B': it has demo\.Greeter$/],
      [
        { proto: PROTO, grpc: 'demo.Greeter/Meet' },
        /demo\.Greeter has no method 'Meet': it has demo\.Greeter\/Greet, /,
      ],
      [{ proto: PROTO, grpc: 'demo.Greeter/Upload' }, /takes a stream of messages/],
      [{ proto: PROTO, body: '{"name": "{{seq}}"}' }, /cannot have placeholders/],
    ]);
    const broken = writeFiles('broken', { 'a.proto': 'syntax = "proto3"; message {' });
    const lost = writeFiles('lost', { 'a.proto': 'syntax = "proto3"; import "b.proto";' });
    const untyped = writeFiles('untyped', {
      'a.proto': 'syntax = "proto3"; service A { rpc B (C) returns (C); }',
    });
    await refuses([
      [{ proto: broken }, /^proto '.*a\.proto' cannot be read: illegal type name '\{' \(/],
      [{ proto: lost }, /^proto '.*a\.proto' cannot be read: .*b\.proto: no such file/],
      [{ proto: untyped, grpc: 'A/B' }, /^proto '.*a\.proto' cannot be read: no such type: C/i],
    ]);
  });

  test('JSON that does not fit the message is refused with its place', async () => {
    const cases = /** @type {[string, RegExp][]} */ ([
      ['{', /^body must be JSON, as proto is given: /],
      ['[]', /^body must be an object of GreetRequest \(got \[\]\)/],
      [
        '{"big_numbr": 1}',
        /^body: GreetRequest has no field 'big_numbr'; did you mean big_number\?/,
      ],
      ['{"xyz": 1}', /^body: GreetRequest has no field 'xyz'; it has name, /],
      ['{"name": 1}', /^body: name must be text \(got 1\)/],
      ['{"status": 1.5}', /^body: status must be a whole number of int32/],
      ['{"status": 2147483648}', /^body: status must be a whole number of int32/],
      ['{"total": -1}', /^body: total must be a whole number of uint64/],
      ['{"tones": "LOUD"}', /^body: tones must be a list/],
      ['{"tones": [0, "HIGH"]}', /^body: tones\[1\] must be one of Tone: PLAIN, LOUD/],
      ['{"tags": 1}', /^body: tags must be an object/],
      ['{"places": {"home": {"stret": "a"}}}', /^body: places\.home: Place has no field/],
      ['{"key": "?"}', /^body: key must be bytes in base64/],
      ['{"ratio": "high"}', /^body: ratio must be a number/],
      ['{"is_known": 1}', /^body: is_known must be true or false/],
    ]);
    await refuses(cases.map(([body, message]) => [{ proto: PROTO, body }, message]));
  });

  test('imports are found in the folder of the file, in those above, and in the package', async () => {
    const call = `syntax = "proto3"; package p;
      import "shared/name.proto"; import "google/protobuf/timestamp.proto";
      message Asked { Name name = 1; google.protobuf.Timestamp at = 2; }
      service S { rpc M (Asked) returns (Asked); }`;
    const proto = writeFiles('imports', {
      'deep/er/call.proto': call,
      'shared/name.proto': 'syntax = "proto3"; package p; message Name { string text = 1; }',
    });
    const body = '{"name": {"text": "a"}, "at": {"seconds": 1}}';
    const { native } = await buildPlan({ url, grpc: 'p.S/M', proto, body });
    assert.deepEqual([...native.requests[0].body.subarray(5)], [10, 3, 10, 1, 97, 18, 2, 8, 1]);
  });
});
