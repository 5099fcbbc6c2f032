// One port for several processes: whose a request is, and what nobody has.
import assert from 'node:assert/strict';
import { networkInterfaces } from 'node:os';
import { describe, test } from 'node:test';
import {
  assertOwners,
  brief,
  request,
  SharedPort,
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
