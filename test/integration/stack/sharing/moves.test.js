// One port for several processes: how a connection goes to whom its next request belongs to.
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import {
  assertOwners,
  brief,
  request,
  SharedPort,
  sumOf,
  until,
  within,
} from '../../../fixtures/stack/sharing/processes.js';

const limits = { timeout: 60_000 };
const isLinux = process.platform === 'linux';

describe('a connection moves to the owner of its next request', () => {
  test('owners one after the other see the same connection', limits, async (t) => {
    const sharedPort = await SharedPort.make(t);
    const [a, b] = await sharedPort.startAll('a /a/', 'b /b/');
    const connection = await sharedPort.connect();
    for (let at = 0; at < 100; at++) {
      const [name, app] = at % 2 === 0 ? ['a', a] : ['b', b];
      const { status, json } = await connection.ask(`/${name}/${at}`, { body: `body ${at}` });
      assert.equal(status, 200);
      const { pid, from, url, sum } = json;
      assert.deepEqual(
        { name: json.name, pid, from, url, sum },
        {
          name,
          pid: app.pid,
          from: connection.port,
          url: `/${name}/${at}`,
          sum: sumOf(`body ${at}`),
        },
      );
    }
  });

  test('a moved connection leaves no descriptors and no connections behind, and applications see it close', {
    ...limits,
    skip: !isLinux && 'there is no /proc',
  }, async (t) => {
    const sharedPort = await SharedPort.make(t);
    const [a, b] = await sharedPort.startAll('a /a/', 'b /b/');
    const descriptors = async (name) =>
      (await sharedPort.ask(`/${name}/?show=descriptors`)).json.descriptors;
    const others = async (name) =>
      (await sharedPort.ask(`/${name}/?show=connections`)).json.connections - 1;
    // Whatever is made on first use is there.
    const first = await sharedPort.connectTo('/a/');
    await first.ask('/b/');
    first.socket.destroy();
    await until('no connection but the one that asks', async () => (await others('b')) === 0);
    const before = { a: await descriptors('a'), b: await descriptors('b') };
    const connections = await Promise.all(Array.from({ length: 20 }, () => sharedPort.connect()));
    for (let at = 0; at < 10; at++) {
      await Promise.all(connections.map((one) => one.ask('/a/')));
      await Promise.all(connections.map((one) => one.ask('/b/')));
    }
    await until('all of them at b', async () => (await others('b')) === 20);
    await until('none of them at a', async () => (await others('a')) === 0);
    assert.equal((await a.stats('a')).connections.open, 0);
    assert.equal((await b.stats('b')).connections.open, 20);
    await until(
      'a has closed their descriptors',
      async () => (await descriptors('a')) === before.a,
    );
    for (const { socket } of connections) socket.destroy();
    await until(
      'b has closed their descriptors',
      async () => (await descriptors('b')) === before.b,
    );
  });

  test('moves are counted in connections.moved and requests.unowned', limits, async (t) => {
    const sharedPort = await SharedPort.make(t);
    const [a, b] = await sharedPort.startAll('a /a/', 'b /b/');
    const connection = await sharedPort.connectTo('/a/');
    const before = (await a.stats('a')).connections.moved;
    const beforeB = (await b.stats('b')).connections.moved;
    for (const target of ['/b/', '/a/', '/b/', '/x', '/x', '/b/', '/a/', '/x']) {
      await connection.ask(target);
    }
    // The client may be faster than the count.
    await until('a has given it away twice', async () => {
      const { moved } = (await a.stats('a')).connections;
      assert.ok(moved <= before + 2, `${moved - before} times`);
      return moved === before + 2;
    });
    const { connections, requests } = await b.stats('b');
    assert.equal(connections.moved, beforeB + 2);
    // Whoever has it answers.
    assert.equal(requests.unowned, 2);
    assert.equal((await a.stats('a')).requests.unowned, 1);
    // What has been counted stays when the server is closed.
    const last = await b.close('b').then(() => b.stats('b'));
    assert.equal(last.connections.moved, beforeB + 2);
    assert.equal(last.requests.unowned, 2);
  });

  test('moves are counted in MILLRACE_STATS_FILE as well', limits, async (t) => {
    const sharedPort = await SharedPort.make(t);
    const file = join(sharedPort.directory, 'stats');
    const a = await sharedPort.start('a /a/', { env: { MILLRACE_STATS_FILE: file } });
    // It is a's: there is nobody else yet.
    const connection = await sharedPort.connectTo('/a/');
    await connection.ask('/x');
    await sharedPort.start('b /b/');
    assert.equal(brief(await connection.ask('/b/')), '200 b');
    const { connections, requests } = await a.stats('a');
    await a.end();
    const counted = JSON.parse(await readFile(file, 'utf8'));
    assert.deepEqual([counted.connections.moved, counted.requests.unowned], [1, 1]);
    assert.deepEqual([connections.moved, requests.unowned], [1, 1]);
  });

  test(
    'requests pipelined for several owners, with bodies and a slow first one, are answered in order',
    limits,
    async (t) => {
      const sharedPort = await SharedPort.make(t);
      const [a] = await sharedPort.startAll('a /a/', 'b /b/', 'c /c/');
      const connection = await sharedPort.connectTo('/b/');
      const owners = ['a', 'b', 'b', 'c', 'a', 'a', 'b', 'c', 'c', 'a', 'b', 'a', 'c'];
      const requests = owners.map((name, at) => ({
        target: `/${name}/${at}${at === 0 ? '?hold=first' : ''}`,
        // Of every third, more than is read at once.
        body: String(at).repeat(at % 3 === 0 ? 100_000 : 50),
        name,
      }));
      connection.write(
        Buffer.concat(requests.map(({ target, body }) => request(target, { body }))),
      );
      await a.said({ said: 'holding' });
      assert.equal(
        brief(await sharedPort.ask('/b/?show=seen')),
        '200 b',
        'others are served meanwhile',
      );
      const { seen } = (await sharedPort.ask('/b/?show=seen')).json;
      assert.ok(
        !seen.includes('POST /b/1'),
        'no request begins before those before it are answered',
      );
      a.release('first');
      for (const { target, body, name } of requests) {
        const response = await connection.response();
        assert.equal(brief(response), `200 ${name}`, target);
        assert.equal(response.url, target);
        assert.equal(response.json.sum, sumOf(body), `the body of ${target}`);
        assert.equal(response.json.from, connection.port);
      }
    },
  );

  test(
    'a connection does not move after the last response of its connection',
    limits,
    async (t) => {
      const sharedPort = await SharedPort.make(t);
      const [a] = await sharedPort.startAll('a /a/', 'b /b/');
      const connection = await sharedPort.connect({ allowHalfOpen: true });
      // What comes with it, and what comes when it is there.
      connection.write(Buffer.concat([request('/a/1?last=1'), request('/b/2')]));
      const response = await connection.response();
      assert.equal(brief(response), '200 a');
      assert.equal(response.fields.connection, 'close');
      assert.equal((await connection.rest()).length, 0);
      connection.socket.end(Buffer.concat([request('/b/3'), request('/x')]));
      await until('it is over', async () => (await a.stats('a')).connections.open === 0);
      await sharedPort.settle();
      assert.deepEqual((await sharedPort.ask('/b/?show=seen')).json.seen, ['GET /b/?show=seen']);
      assert.equal((await a.stats('a')).requests.unowned, 0);
    },
  );

  test(
    'a connection without a descriptor at its owner is answered 503, and the others continue',
    limits,
    async (t) => {
      const sharedPort = await SharedPort.make(t);
      await sharedPort.start('a /a/');
      // More than Node.js needs for itself, and fewer than there are connections.
      const b = await sharedPort.start('b /b/', { user: { descriptors: 64 } });
      const connections = await Promise.all(
        Array.from({ length: 100 }, () => sharedPort.connectTo('/a/')),
      );
      const counts = {};
      for (const connection of connections) {
        const answer = brief(await connection.ask('/b/'));
        counts[answer] = (counts[answer] ?? 0) + 1;
      }
      assert.deepEqual(Object.keys(counts).sort(), ['200 b', '503 -'], JSON.stringify(counts));
      for (const connection of connections)
        assert.equal(brief(await connection.ask('/a/')), '200 a');
      await until('b has room', async () => (await b.stats('b')).connections.open === 0);
      assert.equal(brief(await connections[0].ask('/b/')), '200 b');
    },
  );

  test(
    'pipelined requests of a client that ends its side are all answered before the connection ends',
    limits,
    async (t) => {
      const sharedPort = await SharedPort.make(t);
      const [a] = await sharedPort.startAll('a /a/', 'b /b/');
      const connection = await sharedPort.connect();
      connection.socket.end(
        Buffer.concat([
          request('/b/1'),
          request('/a/2?hold=2'),
          request('/b/3', { body: 'three' }),
          request('/x'),
          request('/a/4'),
        ]),
      );
      assert.equal(brief(await connection.response()), '200 b');
      await a.said({ said: 'holding' });
      a.release('2');
      assert.equal(brief(await connection.response()), '200 a');
      assert.equal((await connection.response()).json.sum, sumOf('three'));
      assert.equal(brief(await connection.response()), '404 -');
      assert.equal(brief(await connection.response()), '200 a');
      assert.equal((await connection.rest()).length, 0);
      assert.equal(connection.over, 'end');
    },
  );

  test('a large request and a large response move there and back', limits, async (t) => {
    const sharedPort = await SharedPort.make(t);
    await sharedPort.startAll('a /a/', 'b /b/');
    const connection = await sharedPort.connectTo('/a/');
    const body = Buffer.alloc(10_000_000, 'a long body ');
    for (const name of ['b', 'a']) {
      const { json } = await connection.ask(`/${name}/`, { body });
      assert.equal(json.name, name);
      assert.equal(json.length, body.length);
      assert.equal(json.sum, sumOf(body));
      const large = await connection.ask(`/${name}/?size=20000000`);
      assert.equal(brief(large), `200 ${name}`);
      assert.ok(large.body.equals(Buffer.alloc(20_000_000, name)), 'what was sent');
    }
  });

  test(
    'a response to a slow client is complete before the next owner answers',
    limits,
    async (t) => {
      const sharedPort = await SharedPort.make(t);
      await sharedPort.startAll('a /a/', 'b /b/');
      const connection = await sharedPort.connectTo('/a/');
      connection.socket.pause();
      connection.write(
        Buffer.concat([request('/a/?size=20000000'), request('/b/'), request('/a/')]),
      );
      // It has come as far as it can: others of the same server are answered.
      await until('the large response has begun', async () => {
        const { seen } = (await sharedPort.ask('/a/?show=seen')).json;
        return seen.includes('GET /a/?size=20000000');
      });
      const { seen } = (await sharedPort.ask('/b/?show=seen')).json;
      assert.deepEqual(
        seen.filter((line) => line === 'GET /b/'),
        [],
      );
      connection.socket.resume();
      const large = await connection.response();
      assert.ok(large.body.equals(Buffer.alloc(20_000_000, 'a')), 'what was sent');
      assert.equal(brief(await connection.response()), '200 b');
      assert.equal(brief(await connection.response()), '200 a');
    },
  );

  test('a head that arrives byte by byte moves to its owner', limits, async (t) => {
    const sharedPort = await SharedPort.make(t);
    await sharedPort.startAll('a /a/', 'b /b/');
    const connection = await sharedPort.connectTo('/a/');
    connection.socket.setNoDelay(true);
    for (const name of ['b', 'a', 'b']) {
      for (const byte of request(`/${name}/slowly`, { body: 'and its body' })) {
        connection.write(Buffer.of(byte));
        await new Promise(setImmediate);
      }
      const { json } = await connection.response();
      assert.equal(json.name, name);
      assert.equal(json.url, `/${name}/slowly`);
      assert.equal(json.sum, sumOf('and its body'));
    }
    // The first request of a connection: nobody has it yet.
    const fresh = await sharedPort.connect();
    for (const byte of request('/b/first')) {
      fresh.write(Buffer.of(byte));
      await new Promise(setImmediate);
    }
    assert.equal((await fresh.response()).json.url, '/b/first');
  });

  test('bytes that were read with a head move with it', limits, async (t) => {
    const sharedPort = await SharedPort.make(t);
    await sharedPort.startAll('a /a/', 'b /b/');
    for (const length of [1, 1000, 60_000, 65_536, 200_000]) {
      const connection = await sharedPort.connectTo('/a/');
      const body = Buffer.alloc(length, 'body');
      const chunked = `${length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
      connection.write(
        Buffer.concat([
          // Empty lines before a request are none of it.
          Buffer.from('\r\n'),
          request('/b/1', { body }),
          request('/b/2', { method: 'PUT', fields: ['Transfer-Encoding: chunked'] }),
          Buffer.from(chunked),
          request('/a/3', { body }),
        ]),
      );
      for (const name of ['b', 'b', 'a']) {
        const { json } = await connection.response();
        assert.equal(json.name, name);
        assert.equal(json.sum, sumOf(body), `${length} bytes to ${json.url}`);
      }
    }
  });

  test(
    'the owner of a request with Expect: 100-continue asks for the body once',
    limits,
    async (t) => {
      const sharedPort = await SharedPort.make(t);
      await sharedPort.startAll('a /a/', 'b /b/');
      const connection = await sharedPort.connectTo('/a/');
      for (const name of ['b', 'a', 'b']) {
        const fields = ['Expect: 100-continue', 'Content-Length: 4'];
        connection.send(`/${name}/`, { method: 'POST', fields });
        assert.equal((await connection.response()).status, 100);
        connection.write('body');
        const { status, json } = await connection.response();
        assert.equal(status, 200);
        assert.equal(json.name, name);
        assert.equal(json.sum, sumOf('body'));
      }
    },
  );

  test('an upgrade moves to its owner with the bytes after it', limits, async (t) => {
    const sharedPort = await SharedPort.make(t);
    const settings = { upgrade: true };
    const a = await sharedPort.start('a /a/', settings);
    const b = await sharedPort.start('b /b/', settings);
    const fields = ['Upgrade: echo', 'Connection: Upgrade'];
    for (const from of ['/a/', '/b/', null]) {
      const connection =
        from === null ? await sharedPort.connect() : await sharedPort.connectTo(from);
      connection.write(Buffer.concat([request('/b/up', { fields }), Buffer.from('what follows')]));
      const { status, name } = await connection.response();
      assert.equal(`${status} ${name}`, '101 b', `from ${from}`);
      assert.equal((await b.said({ said: 'upgrade' })).url, '/b/up');
      connection.socket.end(' and more');
      assert.equal(String(await connection.rest()), 'what follows and more');
    }
    const upgraded = a.said({ said: 'upgrade' });
    const own = await sharedPort.connectTo('/b/');
    own.send('/a/up', { fields });
    assert.equal((await own.response()).name, 'a');
    assert.equal((await upgraded).url, '/a/up', 'the only one that a has seen');
    const unknown = await sharedPort.connectTo('/a/');
    unknown.send('/x', { fields });
    assert.equal((await unknown.response()).status, 404);
  });

  test('responses from the cache are in order with those of other processes', limits, async (t) => {
    const sharedPort = await SharedPort.make(t);
    const settings = { options: { cache: true } };
    const [a, b] = [
      await sharedPort.start('a /a/', settings),
      await sharedPort.start('b /b/', settings),
    ];
    await sharedPort.ask('/a/?cache=60');
    await sharedPort.ask('/b/?cache=60');
    const connection = await sharedPort.connect();
    const targets = [
      '/a/?cache=60',
      '/b/?cache=60',
      '/a/?cache=60',
      '/a/1',
      '/b/2',
      '/b/?cache=60',
      '/x',
      '/a/?cache=60',
      '/x',
      '/b/?cache=60',
    ];
    for (let round = 0; round < 3; round++) {
      connection.write(Buffer.concat(targets.map((target) => request(target))));
      for (const target of targets) {
        const response = await connection.response();
        const owner = target === '/x' ? '404 -' : `200 ${target[1]}`;
        assert.equal(brief(response), owner, target);
        if (target !== '/x') assert.equal(response.url, target);
      }
    }
    assert.equal((await a.stats('a')).requests.cached, 9);
    assert.equal((await b.stats('b')).requests.cached, 9);
  });

  test('headersTimeout starts again at the new owner of a connection', limits, async (t) => {
    const sharedPort = await SharedPort.make(t);
    await sharedPort.start('a /a/');
    const short = { headersTimeout: 300, requestTimeout: 300, connectionsCheckingInterval: 50 };
    await sharedPort.start('b /b/', { options: short });
    const connection = await sharedPort.connectTo('/a/');
    assert.equal(brief(await connection.ask('/b/')), '200 b');
    connection.write('GET /b/ HTTP/1.1\r\nHost');
    assert.match(String(await connection.rest()), /^HTTP\/1\.1 408 /);
    // And of a body, of which a part came along.
    const late = await sharedPort.connectTo('/a/');
    late.send('/b/', { method: 'POST', fields: ['Content-Length: 100'] });
    late.write('a part');
    assert.match(String(await late.rest()), /^HTTP\/1\.1 408 /);
  });

  test('a stored response to a slow client is complete, too', limits, async (t) => {
    const sharedPort = await SharedPort.make(t);
    const cache = { maxEntryBytes: 10_000_000, maxBytes: 20_000_000 };
    const a = await sharedPort.start('a /a/', { options: { cache } });
    await sharedPort.start('b /b/');
    const target = '/a/?size=8000000&cache=60';
    await sharedPort.ask(target);
    const connection = await sharedPort.connectTo('/a/');
    connection.socket.pause();
    connection.write(Buffer.concat([request(target), request('/b/'), request(target)]));
    await until('it is answered', async () => (await a.stats('a')).requests.cached === 1);
    connection.socket.resume();
    for (const owner of ['a', 'b', 'a']) {
      const response = await connection.response();
      assert.equal(brief(response), `200 ${owner}`);
      if (owner === 'a') assert.ok(response.body.equals(Buffer.alloc(8_000_000, 'a')), 'all of it');
    }
    assert.equal((await a.stats('a')).requests.cached, 2);
  });
});

describe('a process that computes', () => {
  /** The process a computes until `go` is called. */
  async function busy(t, prepare, settings = {}) {
    const sharedPort = await SharedPort.make(t);
    const a = await sharedPort.start('a /a/', { options: { cache: true }, ...settings });
    const b = await sharedPort.start('b /b/');
    const prepared = await prepare?.(sharedPort);
    const connection = await sharedPort.connectTo('/a/');
    const file = join(sharedPort.directory, 'go');
    connection.send(`/a/?busy=${file}`);
    await a.said({ said: 'busy' });
    a.away = true;
    const go = async () => {
      assert.equal(connection.over, null);
      await writeFile(file, '');
      assert.equal(brief(await connection.response()), '200 a');
      a.away = false;
    };
    return { sharedPort, a, b, go, prepared };
  }

  test(
    'a busy process does not delay other processes, even on connections that it has served or accepted',
    limits,
    async (t) => {
      const { sharedPort, go, prepared } = await busy(t, (all) =>
        Promise.all(
          Array.from({ length: 10 }, (_, at) => (at < 5 ? all.connectTo('/a/') : all.connect())),
        ),
      );
      for (const connection of prepared) {
        assert.equal(brief(await connection.ask('/b/', { body: 'z'.repeat(100_000) })), '200 b');
        assert.equal(brief(await connection.ask('/b/')), '200 b');
      }
      for (let at = 0; at < 20; at++) {
        assert.equal(brief(await sharedPort.ask('/b/')), '200 b');
        assert.equal(brief(await sharedPort.ask('/x')), '404 -');
      }
      const fresh = await Promise.all(Array.from({ length: 50 }, () => sharedPort.connect()));
      const answers = await Promise.all(fresh.map((one) => one.ask('/b/', { body: 'body' })));
      assert.ok(answers.every((response) => brief(response) === '200 b'));
      await go();
      for (const connection of [...prepared, ...fresh]) {
        assert.equal(brief(await connection.ask('/a/')), '200 a');
      }
    },
  );

  test("a busy process that listens for 'connection' does not delay others", limits, async (t) => {
    const { sharedPort, go } = await busy(t, undefined, { hears: true });
    const asked = Promise.all(Array.from({ length: 100 }, () => sharedPort.ask('/b/')));
    const answers = await within(5000, () => 'all responses of b', asked);
    assert.ok(answers.every((response) => brief(response) === '200 b'));
    await go();
  });

  test('a busy process does not delay others after a long time without work', limits, async (t) => {
    const sharedPort = await SharedPort.make(t);
    const names = ['a', 'c', 'd'];
    const apps = await sharedPort.startAll(...names.map((name) => `${name} /${name}/`), 'b /b/');
    for (let round = 0; round < 6; round++) {
      const file = join(sharedPort.directory, `go${round}`);
      const computing = await Promise.all(names.map((name) => sharedPort.connectTo(`/${name}/`)));
      const served = await Promise.all(names.map((name) => sharedPort.connectTo(`/${name}/`)));
      // Far longer than until whoever stands in for an event loop knows that it has nothing to do, and sleeps.
      await new Promise((resolve) => setTimeout(resolve, 100));
      for (const [at, name] of names.entries()) {
        computing[at].send(`/${name}/?busy=${file}`);
        await apps[at].said({ said: 'busy' });
        served[at].send('/b/');
      }
      for (const [at, name] of names.entries()) {
        const what = () => `what b has for a connection of ${name}, round ${round}`;
        assert.equal(brief(await within(5000, what, served[at].response())), '200 b');
      }
      await writeFile(file, '');
      for (const connection of computing) await connection.response();
    }
  });

  test(
    'requests for a busy process wait in order, and so do those from other processes',
    limits,
    async (t) => {
      const { sharedPort, go, prepared } = await busy(t, (all) => all.connectTo('/b/'));
      const own = await sharedPort.connect();
      own.write(
        Buffer.concat([request('/b/1'), request('/a/2', { body: 'two' }), request('/b/3')]),
      );
      prepared.write(Buffer.concat([request('/a/4'), request('/b/5'), request('/a/6')]));
      assert.equal((await own.response()).url, '/b/1');
      await go();
      for (const [connection, targets] of [
        [own, ['/a/2', '/b/3']],
        [prepared, ['/a/4', '/b/5', '/a/6']],
      ]) {
        for (const target of targets) {
          const response = await connection.response();
          assert.equal(brief(response), `200 ${target[1]}`);
          assert.equal(response.url, target);
        }
      }
    },
  );

  test(
    'stored responses of a busy process are in order with those of others',
    limits,
    async (t) => {
      const { sharedPort, go } = await busy(t, (all) => all.ask('/a/?cache=60'));
      const connection = await sharedPort.connect();
      const targets = [
        '/a/?cache=60',
        '/b/1',
        '/a/?cache=60',
        '/x',
        '/b/2',
        '/b/3',
        '/a/?cache=60',
      ];
      for (let round = 0; round < 5; round++) {
        connection.write(Buffer.concat(targets.map((target) => request(target))));
        for (const target of targets) {
          const response = await connection.response();
          assert.equal(brief(response), target === '/x' ? '404 -' : `200 ${target[1]}`);
          if (response.status === 200) assert.equal(response.url, target);
        }
      }
      await go();
    },
  );

  test('other processes join, leave and are killed while one is busy', limits, async (t) => {
    const { sharedPort, b, go } = await busy(t);
    const connection = await sharedPort.connectTo('/b/');
    const c = await sharedPort.start('c /c/');
    assert.equal(brief(await connection.ask('/c/')), '200 c');
    await c.close('c');
    const fresh = await sharedPort.connect();
    await until('nobody has it', async () => (await fresh.ask('/c/')).status === 404);
    await b.kill();
    // Only a can answer, beside its loop.
    for (let at = 0; at < 10; at++) {
      const response = within(5000, () => 'the 503', sharedPort.ask('/b/'));
      assert.equal(brief(await response), '503 -');
    }
    await sharedPort.start('b /b/');
    assert.equal(brief(await sharedPort.ask('/b/')), '200 b');
    await go();
    await assertOwners(sharedPort, [
      ['/a/', '200 a'],
      ['/b/', '200 b'],
      ['/c/', '404 -'],
    ]);
  });
});
