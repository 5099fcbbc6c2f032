// Time limits of connections: when they begin, and what puts them off.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import net from 'node:net';
import { test } from 'node:test';
import { createServer } from 'millrace/http';
import { retried } from '../../../fixtures/retry.js';
import { both, differences } from '../../../fixtures/stack/comparison/run-both.js';

const LIMIT = { timeout: 60_000 };

test('connections are ended by the same time limits as with Node', LIMIT, async () => {
  await retried(
    () => both('connection/time-limits.js'),
    (seen) => assert.equal(differences(seen), ''),
  );
});

test('a keep-alive time that is raised holds from the next response on', LIMIT, async (t) => {
  const server = createServer({ cache: true, keepAliveTimeout: 100 }, (_, res) => res.end('x'));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const client = net.connect(server.address().port, '127.0.0.1');
  t.after(() => {
    client.destroy();
    server.close();
  });
  client.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  await once(client, 'data');
  server.keepAliveTimeout = 50_000;
  await once(client.resume(), 'end');
});
