// One port for several processes: what happens when one is killed, or closes a server.
// One file, though long: what one end leaves behind, the other does, too.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createServer } from 'millrace/http';
import {
  assertOwners,
  brief,
  Load,
  request,
  SharedPort,
  sumOf,
  until,
  within,
} from '../../../fixtures/stack/sharing/processes.js';

const limits = { timeout: 60_000 };

describe('a process that is killed', () => {
  test(
    'requests for the prefix of a killed process are answered 503 at once, and the other processes continue',
    limits,
    async (t) => {
      const sharedPort = await SharedPort.make(t);
      const [a, b] = await sharedPort.startAll('a /a/', 'b /b/');
      const atA = await sharedPort.connectTo('/a/');
      const atB = await sharedPort.connectTo('/b/');
      await b.kill();
      const gone = async (connection, options) => {
        const response = await within(2000, () => 'the 503', connection.ask('/b/', options));
        assert.equal(brief(response), '503 -');
        assert.equal(response.fields.connection, 'keep-alive');
        return response;
      };
      assert.match(String((await gone(atA)).body), /gone/);
      assert.equal(brief(await atA.ask('/a/')), '200 a');
      await gone(atA, { body: 'a body' });
      assert.equal((await gone(atA, { method: 'HEAD' })).body.length, 0);
      assert.equal(brief(await atA.ask('/a/', { body: 'another' })), '200 a');
      for (let at = 0; at < 10; at++) {
        await gone(await sharedPort.connect());
        assert.equal(brief(await sharedPort.ask('/a/')), '200 a');
      }
      await atB.rest();
      assert.equal((await sharedPort.ask('/x')).status, 404, 'what nobody ever had');
      assert.equal((await a.stats('a')).requests.unowned, 14);
    },
  );

  test(
    'a request that a killed process is answering ends with it, and so do those after it',
    limits,
    async (t) => {
      const sharedPort = await SharedPort.make(t);
      const [, b] = await sharedPort.startAll('a /a/', 'b /b/');
      const connection = await sharedPort.connectTo('/a/');
      connection.write(Buffer.concat([request('/b/1?hold=1'), request('/a/2'), request('/b/3')]));
      await b.said({ said: 'holding' });
      await b.kill();
      assert.equal((await connection.rest()).length, 0, 'nothing in its place');
      assert.equal(brief(await sharedPort.ask('/a/2')), '200 a');
    },
  );

  test(
    'under load only the owner answers, and no request of other processes is lost',
    limits,
    async (t) => {
      const sharedPort = await SharedPort.make(t);
      const [, b] = await sharedPort.startAll('a /a/', 'b /b/', 'c /c/');
      const load = new Load(sharedPort, 40, (client, number) => {
        // The first ten are a's and c's alone.
        const owner = client < 10 ? 'ac'[client % 2] : 'abc'[(client + number) % 3];
        const body = number % 4 === 0 ? `body ${client} ${number}` : undefined;
        const statuses = owner === 'b' ? [200, 503] : [200];
        return { target: `/${owner}/${client}/${number}`, owner, body, statuses };
      });
      await load.more(30);
      assert.deepEqual(load.lost, [], 'before');
      assert.equal(load.counts['503 -'], undefined, 'before');
      await b.kill();
      await load.more(1);
      const { length } = load.lost;
      await load.more(30);
      assert.equal(load.lost.length, length, 'nothing is lost once it is gone');
      const before = load.counts['200 b'];
      await load.more(10);
      assert.equal(load.counts['200 b'], before, 'nobody answers for it');
      const again = await sharedPort.start('b /b/');
      await load.more(1);
      const gone = load.counts['503 -'];
      await load.more(30);
      assert.equal(load.counts['503 -'], gone, 'it has its prefix back');
      assert.ok(load.counts['200 b'] > before);
      await load.stop();
      assert.ok(gone > 0);
      assert.deepEqual(load.wrong, []);
      assert.deepEqual(
        load.lost.filter(({ client }) => client < 10),
        [],
        'who had nothing to do with it',
      );
      const each = load.lost.map(({ client }) => client);
      assert.equal(
        new Set(each).size,
        each.length,
        'of a client, the connection that it had there',
      );
      assert.equal((await again.stats('b')).requests.unowned, 0);
    },
  );

  test('another process with the same prefix gets all requests', limits, async (t) => {
    const sharedPort = await SharedPort.make(t);
    const [one, two] = await sharedPort.startAll('one /s/', 'two /s/', 'other /o/');
    const load = new Load(sharedPort, 20, (client, number) => ({
      target: number % 2 ? `/o/${client}/${number}` : `/s/${client}/${number}`,
      owner: number % 2 ? 'other' : ['one', 'two'],
    }));
    await load.more(20);
    assert.deepEqual(load.lost, []);
    await one.kill();
    await load.more(1);
    const { length } = load.lost;
    const before = load.counts['200 one'];
    await load.more(20);
    await load.stop();
    assert.ok(before > 0);
    assert.equal(load.counts['200 one'], before);
    assert.equal(load.lost.length, length, 'nothing is lost once it is gone');
    assert.deepEqual(load.wrong, []);
    for (let at = 0; at < 20; at++) assert.equal(brief(await sharedPort.ask('/s/')), '200 two');
    await two.kill();
    assert.equal(brief(await sharedPort.ask('/s/')), '503 -');
  });

  test(
    'a restarted process gets its prefix back, also on connections that had a 503',
    limits,
    async (t) => {
      const sharedPort = await SharedPort.make(t);
      const [, b] = await sharedPort.startAll('a /a/', 'b /b/');
      const connection = await sharedPort.connectTo('/a/');
      let before = b;
      for (let round = 0; round < 3; round++) {
        await before.kill();
        assert.equal(brief(await connection.ask('/b/')), '503 -');
        before = await sharedPort.start('b /b/');
        const { status, json } = await connection.ask('/b/');
        assert.equal(status, 200);
        assert.equal(json.pid, before.pid);
        assert.equal(brief(await connection.ask('/a/')), '200 a');
      }
    },
  );

  test('a shorter prefix does not replace that of a killed process', limits, async (t) => {
    const sharedPort = await SharedPort.make(t);
    const [, b] = await sharedPort.startAll('root /', 'b /b/');
    await b.kill();
    await assertOwners(sharedPort, [
      ['/b/', '503 -'],
      ['/b', '503 -'],
      ['/c', '200 root'],
    ]);
    // Who comes later knows of it as well.
    await sharedPort.start('c /c/');
    await assertOwners(sharedPort, [
      ['/b/', '503 -'],
      ['/c/', '200 c'],
    ]);
  });

  test(
    'if the first process is killed, the port stays open, and others join, leave and take its prefix',
    limits,
    async (t) => {
      const sharedPort = await SharedPort.make(t);
      const first = await sharedPort.start('a /a/');
      const second = await sharedPort.start('b /b/');
      const connection = await sharedPort.connectTo('/b/');
      await first.kill();
      assert.equal(brief(await connection.ask('/b/')), '200 b');
      await assertOwners(sharedPort, [
        ['/a/', '503 -'],
        ['/b/', '200 b'],
      ]);
      const third = await sharedPort.start('c /c/');
      await sharedPort.start('a /a/');
      await assertOwners(sharedPort, [
        ['/a/', '200 a'],
        ['/b/', '200 b'],
        ['/c/', '200 c'],
      ]);
      await third.close('c');
      await second.kill();
      await assertOwners(sharedPort, [
        ['/a/', '200 a'],
        ['/b/', '503 -'],
        ['/c/', '404 -'],
      ]);
    },
  );

  test('if all processes are killed, the next one starts anew', limits, async (t) => {
    const sharedPort = await SharedPort.make(t);
    const all = await sharedPort.startAll('a /a/', 'b /b/', 'c /c/');
    await Promise.all(all.map((app) => app.kill()));
    await assert.rejects(sharedPort.connect(), { code: 'ECONNREFUSED' });
    assert.equal((await sharedPort.rendezvousSockets()).length, 3, 'what they have left');
    await sharedPort.startAll('a /a/', 'd /d/');
    await assertOwners(sharedPort, [
      ['/a/', '200 a'],
      ['/b/', '404 -'],
      ['/d/', '200 d'],
    ]);
    assert.equal((await sharedPort.rendezvousSockets()).length, 2);
  });

  test(
    'connections that a killed process has not accepted move to another, or are answered 503',
    limits,
    async (t) => {
      const sharedPort = await SharedPort.make(t);
      const [a, one] = await sharedPort.startAll('a /a/', 'one /s/');
      const connections = [];
      for (let at = 0; at < 20; at++) connections.push(await sharedPort.connectTo('/a/'));
      const give = async () => {
        const { moved } = (await a.stats('a')).connections;
        for (const [at, connection] of connections.entries()) {
          connection.send(`/s/${at}`, { body: `body ${at}`.repeat(at * 1000) });
        }
        await until('all of them are given', async () => {
          return (await a.stats('a')).connections.moved === moved + connections.length;
        });
      };
      await one.stop();
      await give();
      await one.kill();
      for (const connection of connections) {
        assert.equal(brief(await connection.response()), '503 -');
        assert.equal(brief(await connection.ask('/a/')), '200 a');
      }
      const two = await sharedPort.start('two /s/');
      await two.stop();
      await give();
      two.goOn();
      for (const [at, connection] of connections.entries()) {
        const { json } = await connection.response();
        assert.equal(json.name, 'two');
        assert.equal(json.sum, sumOf(`body ${at}`.repeat(at * 1000)));
      }
    },
  );

  test(
    'connections beyond those that a process has accepted are answered when it continues',
    limits,
    async (t) => {
      const sharedPort = await SharedPort.make(t);
      const [a, b] = await sharedPort.startAll('a /a/', 'b /b/');
      const connections = await Promise.all(
        Array.from({ length: 400 }, () => sharedPort.connect()),
      );
      await Promise.all(connections.map((connection) => connection.ask('/a/')));
      const { moved } = (await a.stats('a')).connections;
      await b.stop();
      const body = 'a body '.repeat(3000);
      for (const [at, connection] of connections.entries()) connection.send(`/b/${at}`, { body });
      await until('all of them are given', async () => {
        return (await a.stats('a')).connections.moved === moved + connections.length;
      });
      assert.equal((await a.stats('a')).connections.open, 0);
      b.goOn();
      for (const [at, connection] of connections.entries()) {
        const { status, json } = await connection.response();
        assert.equal(status, 200);
        assert.deepEqual([json.name, json.url, json.sum], ['b', `/b/${at}`, sumOf(body)]);
      }
    },
  );

  test('connections that a killed process had passed on before are answered', limits, async (t) => {
    const sharedPort = await SharedPort.make(t);
    const [a, b] = await sharedPort.startAll('a /a/', 'b /b/');
    const connection = await sharedPort.connectTo('/b/');
    const { moved } = (await b.stats('b')).connections;
    await a.stop();
    connection.send('/a/', { body: 'body' });
    await until('b has given it', async () => (await b.stats('b')).connections.moved > moved);
    await b.kill();
    a.goOn();
    assert.equal(brief(await connection.response()), '200 a');
    assert.equal(brief(await connection.ask('/b/')), '503 -');
  });
});

describe('a server that is closed releases its prefix', () => {
  test(
    'requests for a released prefix are answered 404 or by the next shorter prefix',
    limits,
    async (t) => {
      const sharedPort = await SharedPort.make(t);
      const [, b] = await sharedPort.startAll('a /a/', 'b /b/', ['long /a/b/']);
      const connection = await sharedPort.connectTo('/a/');
      await b.close('b');
      assert.equal(brief(await connection.ask('/b/')), '404 -');
      await assertOwners(sharedPort, [
        ['/a/', '200 a'],
        ['/b/', '404 -'],
        ['/a/b/', '200 long'],
      ]);
      // Somebody else takes it: it is nobody's any more.
      await sharedPort.start('c /b/');
      assert.equal(brief(await connection.ask('/b/')), '200 c');
    },
  );

  test('the next shorter prefix gets the requests of a released longer one', limits, async (t) => {
    const sharedPort = await SharedPort.make(t);
    const [, long] = await sharedPort.startAll(['root /', 'short /a/'], 'long /a/b/');
    const connection = await sharedPort.connectTo('/a/b/');
    await long.close('long');
    await connection.rest();
    await assertOwners(sharedPort, [
      ['/a/b/', '200 short'],
      ['/x', '200 root'],
    ]);
    await long.listen('long');
    await assertOwners(sharedPort, [['/a/b/', '200 long']]);
  });

  test('the only remaining server of a prefix gets all its requests', limits, async (t) => {
    const sharedPort = await SharedPort.make(t);
    const [one] = await sharedPort.startAll('one /s/', 'two /s/');
    await one.close('one');
    for (let at = 0; at < 20; at++) assert.equal(brief(await sharedPort.ask('/s/')), '200 two');
  });

  test(
    'connections that wait for a request end at a close, and one that is answered continues',
    limits,
    async (t) => {
      const sharedPort = await SharedPort.make(t);
      const [a, b] = await sharedPort.startAll('a /a/', 'b /b/');
      const idle = await sharedPort.connectTo('/b/');
      const busy = await sharedPort.connectTo('/b/');
      busy.send('/b/?hold=1');
      await b.said({ said: 'holding' });
      const closed = b.close('b');
      // So it has begun to close.
      assert.equal((await idle.rest()).length, 0);
      assert.equal(idle.over, 'end');
      assert.equal(brief(await sharedPort.ask('/b/')), '404 -', 'a new one');
      assert.ok(!b.hasSaid({ said: 'closed' }), 'it has a connection');
      b.release('1');
      assert.equal(brief(await busy.response()), '200 b');
      assert.equal(brief(await busy.ask('/b/')), '404 -', "its next request is nobody's");
      assert.equal(brief(await busy.ask('/a/')), '200 a', "and the one behind that is a's");
      assert.equal((await closed).code, undefined);
      assert.equal((await a.stats('a')).connections.open, 1);
    },
  );

  test(
    'requests after the last response of a closed server move to their owner',
    limits,
    async (t) => {
      const sharedPort = await SharedPort.make(t);
      const [, b] = await sharedPort.startAll('a /a/', 'b /b/');
      for (let round = 0; round < 10; round++) {
        const connection = await sharedPort.connectTo('/b/');
        connection.write(Buffer.concat([request('/b/?hold=1'), request('/a/2')]));
        await b.said({ said: 'holding' });
        const closed = b.close('b');
        await until('it has begun', async () => (await sharedPort.ask('/b/')).status === 404);
        b.release('1');
        assert.equal(brief(await connection.response()), '200 b');
        assert.equal(brief(await connection.response()), '200 a', `round ${round}`);
        await closed;
        await until(
          'its rendezvous socket is gone',
          async () => (await sharedPort.rendezvousSockets()).length === 1,
        );
        await b.listen('b');
      }
    },
  );

  test('a response that has begun is sent to its end', limits, async (t) => {
    const sharedPort = await SharedPort.make(t);
    const [, b] = await sharedPort.startAll('a /a/', 'b /b/');
    const connection = await sharedPort.connectTo('/b/');
    connection.socket.pause();
    connection.send('/b/?begin=1');
    await b.said({ said: 'holding' });
    const waiting = await sharedPort.connectTo('/b/');
    const closed = b.close('b');
    await waiting.rest();
    b.release('1');
    connection.socket.resume();
    const { body } = await connection.response();
    assert.ok(body.equals(Buffer.alloc(10_000_000, 'b')), 'what was sent');
    connection.socket.end();
    await closed;
  });

  test('a closed server can listen again and again', limits, async (t) => {
    const sharedPort = await SharedPort.make(t);
    const [, b] = await sharedPort.startAll('a /a/', 'b /b/');
    for (let round = 0; round < 5; round++) {
      await b.close('b');
      await until(
        'its rendezvous socket is gone',
        async () => (await sharedPort.rendezvousSockets()).length === 1,
      );
      assert.equal(brief(await sharedPort.ask('/b/')), '404 -');
      await b.listen('b');
      await assertOwners(sharedPort, [
        ['/b/', '200 b'],
        ['/a/', '200 a'],
      ]);
    }
  });

  test('a closed server can listen again at once, next to others', limits, async (t) => {
    const sharedPort = await SharedPort.make(t);
    const [, b] = await sharedPort.startAll('a /a/', 'b /b/');
    for (let round = 0; round < 50; round++) {
      await b.order('again b', { said: 'listening' });
      assert.equal(brief(await sharedPort.ask('/b/')), '200 b', `round ${round}`);
    }
  });

  test('a closed server can listen again at once, alone', limits, async (t) => {
    const sharedPort = await SharedPort.make(t);
    const app = await sharedPort.start('a /a/');
    for (let round = 0; round < 50; round++) {
      await app.order('again a', { said: 'listening' });
      assert.equal(brief(await sharedPort.ask('/a/')), '200 a', `round ${round}`);
    }
  });

  test('a connection without a request stays with the other processes', limits, async (t) => {
    const sharedPort = await SharedPort.make(t);
    const a = await sharedPort.start('a /a/');
    const connection = await sharedPort.connect();
    // They are accepted in order: it is a's.
    await sharedPort.ask('/a/');
    await sharedPort.start('b /b/');
    await a.close('a');
    assert.equal(brief(await connection.ask('/b/')), '200 b');
  });

  test('a server that is closed before it listens does not listen', limits, async (t) => {
    const sharedPort = await SharedPort.make(t);
    await sharedPort.start('a /a/');
    process.env.MILLRACE_PORTS = sharedPort.directory;
    const server = createServer();
    t.after(() => server.close());
    server.listen(sharedPort.prefix('/b/'));
    server.close();
    // By then it has joined, or never will.
    await sharedPort.start('c /c/');
    assert.ok(!server.listening, 'it listens');
  });

  test(
    'a request that arrives before others know of a released prefix is answered',
    limits,
    async (t) => {
      const sharedPort = await SharedPort.make(t);
      const [root, b] = await sharedPort.startAll('root /', 'b /b/');
      for (let round = 0; round < 8; round++) {
        const connection = await sharedPort.connectTo('/');
        await root.stop();
        connection.send('/b/');
        await b.close('b');
        await until(
          'its rendezvous socket is gone',
          async () => (await sharedPort.rendezvousSockets()).length === 1,
        );
        root.goOn();
        assert.equal(brief(await connection.response()), '200 root', `round ${round}`);
        assert.equal(brief(await connection.ask('/b/')), '200 root', `round ${round}`);
        await b.listen('b');
      }
    },
  );

  test(
    'a request that arrives before others know of a released prefix is answered if its process continues',
    limits,
    async (t) => {
      const sharedPort = await SharedPort.make(t);
      const [root, b] = await sharedPort.startAll('root /', ['b /b/', 'c /c/']);
      const connection = await sharedPort.connectTo('/');
      await root.stop();
      connection.send('/b/', { body: 'body' });
      await b.close('b');
      root.goOn();
      const { name, json } = await connection.response();
      assert.equal(name, 'root');
      assert.equal(json.sum, sumOf('body'));
      assert.equal(brief(await connection.ask('/c/')), '200 c');
    },
  );

  test('a connection that a closed server has passed on is answered', limits, async (t) => {
    const sharedPort = await SharedPort.make(t);
    const [root, b] = await sharedPort.startAll('root /', 'b /b/');
    const connection = await sharedPort.connectTo('/b/');
    const { moved } = (await b.stats('b')).connections;
    await root.stop();
    connection.send('/', { body: 'body' });
    await until('b has given it', async () => (await b.stats('b')).connections.moved > moved);
    await b.close('b');
    await until(
      'its rendezvous socket is gone',
      async () => (await sharedPort.rendezvousSockets()).length === 1,
    );
    root.goOn();
    assert.equal(brief(await connection.response()), '200 root');
    assert.equal(brief(await connection.ask('/b/')), '200 root');
  });

  test(
    'under load the requests of others are answered, and those of a closed server have no owner',
    limits,
    async (t) => {
      const sharedPort = await SharedPort.make(t);
      const [, b] = await sharedPort.startAll('a /a/', 'b /b/');
      const load = new Load(sharedPort, 20, (client, number) => {
        const owner = client < 10 ? 'a' : 'ab'[number % 2];
        const statuses = owner === 'b' ? [200, 404] : [200];
        return { target: `/${owner}/${client}/${number}`, owner, statuses };
      });
      await load.more(20);
      await b.close('b');
      await load.more(1);
      const before = load.counts['200 b'];
      await load.more(20);
      await load.stop();
      assert.equal(load.counts['200 b'], before, 'nobody answers for it');
      assert.deepEqual(
        load.lost.filter(({ client }) => client < 10),
        [],
        'who had nothing to do with it',
      );
      assert.deepEqual(load.wrong.slice(0, 3), []);
      assert.ok(load.counts['404 -'] > 0);
    },
  );

  test(
    'if one of several servers of a prefix closes, every new connection is answered',
    limits,
    async (t) => {
      const sharedPort = await SharedPort.make(t);
      const apps = await sharedPort.startAll('one /s/', 'two /s/');
      // A connection for each request: none is idle.
      const load = new Load(sharedPort, 8, (client, number) => ({
        target: `/s/${client}/${number}`,
        owner: ['one', 'two'],
        isLast: true,
      }));
      await load.more(10);
      for (let round = 0; round < 6; round++) {
        const name = ['one', 'two'][round % 2];
        await apps[round % 2].close(name);
        await until(
          'its rendezvous socket is gone',
          async () => (await sharedPort.rendezvousSockets()).length === 1,
        );
        await load.more(5);
        await apps[round % 2].listen(name);
        await load.more(5);
      }
      await load.stop();
      assert.deepEqual(load.wrong, []);
      assert.deepEqual(load.lost, []);
    },
  );
});
