// Calls of gRPC to a server of grpc-js.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { load } from 'millrace';
import protobuf from 'protobufjs';
import { PROTO, STREAMED, startGreeter } from '../../fixtures/grpc/greeter.js';

const CALLS = { connections: 2, pipelining: 3, requests: 30 };
const greet = { ...CALLS, grpc: 'demo.Greeter/Greet' };

/** Encodes a request as the option body has it. */
async function encode(message) {
  const root = await protobuf.load(PROTO);
  const type = root.lookupType('demo.GreetRequest');
  return type.encode(type.fromObject(message)).finish();
}

describe('gRPC', () => {
  test('a unary call is sent as bytes, with metadata', async (t) => {
    const { url, requests } = await startGreeter(t);
    const body = await encode({ name: 'Ada' });
    const result = await load({ ...greet, url, body, headers: { 'X-Tenant': 'one' } });
    assert.equal(result.requests.ok, 30);
    assert.deepEqual(result.statusCodes, { 0: 30 });
    assert.equal(result.messages, 30);
    assert.equal(result.plan.grpc, 'demo.Greeter/Greet');
    assert.deepEqual(result.plan.expect, ['OK']);
    assert.equal(requests.length, 30);
    assert.deepEqual(requests[0].message, { name: 'Ada' });
    assert.equal(requests[0].metadata['x-tenant'], 'one');
  });

  test('JSON becomes a message by a .proto file', async (t) => {
    const { url, requests } = await startGreeter(t);
    const message = {
      ...{ name: 'Ada', big_number: '9007199254740993', tones: ['LOUD', 0], tags: { a: 1 } },
      ...{ at: '2020-01-01T00:00:00.5Z', wait: '1.5s', nickname: 'A', key: 'AQI=' },
    };
    await load({ ...greet, url, proto: PROTO, body: JSON.stringify(message) });
    assert.deepEqual(requests[0].message, {
      ...{ name: 'Ada', bigNumber: '9007199254740993', tones: [1, 0], tags: { a: 1 } },
      at: { seconds: '1577836800', nanos: 500_000_000 },
      wait: { seconds: '1', nanos: 500_000_000 },
      nickname: { value: 'A' },
      key: Buffer.from([1, 2]),
    });
  });

  test('the messages of a stream of responses are counted', async (t) => {
    const { url } = await startGreeter(t);
    const result = await load({ ...CALLS, url, grpc: '/demo.Greeter/Stream' });
    assert.deepEqual([result.requests.ok, result.messages], [30, 30 * STREAMED]);
  });

  test('the status is that of the call', async (t) => {
    const { url } = await startGreeter(t);
    for (const [status, expect, ok] of [
      [5, undefined, 0],
      [5, 'NOT_FOUND', 30],
      [14, ['OK', '14'], 30],
      [16, 'ok,unavailable', 0],
    ]) {
      const body = JSON.stringify({ status });
      const result = await load({ ...greet, url, proto: PROTO, body, ...(expect && { expect }) });
      assert.deepEqual(result.statusCodes, { [status]: 30 });
      assert.deepEqual([result.requests.ok, result.requests.statusErrors], [ok, 30 - ok]);
      const kept = result.failingResponses.map(({ head }) => /grpc-status: (\d+)/.exec(head)?.[1]);
      assert.deepEqual(kept, ok === 0 ? [String(status)] : []);
    }
  });

  test('a method that is not there is UNIMPLEMENTED, and a deadline is one', async (t) => {
    const { url } = await startGreeter(t);
    const none = await load({ ...CALLS, url, grpc: 'demo.Greeter/Nothing' });
    assert.deepEqual(none.statusCodes, { 12: 30 });
    const headers = { 'grpc-timeout': '50m' };
    const slow = await load({ ...CALLS, requests: 6, url, grpc: 'demo.Greeter/Slow', headers });
    assert.deepEqual(slow.statusCodes, { 4: 6 });
  });

  test('what cannot be sent is refused in one line', async () => {
    const base = { url: 'http://127.0.0.1:1', requests: 1, grpc: 'demo.Greeter/Greet' };
    for (const [options, message] of [
      [{ grpc: 'Greet' }, /a method such as 'package.Service\/Method' \(got 'Greet'\)/],
      [{ url: 'http://127.0.0.1:1/x' }, /leave out '\/x'/],
      [{ method: 'GET' }, /method cannot be combined with grpc/],
      [
        { proto: PROTO, body: '{"nam":1}' },
        /GreetRequest has no field 'nam': its fields are name,/,
      ],
      [{ proto: PROTO, body: '{"tones":["X"]}' }, /must be one of PLAIN, LOUD \(got "X"\)/],
      [{ proto: PROTO, body: '{"status":"a"}' }, /GreetRequest.status must be of type int32/],
      [{ proto: PROTO, body: '[' }, /the body must be JSON/],
      [{ proto: PROTO, body: '{"name":"{{seq}}"}' }, /placeholders cannot be used/],
      [{ proto: PROTO, grpc: 'demo.Greeter/Upload' }, /is a stream of requests/],
      [
        { proto: PROTO, grpc: 'demo.Greeter/X' },
        /no method 'X': it has Greet, Stream, Upload, Slow/,
      ],
      [{ proto: PROTO, grpc: 'demo.X/Y' }, /no service 'demo.X': it has demo.Greeter/],
      [{ proto: '/nowhere.proto' }, /cannot read '\/nowhere.proto'/],
      [{ grpc: undefined, proto: PROTO }, /it needs grpc/],
      [{ expect: 'FINE' }, /must be statuses of gRPC/],
      [{ grpc: undefined, expect: 'OK' }, /expect must be statuses, classes or ranges/],
    ]) {
      await assert.rejects(load({ ...base, ...options }), { code: 'ERR_MILLRACE_USAGE', message });
    }
  });
});
