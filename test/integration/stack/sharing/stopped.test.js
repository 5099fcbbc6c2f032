// One port for several processes: one that is stopped keeps nobody waiting for long.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, test } from 'node:test';
import { isFull } from '../../../fixtures/size.js';
import { brief, Ground, until, within } from '../../../fixtures/stack/sharing.js';

const isLinux = process.platform === 'linux';
const limits = { timeout: 60_000, skip: !isLinux && 'what was given cannot be withdrawn here' };
/** Less than a connection waits for a process that has just stopped. */
const SOON_MS = 5000;

describe('connections that were passed to a stopped process', { concurrency: true }, () => {
  test(
    'connections for a stopped process are answered 503 and not answered again when it continues',
    limits,
    async (t) => {
      const ground = await Ground.make(t);
      const [, b] = await ground.startAll('a /a/', 'b /b/');
      const given = await ground.connectTo('/a/');
      const another = await ground.connectTo('/a/');
      await b.stop();
      given.send('/b/given', { body: 'a body' });
      const response = await given.response();
      assert.equal(brief(response), '503 -');
      // Whoever goes on could take a connection that stays for another that it is given.
      assert.equal(response.fields.connection, 'close');
      assert.equal((await given.rest()).length, 0);
      // Others do not wait for it again, and were not given.
      for (let at = 0; at < 3; at++) {
        const asked = within(SOON_MS, () => 'the 503', another.ask('/b/'));
        assert.equal(brief(await asked), '503 -');
      }
      assert.equal(brief(await another.ask('/a/')), '200 a');
      b.goOn();
      await until('it has what is its own again', async () => {
        return (await another.ask('/b/')).status === 200;
      });
      const { seen } = (await another.ask('/b/?show=seen')).json;
      assert.ok(!seen.includes('POST /b/given'), 'b has seen it');
    },
  );

  test(
    'at most 1024 connections wait for a stopped process, and further ones are answered 503 at once',
    limits,
    async (t) => {
      const ground = await Ground.make(t);
      const [, b] = await ground.startAll('a /a/', 'b /b/');
      const connections = [];
      for (let at = 0; at < 1030; at++) connections.push(await ground.connectTo('/a/'));
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
    'connections for a stopped process are answered by it if it continues in time',
    limits,
    async (t) => {
      const ground = await Ground.make(t);
      const [a, b] = await ground.startAll('a /a/', 'b /b/');
      const given = await ground.connectTo('/a/');
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
      limits.skip ||
      (!isFull && 'at full size only') ||
      (process.getuid() !== 0 && 'only root can be several users'),
  };
  /** As crates/stack/src/sharing/message.rs has it: hello, of this version, and what may follow. */
  const hello = [3, 0, 0, 0, 0, 4, 0];
  const half = [100, 0, 0, 0, 3];

  /** Says these bytes to a process that shares the port, as a user; gives when the other side has ended that. */
  async function tell(t, user, bytes) {
    const ground = await Ground.make(t);
    await ground.start('a /a/');
    const [door] = await ground.doors();
    const place = join(ground.directory, `any-${ground.port}`);
    for (const path of [ground.directory, place, join(place, door)]) await chmod(path, 0o777);
    const program = `
      const socket = require('node:net').connect(process.argv[1]);
      socket.on('close', () => console.log('over')).on('error', () => {}).on('data', () => {});
      socket.write(Buffer.from(JSON.parse(process.argv[2])), () => console.log('said'));
    `;
    const args = ['-e', program, join(place, door), JSON.stringify(bytes)];
    const child = spawn(process.execPath, args, { uid: user, gid: user, stdio: 'pipe' });
    t.after(() => child.kill());
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    assert.equal((await lines.next()).value, 'said');
    const { value } = await within(20_000, () => 'the end', lines.next());
    assert.equal(value, 'over');
    assert.equal(brief(await ground.ask('/a/')), '200 a');
  }

  for (const [what, bytes] of Object.entries({
    'of nothing': [],
    'of a hello': hello.slice(0, 5),
    'behind it': [...hello, ...half],
  })) {
    test(`a peer is not waited for after ${what}`, asRoot, (t) => tell(t, 65_534, bytes));
  }
});
