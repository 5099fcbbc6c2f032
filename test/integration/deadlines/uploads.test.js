// Bodies that the application sends: they are late only while no byte leaves.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import https from 'node:https';
import { describe, test } from 'node:test';
import { takeSlowly } from '../../fixtures/deadlines/peers.js';
import { runCalls } from '../../fixtures/deadlines/program.js';
import { makeCertificates } from '../../fixtures/tls/certificates.js';

const limits = { timeout: 30_000 };
const { server: certificate } = makeCertificates();
const trusting = { NODE_TLS_REJECT_UNAUTHORIZED: '0', NODE_NO_WARNINGS: '1' };
const SIZE = 24_000_000;

async function listening(t, server) {
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return server.address().port;
}

describe('uploads', { concurrency: 4 }, () => {
  for (const [scheme, module] of Object.entries({ http, https })) {
    test(`a Buffer that leaves slowly by ${scheme} is in time`, limits, async (t) => {
      const server = module.createServer(scheme === 'https' ? certificate : {}, takeSlowly(100));
      const url = `${scheme}://127.0.0.1:${await listening(t, server)}/`;
      const calls = {
        request: `new Promise((resolve, reject) => {
          const sent = ${scheme}.request('${url}', { method: 'POST' }, (response) =>
            response.once('data', (data) => resolve(String(data))));
          sent.on('error', reject).end(body);
        })`,
        fetch: `(await fetch('${url}', { method: 'POST', body })).text()`,
        undici5: `(await undici5.request('${url}', { method: 'POST', body })).body.text()`,
        undici6: `(await undici6.request('${url}', { method: 'POST', body })).body.text()`,
        undici7: `(await undici7.request('${url}', { method: 'POST', body })).body.text()`,
      };
      const told = await runCalls(calls, {
        setUp: `import ${scheme} from 'node:${scheme}';
          import * as undici5 from 'undici-5';
          import * as undici6 from 'undici-6';
          import * as undici7 from 'undici';
          const body = Buffer.alloc(${SIZE});`,
        env: {
          ...trusting,
          ...{ MILLRACE_DEADLINE_TOTAL: 'off', MILLRACE_DEADLINE_HEADERS: '1200ms' },
        },
      });
      const expected = Object.fromEntries(Object.keys(calls).map((name) => [name, 'taken']));
      assert.deepEqual(told, expected);
    });
  }

  test('bodies that have been written in full are limited, however they end', limits, async (t) => {
    const server = http.createServer((request, response) => {
      if (request.url === '/taken') request.resume().on('end', () => response.end('taken'));
      else request.resume();
    });
    const url = `http://127.0.0.1:${await listening(t, server)}`;
    const post = (options) => `axios.post('${url}/never', ${options}).then(({ data }) => data)`;
    const write = (path, length, first, later = '') => `new Promise((resolve, reject) => {
      const sent = http.request('${url}/${path}', { method: 'POST', headers: { 'content-length': ${length} } });
      sent.on('error', reject).on('response', (response) =>
        response.once('data', (data) => resolve(String(data))));
      sent.write(${first});
      ${later}
    })`;
    const calls = {
      'form-data, any length': post('form(), { maxBodyLength: Infinity }'),
      'form-data, no redirections': post('form(), { maxBodyLength: Infinity, maxRedirects: 0 }'),
      'form-data': post('form()'),
      FormData: post('web()'),
      stream: post("Readable.from(['a', 'b'])"),
      'a stream as response': post(
        "Readable.from(['a']), { responseType: 'stream', maxBodyLength: Infinity }",
      ),
      'text without an end': write('never', 2, "'\u00e9'"),
      'text in another coding': write('never', 1, "'\u00e9', 'latin1'"),
      'bytes without an end': write('never', 4, 'Buffer.alloc(4)'),
      'the application is not done': write(
        'taken',
        4,
        "'ha'",
        "setTimeout(() => sent.end('lf'), 1200);",
      ),
    };
    const told = await runCalls(calls, {
      setUp: `import http from 'node:http';
        import { Readable } from 'node:stream';
        import axios from 'axios';
        import NodeFormData from 'form-data';
        const form = () => {
          const form = new NodeFormData();
          form.append('name', 'value');
          form.append('file', Buffer.alloc(5000), 'name.bin');
          return form;
        };
        const web = () => {
          const form = new FormData();
          form.set('file', new Blob(['text']), 'name.txt');
          return form;
        };`,
      env: { MILLRACE_DEADLINE_TOTAL: '500ms' },
    });
    const expected = (name) => (name === 'the application is not done' ? 'taken' : 'total');
    assert.deepEqual(
      told,
      Object.fromEntries(Object.keys(calls).map((name) => [name, expected(name)])),
    );
  });

  test('a response that has begun waits for the rest of its request', limits, async (t) => {
    // It answers each part that it receives.
    const echo = http.createServer((request, response) => {
      response.flushHeaders();
      request.pipe(response);
    });
    const url = `http://127.0.0.1:${await listening(t, echo)}/`;
    const calls = {
      request: `new Promise((resolve, reject) => {
        const sent = http.request('${url}', { method: 'POST' }, (response) => {
          let text = '';
          response.on('data', (data) => { text += data; }).on('error', reject);
          setTimeout(() => sent.end('two'), 1500);
          response.on('end', () => resolve(text));
        });
        sent.on('error', reject).write('one ');
      })`,
      undici6: `(await undici6.request('${url}', { method: 'POST', body: parts() })).body.text()`,
      undici7: `(await undici7.request('${url}', { method: 'POST', body: parts() })).body.text()`,
    };
    const told = await runCalls(calls, {
      setUp: `import http from 'node:http';
        import * as undici6 from 'undici-6';
        import * as undici7 from 'undici';
        async function* parts() { yield 'one '; await sleep(1500); yield 'two'; }`,
      env: { MILLRACE_DEADLINE_TOTAL: '800ms' },
    });
    assert.deepEqual(told, { request: 'one two', undici6: 'one two', undici7: 'one two' });
  });
});
