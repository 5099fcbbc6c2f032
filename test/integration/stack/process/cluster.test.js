// Workers of an ordinary cluster serve one connection after the other, and end when they are told to.
import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import http from 'node:http';
import https from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { REGISTER } from '../../../fixtures/stack/comparison/two-processes.js';
import { makeCertificates } from '../../../fixtures/tls/certificates.js';

const APPLICATION = fileURLToPath(
  new URL('../../../fixtures/stack/process/cluster-application.js', import.meta.url),
);
/** Connections to each server, one after the other. */
const CONNECTIONS = 3;
const certificates = makeCertificates();

/** What a client gets on a connection of its own, which has closed then. */
async function served(address, { get }) {
  const where = typeof address === 'string' ? { socketPath: address } : { port: address.port };
  const options = { host: '127.0.0.1', agent: false, rejectUnauthorized: false, ...where };
  const request = get({ ...options, headers: { Connection: 'close' } });
  const [response] = await once(request, 'response');
  const text = (await response.setEncoding('utf8').toArray()).join('');
  if (!request.socket.closed) await once(request.socket, 'close');
  return text;
}

describe('a cluster whose connections are distributed', { concurrency: true }, () => {
  for (const [how, policy] of [
    ['by the primary, as is the default', 2],
    ['by the system', 1],
  ]) {
    test(`a cluster whose connections are distributed ${how} serves them all`, {
      timeout: 30_000,
    }, async (t) => {
      const path = join(tmpdir(), `millrace-cluster-${process.pid}-${policy}.sock`);
      const { key, cert } = certificates.server;
      const child = fork(APPLICATION, [policy, path, key, cert], {
        env: { ...process.env, NODE_OPTIONS: '' },
        execArgv: ['--import', REGISTER],
      });
      t.after(() => child.kill('SIGKILL'));
      const [{ addresses }] = await once(child, 'message');
      const ended = once(child, 'message');
      for (let i = 0; i < CONNECTIONS; i++) {
        const [plain, secure, unix] = addresses;
        const answers = [served(plain, http), served(secure, https), served(unix, http)];
        const texts = await Promise.race([Promise.all(answers), ended]);
        assert.deepEqual(texts, ['hello', 'hello', 'hello']);
      }
      child.send('disconnect');
      assert.deepEqual((await ended)[0], { exit: { code: 0, signal: null } });
    });
  }
});
