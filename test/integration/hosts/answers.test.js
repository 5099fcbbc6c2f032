// What agents may answer: each answer that is none is the failure of its host, in a line, and the others have a result.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { loadOnHosts } from 'millrace';

const AGENTS = fileURLToPath(new URL('../../fixtures/hosts/agents.js', import.meta.url));

test('what a host answers wrongly is its failure', { timeout: 60_000 }, async (t) => {
  const server = createServer((_, response) => response.end('ok')).listen(0, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
  const expected = {
    damaged: 'its result is damaged: it cannot be decompressed',
    cut: 'its result is cut off: a result is what -o FILE or --json writes',
    null: 'its result is not a result of millrace, as -o FILE or --json writes it',
    other: 'its result is not one of a load',
    without: 'sent a message that this version does not understand (result)',
    unknown: 'sent a message that this version does not understand (dance)',
    ended: 'no memory',
  };
  const hosts = ['good', ...Object.keys(expected)];
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  const result = await loadOnHosts(hosts, {
    ssh: `'${process.execPath}' '${AGENTS}'`,
    ...{ url: `http://127.0.0.1:${port}/`, connections: 8, requests: 80 },
  });
  assert.equal(result.requests.ok, 10);
  assert.deepEqual(
    result.generators?.map(({ name }) => name),
    ['good'],
  );
  assert.deepEqual(
    result.warnings.flatMap(({ id, message }) => (id === 'host-failed' ? [message] : [])),
    Object.entries(expected).map(([host, message]) => `${host}: ${message}.`),
  );
});
