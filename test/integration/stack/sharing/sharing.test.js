// One port for several processes: whose a request is, and what nobody has. One file, though long: all of it needs the same processes.
import assert from 'node:assert/strict';
import { networkInterfaces } from 'node:os';
import { describe, test } from 'node:test';
import {
  assertOwners,
  brief,
  request,
  SharedPort,
  sumOf,
  until,
} from '../../../fixtures/stack/sharing/processes.js';

const limits = { timeout: 60_000 };
const isLinux = process.platform === 'linux';
const hasIPv6 = Object.values(networkInterfaces())
  .flat()
  .some(({ address }) => address === '::1');

describe('the owner of a request', () => {
  test(
    'each process owns its prefix, with and without the last slash and in any case',
    limits,
    async (t) => {
      const sharedPort = await SharedPort.make(t);
      await sharedPort.startAll('a /foo/', 'b /bar/baz/');
      await assertOwners(sharedPort, [
        ['/foo/', '200 a'],
        ['/bar/baz/', '200 b'],
        ['/foo', '200 a'],
        ['/bar/baz', '200 b'],
        ['/foo/x/y', '200 a'],
        ['/foo/?to=/bar/baz/', '200 a'],
        ['/bar/baz?', '200 b'],
        ['/foo?/bar/baz/', '200 a'],
        ['/FOO/X', '200 a'],
        ['/Bar/BAZ', '200 b'],
        ['/foo//bar/baz/', '200 a'],
        ['/foobar', '404 -'],
        ['/fo', '404 -'],
        ['/bar', '404 -'],
        ['/bar/', '404 -'],
        ['/bar/bazz/', '404 -'],
        ['//foo/', '404 -'],
        ['/?/foo/', '404 -'],
        ['/', '404 -'],
      ]);
    },
  );

  test('prefixes are the same in upper and lower case', limits, async (t) => {
    const sharedPort = await SharedPort.make(t);
    await sharedPort.startAll('a /Foo/', 'b B.Test/Bar/');
    await assertOwners(sharedPort, [
      ['/foo/', '200 a'],
      ['/FOO', '200 a'],
      ['/bar/', '200 b', 'b.test'],
      ['/BAR/', '200 b', 'B.TEST'],
    ]);
  });

  test('the longest matching path owns a request', limits, async (t) => {
    const sharedPort = await SharedPort.make(t);
    await sharedPort.startAll('long /a/b/', 'root /', 'short /a/');
    await assertOwners(sharedPort, [
      ['/', '200 root'],
      ['/b', '200 root'],
      ['/ab', '200 root'],
      ['/a', '200 short'],
      ['/a/', '200 short'],
      ['/a/bc', '200 short'],
      ['/a?/a/b/', '200 short'],
      ['/a/b', '200 long'],
      ['/a/b/c', '200 long'],
      ['/A/B?', '200 long'],
    ]);
  });

  test(
    'the host + precedes names, names precede *, and only then the longest path counts',
    limits,
    async (t) => {
      const sharedPort = await SharedPort.make(t);
      await sharedPort.startAll(
        ['star /', 'long /x/long/'],
        ['name n.test/', 'other m.test/y/'],
        'plus +/x/',
      );
      await assertOwners(sharedPort, [
        ['/', '200 star'],
        ['/', '200 name', 'n.test'],
        ['/', '200 star', 'm.test'],
        ['/y/', '200 other', 'm.test'],
        ['/y/', '200 name', 'n.test'],
        ['/x/', '200 plus'],
        ['/x/long/', '200 plus'],
        ['/x/long/', '200 plus', 'n.test'],
        ['/xx/', '200 name', 'n.test'],
        // A name is whole.
        ['/', '200 star', 'n.test.a'],
        ['/', '200 star', 'a.n.test'],
      ]);
    },
  );

  test(
    'the field Host matches with a port, in any case, with spaces, and if it is missing',
    limits,
    async (t) => {
      const sharedPort = await SharedPort.make(t);
      await sharedPort.startAll('star /', 'name n.test/');
      await assertOwners(sharedPort, [
        ['/1', '200 name', 'n.test'],
        ['/2', '200 star', 'a'],
        ['/3', '200 name', `n.test:${sharedPort.port}`],
        ['/4', '200 star', `a:${sharedPort.port}`],
        ['/5', '200 name', `N.Test:${sharedPort.port}`],
        ['/6', '200 star', '[::1]:80'],
        ['/7', '200 name', '  n.test  '],
        ['/8', '200 star', ''],
      ]);
      const old = { version: '1.0' };
      assert.equal(brief(await sharedPort.ask('/', { ...old, host: 'n.test' })), '200 name');
      assert.equal(brief(await sharedPort.ask('/', { ...old, host: null })), '200 star');
    },
  );

  test('the request-target * belongs to the root', limits, async (t) => {
    const sharedPort = await SharedPort.make(t);
    await sharedPort.start('a /a/');
    const connection = await sharedPort.connect();
    assert.equal(brief(await connection.ask('*', { method: 'OPTIONS' })), '404 -');
    const root = await sharedPort.start('root /');
    const response = await connection.ask('*', { method: 'OPTIONS' });
    assert.equal(brief(response), '200 root');
    assert.equal(response.json.pid, root.pid);
  });

  test(
    'the host of an absolute target precedes the field Host, and no other application answers',
    limits,
    async (t) => {
      const sharedPort = await SharedPort.make(t);
      await sharedPort.startAll('star /', 'name n.test/x/');
      const root = { host: 'a' };
      const x = { host: 'n.test' };
      // Only Node's parser reads these: a connection stays where it is, or its client is to make another.
      for (const [from, options, target, host, owner] of [
        ['/x/', x, 'http://n.test/x/1', 'a', '200 name'],
        ['/', root, 'http://a/x/2', 'n.test', '200 star'],
        ['/x/', x, `HTTP://N.TEST:${sharedPort.port}/X/3`, 'a', '200 name'],
        ['/x/', x, 'http://u:p@n.test/x?4', 'a', '200 name'],
        ['/', root, 'http://n.test', 'n.test', '200 star'],
        ['/', root, 'http://n.test/x/5', 'a', '421 -'],
        ['/x/', x, 'http://a/x/6', 'n.test', '421 -'],
        ['/x/', x, 'http://n.test?/x/7', 'n.test', '421 -'],
      ]) {
        const connection = await sharedPort.connectTo(from, options);
        assert.equal(
          brief(await connection.ask(target, { host })),
          owner,
          `${target}, Host: ${host}`,
        );
      }
      const seen = async (target, options) =>
        (await sharedPort.ask(`${target}?show=seen`, options)).json.seen;
      assert.deepEqual(
        (await seen('/', root)).filter((line) => line.endsWith('5')),
        [],
      );
      assert.deepEqual(
        (await seen('/x/', x)).filter((line) => /[67]$/.test(line)),
        [],
      );
    },
  );

  test(
    'a host that is an address or localhost opens the port at that address only',
    limits,
    async (t) => {
      const sharedPort = await SharedPort.make(t);
      await sharedPort.startAll('a localhost/a/', 'b 127.0.0.1/b/');
      await assertOwners(sharedPort, [
        ['/a/', '200 a'],
        ['/b/', '200 b'],
        ['/b/', '200 b', 'n.test'],
        ['/', '404 -', 'localhost'],
      ]);
      if (isLinux) {
        await assert.rejects(sharedPort.connect({ host: '127.0.0.2' }), { code: 'ECONNREFUSED' });
      }
      if (hasIPv6) {
        await assert.rejects(sharedPort.connect({ host: '::1' }), { code: 'ECONNREFUSED' });
        await sharedPort.start('six [::1]/a/');
        const connection = await sharedPort.connect({ host: '::1' });
        assert.equal(brief(await connection.ask('/a/')), '200 six');
        assert.equal(brief(await connection.ask('/b/')), '404 -', 'they do not share an address');
        assert.equal(brief(await sharedPort.ask('/a/')), '200 a');
      }
    },
  );

  test('any other host opens the port at all addresses', limits, async (t) => {
    const sharedPort = await SharedPort.make(t);
    await sharedPort.startAll('star */a/', 'name n.test/b/', 'plus +/c/');
    const addresses = ['127.0.0.1', ...(hasIPv6 ? ['::1'] : [])];
    for (const host of addresses) {
      const connection = await sharedPort.connect({ host });
      assert.equal(brief(await connection.ask('/a/')), '200 star', host);
      assert.equal(brief(await connection.ask('/b/', { host: 'n.test' })), '200 name', host);
      assert.equal(brief(await connection.ask('/c/')), '200 plus', host);
    }
  });
});

describe('requests without an owner', () => {
  test('a client that asks and does not read is not read further', limits, async (t) => {
    const sharedPort = await SharedPort.make(t);
    const app = await sharedPort.start('a /a/');
    const connection = await sharedPort.connect();
    connection.socket.pause();
    const requests = 400_000;
    connection.write(Buffer.concat(Array(requests).fill(request('/b'))));
    let [before, same] = [-1, 0];
    await until('it has stopped', async () => {
      const { unowned } = (await app.stats('a')).requests;
      same = unowned === before && unowned > 0 ? same + 1 : 0;
      before = unowned;
      return same === 100;
    });
    assert.ok(before < requests / 2, `${before} were answered`);
    connection.socket.destroy();
    assert.equal(brief(await sharedPort.ask('/a/')), '200 a');
  });

  test(
    'a request without an owner is answered 404 on a connection that stays, with and without a body, also to HEAD',
    limits,
    async (t) => {
      const sharedPort = await SharedPort.make(t);
      await sharedPort.startAll('a /a/', 'b /b/');
      const chunks = ['Transfer-Encoding: chunked'];
      const unknown = [
        request('/x'),
        request('/x', { method: 'HEAD' }),
        request('/x', { body: 'body' }),
        request('/x', { body: 'y'.repeat(300_000) }),
        Buffer.concat([
          request('/x', { method: 'PUT', fields: chunks }),
          Buffer.from('1\r\na\r\n0\r\n\r\n'),
        ]),
        // Node's parser reads that.
        Buffer.concat([
          request('/x', { method: 'PUT', fields: chunks }),
          Buffer.from('1;name=value\r\na\r\n0\r\nX: y\r\n\r\n'),
        ]),
        request('/x', { body: '', method: 'DELETE' }),
      ];
      const connection = await sharedPort.connect();
      for (const target of ['/a/', '/b/']) {
        for (const bytes of unknown) {
          const [method] = bytes.toString().split(' ', 1);
          const line = `${method} after ${target}`;
          assert.equal((await connection.ask(target)).status, 200, line);
          connection.write(bytes);
          const { status, fields, body } = await connection.response(method);
          assert.equal(status, 404, line);
          assert.equal(fields.connection, 'keep-alive', line);
          assert.equal(fields['content-type'], 'text/plain', line);
          assert.ok(fields['content-length'] > 0, line);
          assert.equal(body.length, method === 'HEAD' ? 0 : Number(fields['content-length']), line);
          assert.equal((await connection.ask(target)).status, 200, `the next one after ${line}`);
        }
      }
      // And as the first of a connection.
      for (const bytes of unknown) {
        const fresh = await sharedPort.connect();
        const [method] = bytes.toString().split(' ', 1);
        fresh.write(bytes);
        assert.equal((await fresh.response(method)).status, 404, method);
        assert.equal(brief(await fresh.ask('/b/', { body: 'z' })), '200 b', method);
      }
    },
  );

  test(
    'a connection of a request without an owner ends if the client wants it or the length of a body is uncertain',
    limits,
    async (t) => {
      const sharedPort = await SharedPort.make(t);
      await sharedPort.start('a /a/');
      for (const bytes of [
        request('/x', { fields: ['Connection: close'] }),
        request('/x', { version: '1.0' }),
        request('/x', { method: 'POST', fields: ['Expect: 100-continue', 'Content-Length: 5'] }),
        request('/x', { body: 'y'.repeat(200_000), fields: ['Connection: close'] }),
      ]) {
        for (const connection of [await sharedPort.connect(), await sharedPort.connectTo('/a/')]) {
          connection.write(bytes);
          const { status, fields } = await connection.response();
          assert.equal(status, 404, bytes.toString('latin1', 0, 80));
          assert.equal(fields.connection, 'close');
          assert.equal((await connection.rest()).length, 0);
        }
      }
    },
  );

  test(
    'requests without an owner among others on one connection are answered in order',
    limits,
    async (t) => {
      const sharedPort = await SharedPort.make(t);
      const [a] = await sharedPort.startAll('a /a/', 'b /b/');
      const connection = await sharedPort.connectTo('/b/');
      connection.write(
        Buffer.concat([
          request('/x1'),
          request('/a/1?hold=1'),
          request('/x2', { body: 'x'.repeat(1000) }),
          request('/x3', { method: 'HEAD' }),
          request('/b/2', { body: 'b' }),
          request('/x4'),
          request('/a/3'),
        ]),
      );
      const received = [await connection.response()];
      await a.said({ said: 'holding' });
      a.release('1');
      for (const method of ['GET', 'POST', 'HEAD', 'POST', 'GET', 'GET']) {
        received.push(await connection.response(method));
      }
      assert.deepEqual(received.map(brief), [
        '404 -',
        '200 a',
        '404 -',
        '404 -',
        '200 b',
        '404 -',
        '200 a',
      ]);
    },
  );

  test(
    'keepAliveTimeout also applies to connections that no application has seen',
    limits,
    async (t) => {
      const sharedPort = await SharedPort.make(t);
      await sharedPort.start('a /a/', {
        options: { keepAliveTimeout: 1000, connectionsCheckingInterval: 50 },
        properties: { keepAliveTimeoutBuffer: 0 },
      });
      const connection = await sharedPort.connect();
      assert.equal((await connection.ask('/x')).status, 404);
      assert.equal((await connection.ask('/x')).status, 404);
      assert.equal((await connection.rest()).length, 0);
      assert.equal(connection.over, 'end');
    },
  );
});

describe("requests that only Node's parser handles are never answered by another application", () => {
  const unusual = ['Proxy-Connection: keep-alive'];

  test(
    "a request that only Node's parser handles is not answered by another application",
    limits,
    async (t) => {
      const sharedPort = await SharedPort.make(t);
      const [a, b] = await sharedPort.startAll('a /a/', 'b /b/');
      for (const bytes of [
        request('/b/', { fields: unusual }),
        request('/b/', { fields: unusual, body: 'body' }),
        request('http://a/b/'),
      ]) {
        const [line] = bytes.toString().split('\r\n', 1);
        const connection = await sharedPort.connectTo('/a/');
        connection.write(bytes);
        const response = await connection.response();
        // It stays where it is, so its client is to make another.
        assert.equal(brief(response), '421 -', line);
        assert.equal(response.fields.connection, 'close');
        assert.equal((await connection.rest()).length, 0);
        const other = await sharedPort.connectTo('/b/');
        other.write(bytes);
        assert.equal(brief(await other.response()), '200 b', line);
        // A new one may come to either.
        const fresh = await sharedPort.connect();
        fresh.write(bytes);
        const either = await fresh.response();
        assert.ok(['421 -', '200 b'].includes(brief(either)), `${line}: ${brief(either)}`);
      }
      const { seen } = (await sharedPort.ask('/a/?show=seen')).json;
      assert.deepEqual(
        seen.filter((line) => line.includes('b')),
        [],
        'what a has seen',
      );
      assert.ok(
        (await a.stats('a')).fallbackReasons['unsupported-request'] >= 3,
        'it was Node that read them',
      );
      assert.ok(
        (await b.stats('b')).fallbackReasons['unsupported-request'] >= 3,
        'it was Node that read them',
      );
    },
  );

  test(
    "the requests after one that Node's parser has read are not answered by another application",
    limits,
    async (t) => {
      const sharedPort = await SharedPort.make(t);
      await sharedPort.startAll('a /a/', 'b /b/');
      const connection = await sharedPort.connectTo('/a/');
      connection.write(request('/a/1', { fields: unusual }));
      assert.equal(brief(await connection.response()), '200 a');
      assert.equal(brief(await connection.ask('/a/2')), '200 a');
      assert.equal(brief(await connection.ask('/b/3')), '421 -');
      assert.equal((await connection.rest()).length, 0);
    },
  );

  test(
    'a request pipelined after an unanswered one is not answered in its place',
    limits,
    async (t) => {
      const sharedPort = await SharedPort.make(t);
      const [a] = await sharedPort.startAll('a /a/', 'b /b/');
      const connection = await sharedPort.connectTo('/a/');
      connection.write(
        Buffer.concat([
          request('/a/1?hold=1', { fields: unusual }),
          request('/b/2'),
          request('/a/3'),
        ]),
      );
      await a.said({ said: 'holding' });
      a.release('1');
      const all = String(await connection.rest());
      assert.ok(all === '' || all.startsWith('HTTP/1.1 200'), all);
      assert.ok(!all.includes('/b/2'), 'a has not answered for b');
      const { seen } = (await sharedPort.ask('/a/?show=seen')).json;
      assert.ok(!seen.includes('GET /b/2'));
    },
  );

  test(
    'a request that some versions of Node refuse is not answered by another application',
    limits,
    async (t) => {
      const sharedPort = await SharedPort.make(t);
      await sharedPort.startAll('a /a/', 'b /b/');
      const connection = await sharedPort.connectTo('/a/');
      connection.send('/b/', { fields: ['X-Folded: one', ' two'] });
      assert.match(brief(await connection.response()), /^4(00|21) -$/);
      const { seen } = (await sharedPort.ask('/a/?show=seen')).json;
      assert.ok(!seen.includes('GET /b/'));
    },
  );

  test('an upgrade is not answered by another application', limits, async (t) => {
    const sharedPort = await SharedPort.make(t);
    const a = await sharedPort.start('a /a/', { upgrade: true });
    await sharedPort.start('b /b/', { upgrade: true });
    const connection = await sharedPort.connectTo('/a/');
    const fields = ['Upgrade: echo', 'Connection: Upgrade'];
    connection.send('http://a/b/up', { fields });
    assert.match(String(await connection.rest()), /^HTTP\/1\.1 421 /);
    // The first upgrade that a hears of is its own.
    const own = await sharedPort.connectTo('/a/');
    own.send('/a/up', { fields });
    assert.equal((await own.response()).name, 'a');
    assert.equal((await a.said({ said: 'upgrade' })).url, '/a/up');
  });

  test('a CONNECT request belongs to the root', limits, async (t) => {
    const sharedPort = await SharedPort.make(t);
    const a = await sharedPort.start('a /a/', { upgrade: true });
    await sharedPort.start('root /', { upgrade: true });
    const own = await sharedPort.connectTo('/');
    own.send('other.test:80', { method: 'CONNECT' });
    assert.equal(brief(await own.response('CONNECT')), '200 root');
    const connection = await sharedPort.connectTo('/a/');
    connection.send('other.test:80', { method: 'CONNECT' });
    assert.match(String(await connection.rest()), /^HTTP\/1\.1 421 /);
    await sharedPort.ask('/a/');
    assert.ok(!a.hasSaid({ said: 'connect' }), 'a has heard of it');
  });
});

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
