// Bodies that a call of the client sends, and their types.
import assert from 'node:assert/strict';
import { openAsBlob } from 'node:fs';
import { PassThrough, Readable } from 'node:stream';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createClient } from 'millrace/client';
import * as nodeFetch from 'node-fetch';
import { mute, web } from '../../fixtures/deadlines/peers.js';

const limits = { timeout: 30_000 };
const url = ({ port }) => `http://127.0.0.1:${port}/`;

/** Answers with the received request; with a 503 for each first try of `/again`. */
async function echo(t) {
  let asked = 0;
  return web(t, async (request, response) => {
    const bytes = Buffer.concat(await request.toArray());
    if (request.url === '/again' && asked++ % 2 === 0) {
      response.writeHead(503).end();
      return;
    }
    const { headers, method } = request;
    const form =
      headers['content-type']?.startsWith('multipart/') && (await entries(headers, bytes));
    const type = form ? 'multipart/form-data' : headers['content-type'];
    const length = headers['content-length'];
    response.end(JSON.stringify({ method, type, length, body: form || bytes.toString('latin1') }));
  });
}

/** Reads a form with another implementation. */
async function entries(headers, bytes) {
  const form = await new Response(bytes, {
    headers: { 'content-type': headers['content-type'] },
  }).formData();
  const read = [];
  for (const [name, value] of form) {
    const { type } = value;
    read.push([name, typeof value === 'string' ? value : [value.name, type, await value.text()]]);
  }
  return read;
}

function form(library = globalThis) {
  const made = new library.FormData();
  made.append('text', 'one "two" €');
  made.append('quoted"name', 'x');
  made.append('file', new library.File(['content'], 'a "b".txt', { type: 'text/plain' }));
  made.append('file', new library.Blob(['bare']));
  return made;
}

const entriesOfForm = [
  ['text', 'one "two" €'],
  ['quoted"name', 'x'],
  ['file', ['a "b".txt', 'text/plain', 'content']],
  ['file', ['blob', 'application/octet-stream', 'bare']],
];
const plain = 'text/plain;charset=UTF-8';
const urlencoded = 'application/x-www-form-urlencoded;charset=UTF-8';
const file = fileURLToPath(import.meta.url);

/** Bodies that can be sent again, each with its type and content. */
const whole = {
  text: [() => 'text', plain, 'text'],
  'no text': [() => '', plain, ''],
  URLSearchParams: [() => new URLSearchParams({ a: 'b c', d: '&' }), urlencoded, 'a=b+c&d=%26'],
  FormData: [() => form(), 'multipart/form-data', entriesOfForm],
  'FormData of node-fetch': [() => form(nodeFetch), 'multipart/form-data', entriesOfForm],
  'FormData without an entry': [() => new FormData(), 'multipart/form-data', []],
  Blob: [() => new Blob(['a', 'b'], { type: 'text/csv' }), 'text/csv', 'ab'],
  'Blob without a type': [() => new Blob(['ab']), undefined, 'ab'],
  'Blob without content': [() => new Blob([]), undefined, ''],
  'Blob of node-fetch': [
    () => new nodeFetch.Blob(['a', 'b'], { type: 'text/csv' }),
    'text/csv',
    'ab',
  ],
  File: [() => new File(['ab'], 'name', { type: 'image/png' }), 'image/png', 'ab'],
  Buffer: [() => Buffer.from('xaby').subarray(1, 3), undefined, 'ab'],
  ArrayBuffer: [() => new Uint8Array([97, 98]).buffer, undefined, 'ab'],
  'typed array': [() => new Uint16Array([0, 0x6261, 0]).subarray(1, 2), undefined, 'ab'],
  DataView: [() => new DataView(new Uint8Array([0, 97, 98]).buffer, 1), undefined, 'ab'],
};
const streams = {
  Readable: () => Readable.from(['a', Buffer.from('b')]),
  PassThrough: () => new PassThrough().end('ab'),
  ReadableStream: () => new Blob(['ab']).stream(),
  'ReadableStream of text': () => ReadableStream.from(['a', 'b']),
  generator: async function* parts() {
    yield 'a';
    yield Buffer.from('b');
  },
};

describe('bodies of the client', () => {
  test('a body that is not a stream is sent again by each retry', limits, async (t) => {
    const peer = await echo(t);
    const client = createClient({
      origin: url(peer),
      timeouts: { total: '20s' },
      retries: { minPerSecond: 100, baseDelay: 0 },
    });
    t.after(() => client.destroy());
    for (const [name, [make, type, body]] of Object.entries(whole)) {
      const response = await client.request('/again', { method: 'put', body: make() });
      assert.equal(response.tries, 2, name);
      const came = await response.json();
      assert.deepEqual(
        { ...came, length: 0 },
        { method: 'PUT', ...(type && { type }), length: 0, body },
        name,
      );
      assert.match(came.length, /^\d+$/, `${name}: its length is known`);
    }
  });

  test('a stream is sent once', limits, async (t) => {
    const peer = await echo(t);
    const client = createClient({
      origin: url(peer),
      retries: { minPerSecond: 100, baseDelay: 0 },
    });
    t.after(() => client.destroy());
    for (const [name, make] of Object.entries(streams)) {
      const response = await client.request('/', { method: 'PUT', body: make() });
      const { method, type, body } = await response.json();
      assert.deepEqual([method, type, body], ['PUT', undefined, 'ab'], name);
      const failed = await client.request('/again', { method: 'PUT', body: make() });
      assert.deepEqual([failed.status, failed.tries], [503, 1], name);
      await (await client.request('/again')).dump();
    }
  });

  test('a stream that has nothing left to send is refused', limits, async (t) => {
    const peer = await echo(t);
    const client = createClient({ origin: url(peer) });
    t.after(() => client.destroy());
    const read = new Blob(['ab']).stream();
    await new Response(read).text();
    const locked = new Blob(['ab']).stream();
    locked.getReader();
    const ended = Readable.from(['ab']);
    await ended.toArray();
    const destroyed = new PassThrough().destroy();
    for (const [name, body] of Object.entries({ read, locked, ended, destroyed })) {
      await assert.rejects(client.request('/', { method: 'POST', body }), ({ code, message }) => {
        assert.equal(code, 'ERR_MILLRACE_USAGE', name);
        assert.match(
          message,
          /^body must be a stream that was not read to its end and has no reader \(got [^\n]+\)$/,
          name,
        );
        return true;
      });
    }
    // The rest of a stream is sent.
    const rest = new PassThrough();
    rest.write('a');
    assert.equal(String(rest.read()), 'a');
    rest.end('b');
    const came = await (await client.request('/', { method: 'POST', body: rest })).json();
    assert.equal(came.body, 'b');
  });

  test(
    'files of a foreign FormData are sent if they have stream() or arrayBuffer(), else refused',
    limits,
    async (t) => {
      const peer = await echo(t);
      const client = createClient({ origin: url(peer) });
      t.after(() => client.destroy());
      const bytes = new TextEncoder().encode('content');
      const send = async (file) => {
        const body = Object.assign([['file', file]], { [Symbol.toStringTag]: 'FormData' });
        return (await client.request('/', { method: 'POST', body })).json();
      };
      const file = { name: 'a.txt', type: 'text/plain', size: bytes.length };
      for (const readable of [
        { arrayBuffer: async () => bytes.buffer },
        { stream: () => new Blob([bytes]).stream() },
        { stream: () => Readable.from([bytes]) },
      ]) {
        const came = await send({ ...file, ...readable });
        assert.deepEqual(came.body, [['file', ['a.txt', 'text/plain', 'content']]]);
      }
      for (const unreadable of [file, { ...file, size: undefined, stream: () => bytes }, 1, null]) {
        await assert.rejects(send(unreadable), ({ code, message }) => {
          assert.equal(code, 'ERR_MILLRACE_USAGE');
          assert.match(message, /^body: field 'file' of the FormData must be [^\n]+$/);
          return true;
        });
      }
    },
  );

  test('the body of a response can be read once', limits, async (t) => {
    const peer = await web(t, (_request, response) => response.end('{}'));
    const client = createClient({ origin: url(peer) });
    t.after(() => client.destroy());
    for (const way of ['text', 'json', 'bytes']) {
      const response = await client.request('/');
      await response[way]();
      for (const again of ['text', 'json', 'bytes']) {
        await assert.rejects(response[again](), {
          name: 'TypeError',
          message: 'The body has already been read; it can be read once (millrace/client)',
        });
      }
    }
  });

  test('a blob of a file is read while it is sent', limits, async (t) => {
    const peer = await echo(t);
    const client = createClient({ origin: url(peer) });
    t.after(() => client.destroy());
    const blob = await openAsBlob(file);
    const came = await (await client.request('/', { method: 'POST', body: blob })).json();
    assert.equal(came.length, String(blob.size));
    assert.equal(came.body, Buffer.from(await blob.arrayBuffer()).toString('latin1'));
  });

  test('a Content-Type of the call takes precedence', limits, async (t) => {
    const peer = await echo(t);
    const client = createClient({ origin: url(peer) });
    t.after(() => client.destroy());
    const type = 'application/json';
    for (const headers of [
      { 'Content-Type': type },
      new Headers({ 'content-type': type }),
      [['Content-type', type]],
      new Map([['CONTENT-TYPE', type]]),
    ]) {
      const options = { method: 'POST', headers, body: '{}' };
      const came = await (await client.request('/', options)).json();
      assert.equal(came.type, type);
    }
  });

  test('a stream is destroyed when its call ends before it is sent', limits, async (t) => {
    const peer = await mute(t);
    const client = createClient({
      origin: url(peer),
      connections: 1,
      timeouts: { total: 100 },
      retries: false,
    });
    const first = client.request('/', { timeouts: { total: '20s' } });
    const readable = new PassThrough();
    let isCancelled = false;
    const stream = new ReadableStream({
      cancel() {
        isCancelled = true;
      },
    });
    const waiting = [readable, stream].map((body) => client.request('/', { method: 'PUT', body }));
    for (const { reason } of await Promise.allSettled(waiting)) {
      assert.equal(reason.limit, 'total');
    }
    assert.deepEqual([readable.destroyed, isCancelled], [true, true]);
    const ended = assert.rejects(first, { message: 'enough' });
    await client.destroy(new Error('enough'));
    await ended;
  });

  test('a stream is destroyed by a call that is refused', limits, async (t) => {
    const peer = await echo(t);
    const options = { origin: url(peer) };
    const client = createClient(options);
    const [closed, destroyed] = [createClient(options), createClient(options)];
    t.after(() => client.destroy());
    await closed.close();
    await destroyed.destroy();
    const calls = {
      'a closed client': (body) => closed.request('/', { method: 'PUT', body }),
      'a destroyed client': (body) => destroyed.request('/', { method: 'PUT', body }),
      // @ts-expect-error: there is no such option
      'an unknown option': (body) => client.request('/', { metod: 'PUT', body }),
      'a method that is none': (body) => client.request('/', { method: 'a b', body }),
      'a limit that is none': (body) => client.request('/', { timeouts: { total: 'soon' }, body }),
      'another origin': (body) => client.request('http://other.test/', { method: 'PUT', body }),
      'no target': (body) => client.request(null, { method: 'PUT', body }),
    };
    for (const [name, call] of Object.entries(calls)) {
      const readable = new PassThrough();
      let isCancelled = false;
      const stream = new ReadableStream({
        cancel() {
          isCancelled = true;
        },
      });
      for (const body of [readable, stream]) await assert.rejects(call(body), Error, name);
      assert.deepEqual([readable.destroyed, isCancelled], [true, true], name);
    }
    // A value that is not a body is not destroyed.
    let isDestroyed = false;
    const body = { destroy: () => (isDestroyed = true) };
    await assert.rejects(client.request('/', { method: 'PUT', body }), /^MillraceError: body/);
    assert.equal(isDestroyed, false);
  });
});
