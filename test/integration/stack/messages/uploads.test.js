// Long request bodies: they arrive whole, in parts that belong to the application, as slowly as it reads.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import http from 'node:http';
import { connect } from 'node:net';
import { describe, test } from 'node:test';
import { REGISTER } from '../../../fixtures/stack/comparison/two-processes.js';

const LIMIT = { timeout: 30_000 };
const MIB = 1024 * 1024;

/** Starts a server on the stack; `program` has a function `sum` of the hash of parts. */
async function start(t, program) {
  const code = `const { createHash } = require('node:crypto');
    const sum = (parts) => parts.reduce((hash, part) => hash.update(part), createHash('sha1')).digest('hex');
    const server = require('node:http').createServer((request, response) => { ${program} });
    server.on('clientError', (error) => process.send({ clientError: error.code }));
    server.listen(0, '127.0.0.1', () => process.send(server.address().port));`;
  const args = ['--import', REGISTER, '--eval', code];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  t.after(() => child.kill());
  const [port] = await once(child, 'message');
  return { child, port };
}

async function upload(port, body, agent) {
  const options = { port, agent, method: 'POST', headers: { 'Content-Length': body.length } };
  const request = http.request(options);
  request.end(body);
  const [response] = await once(request, 'response');
  const text = await response.toArray();
  return JSON.parse(Buffer.concat(text).toString());
}

describe('long request bodies', LIMIT, () => {
  test("all parts are the application's to keep, and none is longer than 64 KiB", async (t) => {
    const { port } = await start(
      t,
      `const parts = [];
      request.on('data', (part) => parts.push(part));
      request.on('end', () => {
        const longest = Math.max(...parts.map((part) => part.length));
        response.end(JSON.stringify({ hash: sum(parts), longest }));
      });`,
    );
    const agent = new http.Agent({ keepAlive: true });
    t.after(() => agent.destroy());
    const bodies = [65_536, 131_072, 200_001, MIB, 5 * MIB + 3].map((size) => randomBytes(size));
    const both = [...bodies, ...bodies];
    const answers = await Promise.all(both.map((body) => upload(port, body, agent)));
    for (const [at, body] of both.entries()) {
      assert.equal(answers[at].hash, createHash('sha1').update(body).digest('hex'));
      assert.ok(answers[at].longest <= 65_536, `${answers[at].longest}`);
    }
  });

  test('an application that replaces Buffer.allocUnsafeSlow gets what was sent', async (t) => {
    const { port } = await start(
      t,
      `Buffer.allocUnsafeSlow = (size) => Buffer.alloc(size + 16);
      const parts = [];
      request.on('data', (part) => parts.push(part));
      request.on('end', () => response.end(JSON.stringify({ hash: sum(parts) })));`,
    );
    const body = randomBytes(MIB);
    const answer = await upload(port, body);
    assert.deepEqual(answer, { hash: createHash('sha1').update(body).digest('hex') });
  });

  test('a request that is paused is given nothing until it is resumed', async (t) => {
    const { port } = await start(
      t,
      `const parts = [];
      let paused = false, late = 0;
      request.on('data', (part) => {
        parts.push(part);
        if (paused) late++;
        paused = true;
        request.pause();
        setImmediate(() => { paused = false; request.resume(); });
      });
      request.on('end', () => response.end(JSON.stringify({ hash: sum(parts), late })));`,
    );
    const body = randomBytes(3 * MIB);
    const answer = await upload(port, body);
    assert.deepEqual(answer, { hash: createHash('sha1').update(body).digest('hex'), late: 0 });
  });

  test('a body that nobody reads does not keep the next request from being answered', async (t) => {
    const { port } = await start(t, `response.end(JSON.stringify(request.url));`);
    const socket = connect(port, '127.0.0.1');
    t.after(() => socket.destroy());
    const head = (length, url) =>
      `POST ${url} HTTP/1.1\r\nHost: a\r\nContent-Length: ${length}\r\n\r\n`;
    socket.write(head(2 * MIB, '/first'));
    socket.write(randomBytes(2 * MIB));
    socket.write(head(0, '/second'));
    let text = '';
    for await (const part of socket) {
      text += part;
      if (text.includes('"/second"')) break;
    }
    assert.ok(text.includes('"/first"'), text);
  });

  test('a client that leaves within a body aborts the request', async (t) => {
    const { child, port } = await start(
      t,
      `let length = 0;
      request.on('data', (part) => { length += part.length; if (length > 500_000) process.send('half'); });
      request.on('error', (error) => process.send({ aborted: error.code }));`,
    );
    const messages = [];
    child.on('message', (message) => messages.push(message));
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => {});
    socket.write(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${10 * MIB}\r\n\r\n`);
    socket.write(randomBytes(MIB));
    while (!messages.includes('half')) await once(child, 'message');
    socket.resetAndDestroy();
    while (!messages.some((message) => message.aborted)) await once(child, 'message');
    assert.deepEqual(
      messages.find((message) => message.aborted),
      { aborted: 'ECONNRESET' },
    );
  });
});
