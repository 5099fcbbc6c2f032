// Calls of gRPC to a server of grpc-js.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as createHttp1 } from 'node:http';
import { createServer } from 'node:http2';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { ServerCredentials } from '@grpc/grpc-js';
import { load } from 'millrace';
import { selfSignedCertificate } from '#internal/native/addon.js';
import { encodeGreet, PROTO, STREAMED, startGreeter } from '../../fixtures/grpc/greeter.js';
import { makeCertificates } from '../../fixtures/tls/certificates.js';
import { millrace } from '../../fixtures/truth/cli.js';
import { ok } from '../../fixtures/truth/scripts.js';
import { truthServer } from '../../fixtures/truth/server.js';

const CALLS = { connections: 2, pipelining: 3, requests: 30 };
const greet = { ...CALLS, grpc: 'demo.Greeter/Greet' };

describe('gRPC', { timeout: 120_000 }, () => {
  test('a unary call is sent as bytes, with metadata', async (t) => {
    const { url, requests } = await startGreeter(t);
    const body = await encodeGreet({ name: 'Ada' });
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
    for (const [status, expect, ok] of /** @type {[number, any, number][]} */ ([
      [5, undefined, 0],
      [5, 'NOT_FOUND', 30],
      [14, ['OK', '14'], 30],
      [16, 'ok,unavailable', 0],
    ])) {
      const body = JSON.stringify({ status });
      const result = await load({ ...greet, url, proto: PROTO, body, ...(expect && { expect }) });
      assert.deepEqual(result.statusCodes, { [status]: 30 });
      assert.deepEqual([result.requests.ok, result.requests.statusErrors], [ok, 30 - ok]);
      const kept = result.failingResponses.map(({ head }) => /grpc-status: (\d+)/.exec(head)?.[1]);
      assert.deepEqual(kept, ok === 0 ? [String(status)] : []);
    }
  });

  test('the message of a status is decoded, without secrets and control characters', async (t) => {
    const server = createServer().on('stream', (stream, { 'x-message': message }) => {
      const fields = { 'content-type': 'application/grpc', 'grpc-status': '9' };
      stream.respond({ ...fields, 'grpc-message': message }, { endStream: true });
    });
    await new Promise((listening) => server.listen(0, '127.0.0.1', () => listening(null)));
    t.after(() => server.close());
    const url = `http://127.0.0.1:${/** @type {any} */ (server.address()).port}`;
    for (const [message, shown] of [
      ['no%20item%20%C3%A9', 'no item é'],
      ['bad %', 'bad %'],
      ['a%0ab%1b[31m', 'a%0ab%1b[31m'],
      ['key k%C3%A9y-of-tenant', 'key ***'],
    ]) {
      const headers = { 'x-message': message, 'x-api-key': 'kéy-of-tenant' };
      const { failingResponses } = await load({ ...greet, url, requests: 1, headers });
      assert.match(failingResponses[0].head, /^grpc-message: (.*)$/m);
      const [, found] = /^grpc-message: (.*)$/m.exec(failingResponses[0].head) ?? [];
      assert.equal(found, shown);
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

  test('each status is counted by its number, with and without a head before the trailers', async (t) => {
    const { url } = await startGreeter(t);
    for (let status = 1; status <= 16; status++) {
      for (const name of ['at once', 'late']) {
        const body = await encodeGreet({ name, status });
        const result = await load({ ...greet, requests: 6, url, body });
        assert.deepEqual(result.statusCodes, { [status]: 6 }, `${name}: ${status}`);
        const [failing] = result.failingResponses;
        assert.equal(failing.status, status);
        assert.match(failing.head, new RegExp(`^grpc-status: ${status}$`, 'm'));
        assert.match(failing.head, new RegExp(`^grpc-message: status(?: |%20)${status}$`, 'm'));
      }
    }
  });

  test('a stream that fails has the status of its end and the messages before it', async (t) => {
    const { url } = await startGreeter(t);
    const body = await encodeGreet({ status: 15 });
    const result = await load({ ...CALLS, url, grpc: 'demo.Greeter/Stream', body });
    assert.deepEqual([result.statusCodes, result.messages], [{ 15: 30 }, 30 * STREAMED]);
  });

  test('placeholders are filled in in metadata, and conditions count failed calls', async (t) => {
    const { url, requests } = await startGreeter(t);
    const headers = { 'x-number': '{{seq}}', 'ids-bin': 'AAEC' };
    const body = await encodeGreet({ status: 5 });
    const { conditions } = await load({ ...greet, url, body, headers, failOn: 'errors<1%' });
    assert.deepEqual(conditions, [{ condition: 'errors<1%', value: 1, holds: false }]);
    const numbers = requests.map(({ metadata }) => Number(metadata['x-number']));
    assert.deepEqual(
      numbers.sort((a, b) => a - b),
      Array.from({ length: 30 }, (_, n) => n),
    );
    assert.deepEqual(requests[0].metadata['ids-bin'], Buffer.from([0, 1, 2]));
  });

  test('with TLS it is spoken over HTTP/2; a server that is not there is a failed connection', async (t) => {
    const { authority, server } = makeCertificates();
    const pair = { private_key: Buffer.from(server.key), cert_chain: Buffer.from(server.cert) };
    const secure = await startGreeter(t, ServerCredentials.createSsl(null, [pair]));
    const options = { ...greet, url: `https://localhost:${secure.port}`, ca: authority.cert };
    const result = await load(options);
    assert.deepEqual([result.statusCodes, result.connections.http2], [{ 0: 30 }, 2]);
    secure.end();
    await assert.rejects(load(options), { code: 'ERR_MILLRACE_UNREACHABLE' });
  });

  test('a call has the fields of a call alone, and no other type of content', async (t) => {
    const { url, requests } = await startGreeter(t);
    const of = { ...greet, requests: 1, connections: 1, url };
    const typed = { ...of, headers: { 'content-type': 'application/grpc+proto' } };
    assert.equal((await load(typed)).requests.ok, 1);
    assert.equal('accept' in requests[0].metadata, false);
    const headers = { 'Content-Type': 'application/json' };
    await assert.rejects(load({ ...of, headers }), {
      code: 'ERR_MILLRACE_USAGE',
      message: /the Content-Type of a call of gRPC is application\/grpc .*got application\/json/,
    });
    await assert.rejects(load({ ...of, body: Buffer.from(' {"name": "Ada"}\n') }), {
      code: 'ERR_MILLRACE_USAGE',
      message: /the body is JSON.*needs proto/,
    });
  });

  test('an answer that is not one of gRPC has the status of HTTP; one without a status breaks the protocol', async (t) => {
    const plain = createServer((request, response) => {
      const [status, type] = String(request.headers['x-answer']).split(' ');
      response.writeHead(Number(status), { 'content-type': type }).end('no');
    });
    await new Promise((listening) => plain.listen(0, '127.0.0.1', () => listening(null)));
    t.after(() => plain.close());
    const url = `http://127.0.0.1:${/** @type {any} */ (plain.address()).port}`;
    for (const [answer, status] of /** @type {[string, number][]} */ ([
      ['502 text/html', 502],
      ['200 text/html', 200],
      ['503 application/grpc', 503],
    ])) {
      const result = await load({ ...greet, url, headers: { 'x-answer': answer } });
      assert.deepEqual(result.statusCodes, { [status]: 30 }, answer);
      assert.equal(result.requests.ok, 0, answer);
    }
    const http1 = createHttp1((_, response) => response.end('no'));
    await new Promise((listening) => http1.listen(0, '127.0.0.1', () => listening(null)));
    t.after(() => http1.close());
    const { port } = /** @type {any} */ (http1.address());
    await assert.rejects(load({ ...greet, url: `http://127.0.0.1:${port}` }), {
      message: /the server speaks HTTP\/1\.1, and gRPC needs HTTP\/2$/,
    });
    const none = await load({ ...greet, url, headers: { 'x-answer': '200 application/grpc' } });
    assert.deepEqual(
      [none.statusCodes, none.errors.map(({ kind, count }) => [kind, count])],
      [{}, [['protocol', 30]]],
    );
    assert.match(none.errors[0].example, /has no grpc-status/);
    const { stdout } = await millrace([
      '-n',
      '2',
      '--grpc',
      greet.grpc,
      '-H',
      'x-answer: 200 text/html',
      url,
    ]);
    const text = stdout.replace(/\n {2}/g, ' ');
    assert.match(
      text,
      /not expected: HTTP 200 \(2\)\. Answers with a status of HTTP are not of gRPC/,
    );
  });

  test('a server of another version is named without flags that were not given', async (t) => {
    const identity = await selfSignedCertificate(['127.0.0.1']);
    const plain = await truthServer(t, ok());
    const secure = await truthServer(t, ok(), { tls: identity });
    for (const [url, why] of /** @type {[string, RegExp][]} */ ([
      [plain.url, /speaks HTTP\/1\.1, and gRPC needs HTTP\/2$/],
      [secure.url, /no HTTP\/2 over TLS \(ALPN\), which gRPC needs$/],
      [secure.url.replace('https', 'http'), /the server speaks TLS: use https:\/\/$/],
    ])) {
      const calls = load({ ...greet, url: new URL(url).origin, insecure: url === secure.url });
      await assert.rejects(calls, { code: 'ERR_MILLRACE_UNREACHABLE', message: why });
    }
  });

  test('reports have the names of statuses, and JSON their numbers', async (t) => {
    const { url } = await startGreeter(t);
    const folder = mkdtempSync(join(tmpdir(), 'millrace-'));
    t.after(() => rmSync(folder, { recursive: true }));
    const [json, page, markdown, message] = ['r.json', 'r.html', 'r.md', 'message'].map((name) =>
      join(folder, name),
    );
    const call = ['--grpc', 'demo.Greeter/Greet', '-n', '10', '-c', '1', url];
    const failed = await millrace([
      ...['--proto', PROTO, '-b', '{"status": 5}', '-o', json],
      ...['--html', page, '--markdown', markdown, ...call],
    ]);
    assert.equal(failed.code, 3, failed.stderr);
    assert.match(failed.stdout, /, gRPC,\s/);
    assert.match(failed.stdout, /status +NOT_FOUND: 10/);
    assert.match(failed.stdout, /^NOT_FOUND +first response, to POST/m);
    assert.match(failed.stdout, /grpc-message: status 5$/m);
    assert.match(failed.stdout, /10 other status/);
    assert.match(failed.stdout, /responses had .* NOT_FOUND \(10\)/s);
    assert.match(readFileSync(page, 'utf8'), /NOT_FOUND/);
    assert.match(readFileSync(markdown, 'utf8'), /NOT\\_FOUND \(10\)/);
    assert.deepEqual(JSON.parse(readFileSync(json, 'utf8')).statusCodes, { 5: 10 });

    const long = ['--proto', PROTO, '-b', '{"status": 9}', ...call];
    assert.match((await millrace(long)).stdout, /^FAILED_PRECONDITION first response, to POST/m);
    const dotted = await millrace(['--call', 'demo.Greeter.Greet', '-n', '1', '-c', '1', url]);
    assert.equal(dotted.code, 0, dotted.stderr);

    writeFileSync(message, await encodeGreet({ status: 5 }));
    const expected = await millrace(['-b', `@${message}`, '--expect', 'OK,notFound,5xx', ...call]);
    assert.equal(expected.code, 0, expected.stderr);
    assert.match(expected.stdout, /ok is OK NOT_FOUND 5xx/);
    const wrong = await millrace(['--expect', 'NOTFOUNT', ...call]);
    assert.equal(wrong.code, 2);
    assert.match(wrong.stderr, /gRPC has no status 'NOTFOUNT'; did you mean NOT_FOUND\?/);
  });
});
