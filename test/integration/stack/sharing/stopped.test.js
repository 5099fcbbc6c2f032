// One port for several processes: what waits for one that is stopped, and a peer that stops within a message.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, test } from 'node:test';
import { isFull } from '../../../fixtures/size.js';
import { brief, SharedPort, until, within } from '../../../fixtures/stack/sharing/processes.js';

const limits = { timeout: 60_000 };

describe('connections that were passed to a stopped process', { concurrency: true }, () => {
  test(
    'at most 1024 connections wait for a stopped process, and further ones are answered 503 at once',
    limits,
    async (t) => {
      const sharedPort = await SharedPort.make(t);
      const [, b] = await sharedPort.startAll('a /a/', 'b /b/');
      const connections = [];
      for (let at = 0; at < 1030; at++) connections.push(await sharedPort.connectTo('/a/'));
      await b.stop();
      const answers = connections.map((connection) => connection.ask('/b/'));
      const refused = [];
      for (const answer of answers) answer.then((response) => refused.push(brief(response)));
      await until('those that are too many are answered', () => refused.length === 6);
      assert.deepEqual(refused, Array(6).fill('503 -'));
      b.goOn();
      await Promise.all(answers);
      assert.equal(refused.filter((answer) => answer === '200 b').length, 1024);
    },
  );

  test(
    'connections for a stopped process are answered by it when it continues',
    limits,
    async (t) => {
      const sharedPort = await SharedPort.make(t);
      const [a, b] = await sharedPort.startAll('a /a/', 'b /b/');
      const given = await sharedPort.connectTo('/a/');
      const { moved } = (await a.stats('a')).connections;
      await b.stop();
      given.send('/b/');
      await until('it is given', async () => (await a.stats('a')).connections.moved > moved);
      b.goOn();
      assert.equal(brief(await given.response()), '200 b');
      assert.equal(brief(await given.ask('/a/')), '200 a');
    },
  );
});

// Each waits for as long as a process that says nothing is waited for, which is ten seconds.
describe('a peer that stops within a message', { concurrency: true }, () => {
  const asRoot = {
    ...limits,
    skip:
      (process.platform !== 'linux' && 'other systems do not tell the user of a process') ||
      (!isFull && 'at full size only') ||
      (process.getuid() !== 0 && 'only root can be several users'),
  };
  /** As crates/share/src/message.rs has it: hello, of this version, and what may follow. */
  const hello = [3, 0, 0, 0, 0, 5, 0];
  const half = [100, 0, 0, 0, 3];

  /** Says these bytes to a process that shares the port, as a user; gives when the other side has ended that. */
  async function tell(t, user, bytes) {
    const sharedPort = await SharedPort.make(t);
    await sharedPort.start('a /a/');
    const [rendezvous] = await sharedPort.rendezvousSockets();
    const place = join(sharedPort.directory, `any-${sharedPort.port}`);
    for (const path of [sharedPort.directory, place, join(place, rendezvous)])
      await chmod(path, 0o777);
    const program = `
      const socket = require('node:net').connect(process.argv[1]);
      socket.on('close', () => console.log('over')).on('error', () => {}).on('data', () => {});
      socket.write(Buffer.from(JSON.parse(process.argv[2])), () => console.log('said'));
    `;
    const args = ['-e', program, join(place, rendezvous), JSON.stringify(bytes)];
    const child = spawn(process.execPath, args, { uid: user, gid: user, stdio: 'pipe' });
    t.after(() => child.kill());
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    assert.equal((await lines.next()).value, 'said');
    const { value } = await within(20_000, () => 'the end', lines.next());
    assert.equal(value, 'over');
    assert.equal(brief(await sharedPort.ask('/a/')), '200 a');
  }

  for (const [what, bytes] of Object.entries({
    'of nothing': [],
    'of a hello': hello.slice(0, 5),
    'behind it': [...hello, ...half],
  })) {
    test(`a peer is not waited for after ${what}`, asRoot, (t) => tell(t, 65_534, bytes));
  }
});
