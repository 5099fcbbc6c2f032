// Steps that call gRPC, beside requests of HTTP/2 to such a server.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { createServer as createTcpServer } from 'node:net';
import { describe, test } from 'node:test';
import { dryRun, load } from 'millrace';
import { exists, grpc, header, json, request, scenario } from 'millrace/scenario';
import { encodeGreet, PROTO, startGreeter } from '../../fixtures/grpc/greeter.js';

const GREET = 'demo.Greeter/Greet';

async function run(server, steps, options = {}) {
  const users = { users: 1, requests: 3, seed: 1 };
  const one = scenario('one', steps);
  const result = await load({ url: server.url, scenario: one, ...users, ...options });
  return { result, byName: Object.fromEntries(result.steps.map((step) => [step.name, step])) };
}

describe('steps that call gRPC', { timeout: 30_000 }, () => {
  test('a message is an object with the file, or bytes; HTTP/2 is spoken without an option', async (t) => {
    const server = await startGreeter(t);
    const { result } = await run(server, [
      grpc('by object', GREET, { proto: PROTO, message: { name: 'Ada' } }),
      grpc('by bytes', GREET, {
        message: await encodeGreet({ name: 'Bob' }),
        headers: { 'x-step': '{{seq}}' },
        save: { status: header('grpc-status') },
      }),
      grpc('empty', `/${GREET}`, { headers: { 'x-status': '{{status}}' } }),
    ]);
    assert.deepEqual(result.statusCodes, { 0: 9 });
    assert.equal(result.messages, 9);
    assert.equal(result.iterations.completed, 3);
    assert.equal(result.plan.httpVersion, '2');
    assert.deepEqual(
      server.requests.slice(0, 3).map(({ message }) => message.name),
      ['Ada', 'Bob', undefined],
    );
    assert.equal(server.requests[2].metadata['x-status'], '0');
  });

  test('another status than OK fails a step, unless it is expected; trailers are fields', async (t) => {
    const server = await startGreeter(t);
    const message = await encodeGreet({ name: 'late', status: 5 });
    const { result, byName } = await run(server, [
      grpc('expected', GREET, {
        message,
        expect: { status: 'NOT_FOUND', headers: { 'grpc-message': /^status/ } },
      }),
      grpc('failing', GREET, { message, onError: 'continue' }),
      grpc('with fields', GREET, { message, expect: { headers: { 'grpc-status': '0' } } }),
    ]);
    assert.deepEqual(result.statusCodes, { 5: 9 });
    assert.equal(result.requests.ok, 3);
    const failed = Object.fromEntries(
      result.steps.map(({ name, checks }) => [name, checks.map((it) => [it.check, it.failed])]),
    );
    assert.deepEqual(failed, {
      expected: [
        ['status NOT_FOUND', 0],
        ['header grpc-message matches /^status/', 0],
      ],
      failing: [['status OK', 3]],
      'with fields': [
        ['status OK', 3],
        ['header grpc-status = 0', 3],
      ],
    });
    assert.match(byName.failing.checks[0].example, /^status NOT_FOUND: status(?: |%20)5$/);
  });

  test('JavaScript and a dry run see the status of the call, and the version of HTTP', async (t) => {
    const server = await startGreeter(t);
    const message = await encodeGreet({ status: 5 });
    const seen = [];
    const steps = [
      grpc('fails', GREET, {
        ...{ message, expect: { status: 'NOT_FOUND' } },
        after: (response) => void seen.push(response?.status),
      }),
    ];
    await run(server, steps);
    assert.deepEqual(seen, [5, 5, 5]);
    const {
      steps: [step],
    } = await dryRun({ url: server.url, scenario: scenario('one', steps) });
    assert.match(step.requestHead, /^POST \/demo.Greeter\/Greet HTTP\/2\n/);
    assert.match(step.responseHead, /^HTTP\/2 200\n.*^grpc-status: 5$/ms);
  });

  test('requests to other servers speak HTTP/1.1, as they would without the calls', async (t) => {
    const server = await startGreeter(t);
    const versions = [];
    const plain = createServer((request, response) => {
      versions.push(request.httpVersion);
      response.end('{"token": "Ada"}');
    });
    await new Promise((listening) => plain.listen(0, '127.0.0.1', () => listening(null)));
    t.after(() => plain.close());
    const { port } = /** @type {any} */ (plain.address());
    const { result } = await run(server, [
      request('log in', `POST http://127.0.0.1:${port}/login`, { save: { token: json('/token') } }),
      grpc('greet', GREET, { headers: { 'x-token': '{{token}}' } }),
    ]);
    assert.deepEqual(result.statusCodes, { 0: 3, 200: 3 });
    assert.deepEqual(versions, ['1.1', '1.1', '1.1']);
    assert.equal(result.plan.httpVersion, '2 or 1.1');
    assert.equal(server.requests[0].metadata['x-token'], 'Ada');
    const { http1, http2 } = result.connections;
    assert.ok(http1 > 0 && http2 > 0, `${http1} and ${http2}`);
  });

  test('users share streams of HTTP/2, and take turns on connections of HTTP/1.1', async (t) => {
    const server = await startGreeter(t);
    let most = 0;
    const waiting = new Map();
    // Reads requests itself, as Node.js would give them one by one.
    const plain = createTcpServer((socket) => {
      socket
        .on('error', () => {})
        .on('data', (bytes) => {
          const count = (waiting.get(socket) ?? 0) + String(bytes).split('GET /').length - 1;
          waiting.set(socket, count);
          most = Math.max(most, count);
          setTimeout(() => {
            waiting.set(socket, 0);
            socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'.repeat(count));
          }, 5);
        });
    });
    await new Promise((listening) => plain.listen(0, '127.0.0.1', () => listening(null)));
    t.after(() => plain.close());
    const { port } = /** @type {any} */ (plain.address());
    const steps = [request('plain', `GET http://127.0.0.1:${port}/`), grpc('greet', GREET, {})];
    const shared = { users: 8, requests: 40, connections: 2, pipelining: 4 };
    const { result } = await run(server, steps, shared);
    assert.deepEqual(result.statusCodes, { 0: 40, 200: 40 });
    assert.equal(most, 1);
  });

  test('a request of HTTP/2 with a body of bytes sees the trailers, too', async (t) => {
    const server = await startGreeter(t);
    const message = await encodeGreet({ name: 'Ada' });
    const body = Buffer.concat([Buffer.from([0, 0, 0, 0, message.length]), message]);
    const headers = { 'content-type': 'application/grpc', te: 'trailers' };
    const { result, byName } = await run(
      server,
      [
        request('greet', `POST /${GREET}`, {
          ...{ headers, body, save: { status: header('grpc-status') } },
          expect: { headers: { 'grpc-status': '0', 'content-type': exists } },
        }),
      ],
      { h2c: true },
    );
    assert.deepEqual(result.statusCodes, { 200: 3 });
    assert.equal(result.messages, 0);
    assert.equal(result.iterations.completed, 3);
    assert.deepEqual(byName.greet.failures, []);
    assert.ok(byName.greet.checks.every(({ passed, failed }) => passed === 3 && failed === 0));
  });

  test('what does not fit is refused with its step', async (t) => {
    const server = await startGreeter(t);
    for (const [steps, message] of /** @type {[() => object[], RegExp][]} */ ([
      [() => [grpc('a', 'Greet')], /^grpc 'a' takes package\.Service\/Method/],
      [() => [grpc('a', GREET, { message: { x: 1 } })], /step 'a': .* needs proto/],
      [
        () => [grpc('a', GREET, { proto: PROTO, message: { x: 1 } })],
        /step 'a': message: demo\.GreetRequest has no field "x"/,
      ],
      [
        () => [grpc('a', GREET, { proto: PROTO, message: { name: '{{seq}}' } })],
        /step 'a': a message of gRPC cannot have placeholders/,
      ],
      [
        () => [grpc('a', GREET, { expect: { json: { '/text': 'x' } } })],
        /step 'a': expect\.json: the response to a call of gRPC is bytes of protobuf/,
      ],
      [
        () => [grpc('a', GREET, { save: { text: json('/text') } })],
        /step 'a': save\.text: the response to a call of gRPC is bytes of protobuf/,
      ],
      [
        () => [grpc('a', GREET, { save: /** @type {any} */ ({ text: null }) })],
        /step 'a': save\.text is json\(\), header\(\)/,
      ],
      [
        () => [grpc('a', GREET, /** @type {any} */ ({ url: 'http://localhost' }))],
        /^grpc 'a': unknown option 'url'; known are message, proto, headers, expect/,
      ],
      [
        () => [grpc('a', GREET, { headers: { 'grpc-timeout': '50ms' } })],
        /step 'a': grpc-timeout must be digits and a unit.*got 50ms/,
      ],
      [
        () => [request('a', 'GET /', { expect: { status: 'OK' } })],
        /step 'a': expect\.status must be .* \(got 'OK'\): it is a status of gRPC/,
      ],
    ])) {
      await assert.rejects(
        async () => run(server, steps()),
        (/** @type {any} */ error) => {
          assert.equal(error.code, 'ERR_MILLRACE_USAGE');
          assert.match(error.message, message);
          return true;
        },
      );
    }
  });
});
