// A request of undici in the queue of its client has the timeouts of that client.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { web } from '../../fixtures/deadlines/peers.js';
import { service } from '../../fixtures/deadlines/service.js';

const limits = { timeout: 30_000 };

test(
  'the timeouts of a client of undici apply in its queue, and to no other client',
  limits,
  async (t) => {
    const { call } = service(t, { MILLRACE_DEADLINE_TOTAL: '200ms' });
    const peer = await web(t, (_request, response) => setTimeout(() => response.end('late'), 500));
    const url = `http://127.0.0.1:${peer.port}`;
    const { value } = await call('undiciQueues', {
      url,
      clients: [{ headersTimeout: 0, bodyTimeout: 0 }, { headersTimeout: 5000 }, {}],
    });
    assert.deepEqual(value, [
      ['late', 'late', 'late'],
      ['late', 'late', 'late'],
      ['total', 'total', 'total'],
    ]);
  },
);
