// Responses in memory that another thread writes to: what is stored is what was sent.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { get, limits, serve } from '../../../fixtures/stack/cache/servers.js';

/** Writes one letter after the other over all of the memory, for as long as it lives. */
const WRITING = `
  const { workerData, parentPort } = require('node:worker_threads');
  const bytes = new Uint8Array(workerData);
  parentPort.postMessage('ready');
  for (let letter = 0; ; letter = (letter + 1) % 26) bytes.fill(97 + letter);
`;

test('a body in a SharedArrayBuffer is stored and sent', limits, async (t) => {
  const memory = new SharedArrayBuffer(200_000);
  const worker = new Worker(WRITING, { eval: true, workerData: memory });
  t.after(() => worker.terminate());
  await once(worker, 'message');
  const body = new Uint8Array(memory);
  const { server, calls } = await serve(t, { duration: 60 }, (request, response) => {
    response.setHeader('Content-Length', body.length);
    if (request.url.startsWith('/write')) response.write(body, () => response.end());
    else response.end(body);
  });
  for (let at = 0; at < 10; at++) {
    for (const path of [`/end${at}`, `/write${at}`]) {
      const sent = (await get(server, path)).body;
      assert.equal(sent.length, body.length);
      assert.ok((await get(server, path)).body === sent, `${path}: stored is what was sent`);
    }
  }
  assert.equal(calls.length, 20);
});
