// Connections over TLS that one process has, and another answers.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { selfSignedCertificate } from '#internal/native/addon.js';
import { request, SharedPort, within } from '../../../fixtures/stack/sharing/processes.js';

const WAYS = {
  'an upgraded connection': {
    bytes: request('/b/up', { fields: ['Upgrade: echo', 'Connection: Upgrade'] }),
    said: 'upgrade',
    url: '/b/up',
  },
  'a request': { bytes: request('/b/?hold=1'), said: 'holding', url: '/b/?hold=1' },
};

test('whoever answers hears of a reset at once, though the process with the session computes', {
  timeout: 60_000,
}, async (t) => {
  const sharedPort = await SharedPort.make(t);
  const file = join(sharedPort.directory, 'computed');
  const secure = await selfSignedCertificate(['localhost']);
  const settings = { secure, upgrade: true };
  const a = await sharedPort.start('a /a/', settings);
  const connections = await Promise.all(
    Object.keys(WAYS).map(async () => {
      // All sessions are those of the only process that is there.
      const connection = await sharedPort.connect({ secure: true });
      assert.equal((await connection.ask('/a/')).name, 'a');
      return connection;
    }),
  );
  const b = await sharedPort.start('b /', settings);
  for (const [at, { bytes, said }] of Object.values(WAYS).entries()) {
    connections[at].write(bytes);
    await b.said({ said });
    if (said !== 'holding') assert.equal((await connections[at].response()).name, 'b');
  }
  const other = await sharedPort.connect({ secure: true });
  other.send(`/a/?busy=${file}`);
  await a.said({ said: 'busy' });
  for (const connection of connections) connection.reset();
  for (const [what, { url }] of Object.entries(WAYS)) {
    await within(5000, () => `the end of ${what}`, b.said({ said: 'gone', url }));
  }
  assert.ok(!a.hasSaid({ said: 'computed' }), 'it still computes');
  writeFileSync(file, '');
  assert.equal((await other.response()).name, 'a');
});
