// One port for several processes: prefixes that several of them have, and several prefixes of one.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  assertOwners,
  brief,
  request,
  SharedPort,
  sumOf,
} from '../../../fixtures/stack/sharing/processes.js';

const limits = { timeout: 60_000 };

describe('several processes with the same prefix', () => {
  test(
    'two processes with one prefix get the connections in turn, whoever accepts them',
    limits,
    async (t) => {
      const sharedPort = await SharedPort.make(t);
      const shares = async (connections) => {
        const answers = await Promise.all(connections.map((connection) => connection.ask('/s/')));
        return ['one', 'two'].map((owner) => answers.filter(({ name }) => name === owner).length);
      };
      // These are accepted by the first.
      await sharedPort.start('one /s/');
      const accepted = await Promise.all(Array.from({ length: 50 }, () => sharedPort.connect()));
      await sharedPort.ask('/s/');
      await sharedPort.startAll('two /s/', 'other /o/');
      assert.deepEqual(await shares(accepted), [25, 25]);
      // These are given by another.
      const given = await Promise.all(
        Array.from({ length: 50 }, () => sharedPort.connectTo('/o/')),
      );
      assert.deepEqual(await shares(given), [25, 25]);
      // And these come to any of the three, which do not count together.
      const fresh = await Promise.all(Array.from({ length: 100 }, () => sharedPort.connect()));
      const [one, two] = await shares(fresh);
      assert.ok(one + two === 100 && Math.abs(one - two) <= 6, `one has ${one}, two has ${two}`);
      const counts = { one: 0, two: 0 };
      for (let at = 0; at < 100; at++) counts[(await sharedPort.ask('/s/')).name]++;
      assert.ok(Math.abs(counts.one - counts.two) <= 6, JSON.stringify(counts));
    },
  );

  test(
    'a connection stays with its process as long as its requests belong to it',
    limits,
    async (t) => {
      const sharedPort = await SharedPort.make(t);
      await sharedPort.startAll('one /s/', 'two /s/');
      for (let round = 0; round < 10; round++) {
        const connection = await sharedPort.connect();
        const { name } = await connection.ask('/s/');
        for (let at = 0; at < 20; at++) assert.equal((await connection.ask('/s/')).name, name);
      }
    },
  );

  for (const [what, settings, pid] of [
    ['worker threads', { threads: 2 }, 'thread'],
    ['workers of node:cluster', { workers: 2 }, 'pid'],
  ]) {
    test(`two ${what} share a prefix next to a process of another prefix`, limits, async (t) => {
      const sharedPort = await SharedPort.make(t);
      await sharedPort.start('s /s/', settings);
      await sharedPort.start('o /o/');
      const counts = new Map();
      for (let at = 0; at < 40; at++) {
        const { status, json } = await sharedPort.ask('/s/');
        assert.equal(status, 200);
        counts.set(json[pid], (counts.get(json[pid]) ?? 0) + 1);
      }
      assert.equal(counts.size, 2, JSON.stringify([...counts]));
      assert.ok(Math.min(...counts.values()) >= 12, JSON.stringify([...counts]));
      const connection = await sharedPort.connect();
      for (let at = 0; at < 10; at++) {
        assert.equal(brief(await connection.ask('/o/')), '200 o');
        assert.equal(brief(await connection.ask('/s/')), '200 s');
        assert.equal(brief(await connection.ask('/x')), '404 -');
      }
    });
  }

  test('if one worker of a cluster is killed, the other gets all requests', limits, async (t) => {
    const sharedPort = await SharedPort.make(t);
    const app = await sharedPort.start('s /s/', { workers: 2 });
    const { pid } = (await sharedPort.ask('/s/')).json;
    process.kill(pid, 'SIGKILL');
    await app.said({ said: 'worker gone', worker: pid });
    for (let at = 0; at < 20; at++) {
      const { status, json } = await sharedPort.ask('/s/');
      assert.equal(status, 200);
      assert.notEqual(json.pid, pid);
    }
  });

  test('two servers of one process have two prefixes', limits, async (t) => {
    const sharedPort = await SharedPort.make(t);
    const app = await sharedPort.start(['a /a/', 'b /b/']);
    const requests = [
      ['/a/', '200 a'],
      ['/b/', '200 b'],
      ['/x', '404 -'],
    ];
    await assertOwners(sharedPort, requests);
    await sharedPort.start('c /c/');
    await assertOwners(sharedPort, [...requests, ['/c/', '200 c']]);
    // Pipelined, within the process and out of it.
    const connection = await sharedPort.connectTo('/c/');
    const names = [...'abcbacab'];
    connection.write(
      Buffer.concat(names.map((name, at) => request(`/${name}/${at}`, { body: String(at) }))),
    );
    for (const [at, name] of names.entries()) {
      const { json } = await connection.response();
      assert.deepEqual([json.name, json.sum], [name, sumOf(String(at))]);
      assert.equal(json.from, connection.port);
    }
    await app.close('a');
    await assertOwners(sharedPort, [
      ['/a/', '404 -'],
      ['/b/', '200 b'],
      ['/c/', '200 c'],
    ]);
  });

  test('a terminated thread is treated as killed, and its process continues', limits, async (t) => {
    const sharedPort = await SharedPort.make(t);
    const app = await sharedPort.start('s /s/', { threads: 1 });
    await sharedPort.start('o /o/');
    const connection = await sharedPort.connectTo('/o/');
    await app.order('terminate', { said: 'terminated' });
    assert.equal(brief(await connection.ask('/s/')), '503 -');
    assert.equal(brief(await connection.ask('/o/')), '200 o');
  });
});
