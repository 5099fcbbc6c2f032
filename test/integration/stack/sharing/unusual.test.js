// One port for several processes: requests that only Node's own code can read, upgrades and tunnels.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { brief, request, SharedPort } from '../../../fixtures/stack/sharing/processes.js';

const limits = { timeout: 60_000 };

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
