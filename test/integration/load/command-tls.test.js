// Options of TLS with a command: whether its server speaks https is known once it runs.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load } from 'millrace';
import { selfSignedCertificate } from '#internal/native/addon.js';

const limits = { timeout: 30_000 };
const answer = '(q, r) => r.end()';
const listening = (server) => [process.execPath, '-e', `${server}.listen(0, '127.0.0.1')`];

const RESUMED = { connection: 'close', handshake: 'resume' };

test('an authority and a mode of TLS are for a command that speaks https', limits, async () => {
  const { cert, key } = await selfSignedCertificate(['localhost']);
  const command = listening(
    `require('https').createServer(${JSON.stringify({ cert, key })}, ${answer})`,
  );
  for (const url of ['/path', undefined]) {
    const { requests, plan } = await load({
      ...{ command, requests: 5, connections: 1, ca: cert, ...RESUMED },
      ...(url && { url }),
    });
    assert.equal(requests.ok, 5);
    assert.match(plan.targets[0].url, /^https:\/\/localhost:\d+\//);
  }
});

test('they are refused where it speaks http', limits, async () => {
  const command = listening(`require('http').createServer(${answer})`);
  for (const options of [{ handshake: 'full' }, { sni: 'a.test' }]) {
    await assert.rejects(
      load({ command, requests: 5, ...options }),
      /needs an https:\/\/ URL, and the command's server speaks http/,
    );
  }
});
