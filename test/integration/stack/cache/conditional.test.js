// A 304 of the cache has the fields of the application's own: a browser applies them to this very answer.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import { describe, test } from 'node:test';
import {
  ask,
  exchange,
  last,
  limits,
  responses,
  serve,
} from '../../../fixtures/stack/cache/servers.js';

const FIELDS = {
  'Access-Control-Allow-Origin': 'https://shop.example',
  'Access-Control-Expose-Headers': 'ETag',
  'Cache-Control': 'max-age=60',
  'Content-Location': '/items.json',
  'Content-Security-Policy': "default-src 'self'",
  ETag: '"1"',
  Expires: 'Tue, 01 Jan 2099 00:00:00 GMT',
  'Last-Modified': 'Tue, 01 Jan 2019 00:00:00 GMT',
  Link: '</style.css>; rel=preload',
  'Strict-Transport-Security': 'max-age=60',
  'Timing-Allow-Origin': '*',
  Vary: 'Origin, Accept-Encoding',
  'X-Request-Cost': '3',
};
const OF_CONTENT = {
  'Content-Digest': 'sha-256=:x:',
  'Content-Encoding': 'identity',
  'Content-Language': 'de',
  'Content-MD5': 'x',
  'Content-Type': 'text/plain',
};
/** What differs from answer to answer. */
const OWN = ['date', 'age', 'connection', 'keep-alive'];

/** Answers as frameworks do: a 304 without the fields of content. */
function answer({ headers }, response) {
  for (const [name, value] of Object.entries(FIELDS)) response.setHeader(name, value);
  if (headers['if-none-match'] === '"1"' || headers['if-modified-since']) {
    response.writeHead(304).end();
    return;
  }
  response.writeHead(200, OF_CONTENT).end('body');
}

async function serveWithout(t) {
  const server = http.createServer(answer);
  t.after(() => server.close());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return server;
}

async function fieldsOf304(server, condition, method) {
  const [{ status, head }] = responses(
    await exchange(server, ask('/', ['Origin: https://shop.example', condition, ...last], method)),
  );
  assert.equal(status, 304);
  const lines = head.trim().split('\r\n').slice(1);
  return lines.filter((line) => !OWN.includes(line.split(':')[0].toLowerCase())).sort();
}

describe('a 304', () => {
  for (const method of ['GET', 'HEAD']) {
    for (const condition of [
      'If-None-Match: "1"',
      `If-Modified-Since: ${FIELDS['Last-Modified']}`,
    ]) {
      test(`${method}, ${condition}`, limits, async (t) => {
        const { server, calls } = await serve(t, { duration: 60 }, answer);
        await exchange(server, ask('/', ['Origin: https://shop.example', ...last]));
        const cached = await fieldsOf304(server, condition, method);
        assert.equal(calls.length, 1, 'the application was asked');
        assert.deepEqual(cached, await fieldsOf304(await serveWithout(t), condition, method));
      });
    }
  }
});
