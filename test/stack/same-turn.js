// Requests that come together, and handlers that know which responses have arrived.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after } from 'node:test';
import { Worker } from 'node:worker_threads';
import http from '../../dist/http/index.js';
import { freePort } from '../../dist/process/free-port.js';

const LIMIT_MS = 5000;
const CLIENT = new URL('same-turn-client.js', import.meta.url);

/**
 * Requests that come together, `handlers.length` of them. `handlers[i]` takes the i-th, in the order in which the stack tells
 * of them, and may wait until the response of an earlier one has arrived. `shared`: on a port that other processes may share.
 */
export class SameTurn {
  static async start(handlers, { limits = {}, late = false, shared = false } = {}) {
    const flags = new Int32Array(new SharedArrayBuffer(4 * (handlers.length + 1)));
    const order = [];
    let ready = false;
    const server = http.createServer((request, response) => {
      const handler = ready ? handlers[order.length] : answer;
      order.push(Number(request.url.slice(1)));
      handler(response, (earlier, ms = LIMIT_MS) => Atomics.wait(flags, order[earlier], 0, ms));
    });
    Object.assign(server, limits);
    const free = shared ? await freePort() : null;
    const where = shared ? [`http://*:${free}/`] : [0, '127.0.0.1'];
    await once(server.listen(...where), 'listening');
    const port = free ?? server.address().port;
    const worker = new Worker(CLIENT, { workerData: { port, flags, late } });
    after(async () => {
      await worker.terminate();
      server.closeAllConnections();
      server.close();
    });
    const turn = Object.assign(new SameTurn(), { flags, worker, order, server });
    // Of a connection to a shared port nobody hears before its first request.
    if (shared) await turn.run();
    else for (const _ of handlers) await once(server, 'connection');
    ready = true;
    return turn;
  }

  /** One turn; ends when all have been answered. */
  async run() {
    const { flags, worker, order } = this;
    const sent = flags.length - 1;
    flags.fill(0);
    order.length = 0;
    worker.postMessage('go');
    assert.notEqual(Atomics.wait(flags, sent, 0, LIMIT_MS), 'timed-out');
    for (let index = 0; index < sent; index++) {
      const { value } = Atomics.waitAsync(flags, index, 0, LIMIT_MS);
      assert.notEqual(await value, 'timed-out');
    }
  }
}

export function answer(response) {
  response.end('it');
}

export function busy(ms) {
  const end = performance.now() + ms;
  while (performance.now() < end);
}
