// One port for several processes: how a server listens, and what cannot be.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rm, stat, symlink, unlink, writeFile } from 'node:fs/promises';
import net from 'node:net';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { createServer } from 'millrace/http';
import { createServer as createSecureServer } from 'millrace/https';
import { meetingDirectory } from '#internal/http/cache/control-protocol.js';
import { isFull } from '../../../fixtures/size.js';
import {
  assertOwners,
  brief,
  SharedPort,
  until,
} from '../../../fixtures/stack/sharing/processes.js';

const limits = { timeout: 60_000 };
/** A program that holds locks of files. */
const flock = { ...limits, skip: !hasFlock() && 'there is no flock(1)' };

function hasFlock() {
  return spawnSync('flock', ['--version']).status === 0;
}

/** Somebody joins those who share the port, and does not come to an end with it until what this gives is called. */
async function joinSlowly(t, sharedPort) {
  const place = join(sharedPort.directory, `any-${sharedPort.port}`);
  await mkdir(place, { mode: 0o700 });
  const command = [join(place, 'lock'), 'sh', '-c', 'echo locked; read line'];
  const holder = spawn('flock', command, { stdio: ['pipe', 'pipe', 'inherit'] });
  const end = async () => {
    if (holder.exitCode !== null) return;
    holder.stdin.end();
    await once(holder, 'exit');
  };
  t.after(end);
  await once(holder.stdout, 'data');
  return end;
}

describe('addresses that cannot be shared', () => {
  for (const [accepted, urls] of [
    ['its scheme has to be http:// or https://', ['HTTP://*:80/', 'Https://*:80/']],
    [
      'its host has to be *, +, a name, an IPv4 address or an IPv6 address in brackets',
      ['http://:80/', 'http://a b:80/', 'http://*.a:80/', 'http://[::z]:80/', 'http://ä:80/'],
    ],
    [
      'it has to name a port from 1 to 65535',
      [
        ...['http://*/', 'http://*:/', 'http://*:0/', 'http://*:65536/', 'http://*:x/'],
        ...['http://*:+80/', 'http://*:8 0/', 'http://[::1]/'],
      ],
    ],
    [
      'its path has to begin and end with a slash, without query or fragment',
      [
        ...['http://*:80', 'http://*:80/a', 'http://*:80/a/?b=/', 'http://*:80/#a/'],
        ...['http://*:80/a b/', 'http://*:80/ä/', 'http://*:80/*/'],
        `http://*:80/${'a'.repeat(1024)}/`,
      ],
    ],
  ]) {
    test(`an invalid prefix is refused: ${accepted}`, limits, () => {
      for (const url of urls) {
        const server = createServer();
        const before = server.listenerCount('listening');
        assert.throws(() => server.listen(url, () => assert.fail('it listens')), {
          name: 'TypeError',
          code: 'ERR_INVALID_ARG_VALUE',
          message: `The URL prefix '${url}' cannot be listened to: ${accepted}`,
        });
        assert.equal(server.listening, false);
        assert.equal(server.listenerCount('listening'), before);
      }
    });
  }

  test('an http prefix of an https.Server is refused, and the other way round', limits, () => {
    assert.throws(() => createSecureServer().listen('http://*:80/'), {
      code: 'ERR_INVALID_ARG_VALUE',
      message: "The URL prefix 'http://*:80/' cannot be listened to: this is an https.Server",
    });
    assert.throws(() => createServer().listen('https://*:80/'), {
      code: 'ERR_INVALID_ARG_VALUE',
      message: "The URL prefix 'https://*:80/' cannot be listened to: this is an http.Server",
    });
  });

  test("a server that only Node's own stack serves cannot share a port", limits, () => {
    const server = createServer({ insecureHTTPParser: true });
    assert.throws(() => server.listen('http://*:80/'), {
      code: 'ERR_INVALID_ARG_VALUE',
      message: /'http:\/\/\*:80\/' cannot be listened to: .* insecureHTTPParser /,
    });
  });

  test('a port of another program cannot be shared', limits, async (t) => {
    const sharedPort = await SharedPort.make(t);
    const program = net.createServer().listen(sharedPort.port);
    await once(program, 'listening');
    t.after(() => program.close());
    const app = sharedPort.launch(['a /a/']);
    const { code, thrown } = await app.said({ said: 'error' });
    assert.equal(code, 'EADDRINUSE');
    assert.equal(thrown, false);
    // It is not in the way of those who try again.
    program.close();
    await once(program, 'close');
    await app.listen('a');
    await sharedPort.start('b /b/');
    await assertOwners(sharedPort, [
      ['/a/', '200 a'],
      ['/b/', '200 b'],
    ]);
  });

  test('all addresses cannot be shared if one of them is shared', limits, async (t) => {
    const sharedPort = await SharedPort.make(t);
    await sharedPort.start('a 127.0.0.1/a/');
    const app = sharedPort.launch(['b 0.0.0.0/b/']);
    const { code, message } = await app.said({ said: 'error' });
    assert.equal(code, 'EADDRINUSE');
    assert.match(
      message,
      /http:\/\/0\.0\.0\.0:\d+\/b\/ shares its port with those who name the same host/,
    );
    assert.equal(brief(await sharedPort.ask('/a/')), '200 a');
  });

  test('a server that listens or is about to cannot listen again', limits, async (t) => {
    const sharedPort = await SharedPort.make(t);
    process.env.MILLRACE_PORTS = sharedPort.directory;
    const server = createServer();
    t.after(() => server.close());
    const twice = { code: 'ERR_SERVER_ALREADY_LISTEN' };
    server.listen(sharedPort.prefix('/a/'));
    assert.throws(() => server.listen(sharedPort.prefix('/b/')), twice);
    await once(server, 'listening');
    assert.throws(() => server.listen(sharedPort.prefix('/b/')), twice);
    assert.throws(() => server.listen(0), twice);
    const ordinary = createServer().listen(0);
    t.after(() => ordinary.close());
    await once(ordinary, 'listening');
    assert.throws(() => ordinary.listen(sharedPort.prefix('/b/')), twice);
    await assertOwners(await sharedPort.start('b /b/').then(() => sharedPort), [['/b/', '200 b']]);
  });

  test('a server that is about to share a port cannot get one of its own', limits, async (t) => {
    const sharedPort = await SharedPort.make(t);
    process.env.MILLRACE_PORTS = sharedPort.directory;
    const server = createServer();
    t.after(() => server.close());
    server.listen(sharedPort.prefix('/a/'));
    let code;
    try {
      server.listen(0);
    } catch (error) {
      ({ code } = error);
    }
    await once(server, 'listening');
    await sharedPort.start('b /b/');
    assert.equal(code, 'ERR_SERVER_ALREADY_LISTEN');
    assert.equal(server.address().port, sharedPort.port);
  });

  for (const [what, settings] of [
    ['of millrace/http', { module: 'millrace/http' }],
    ['of node:http', {}],
  ]) {
    test(`with MILLRACE_STACK=node a server ${what}`, limits, async (t) => {
      const sharedPort = await SharedPort.make(t);
      const app = sharedPort.launch(['a /a/'], { ...settings, env: { MILLRACE_STACK: 'node' } });
      const { code, message, thrown } = await app.said({ said: 'error' });
      assert.equal(code, 'ERR_INVALID_ARG_VALUE', message);
      assert.equal(thrown, true);
      assert.ok(message.includes(sharedPort.prefix('/a/')), message);
      assert.match(message, /MILLRACE_STACK=node/);
    });
  }

  test('listen fails if the processes of the port do not answer', limits, async (t) => {
    const sharedPort = await SharedPort.make(t);
    const a = await sharedPort.start('a /a/');
    await a.stop();
    const b = sharedPort.launch(['b /b/']);
    const { code, message, thrown } = await b.said({ said: 'error' });
    assert.equal(code, 'ETIMEDOUT', message);
    assert.equal(thrown, false);
    a.goOn();
    await b.listen('b');
    await assertOwners(sharedPort, [
      ['/a/', '200 a'],
      ['/b/', '200 b'],
    ]);
  });

  test('listen fails if another process joins for 20 s', {
    ...flock,
    skip: flock.skip || !isFull,
  }, async (t) => {
    const sharedPort = await SharedPort.make(t);
    const end = await joinSlowly(t, sharedPort);
    process.env.MILLRACE_PORTS = sharedPort.directory;
    const server = createServer();
    t.after(() => server.close());
    const failed = once(server, 'error');
    server.listen(sharedPort.prefix('/a/'));
    const [error] = await failed;
    assert.equal(error.code, 'ETIMEDOUT');
    assert.match(error.message, /another process is joining .* has not done so in 20 s$/);
    await end();
    await once(server.listen(sharedPort.prefix('/a/')), 'listening');
  });

  test('listen fails if MILLRACE_PORTS does not exist', limits, async (t) => {
    const sharedPort = await SharedPort.make(t);
    const nowhere = join(sharedPort.directory, 'nowhere');
    const app = sharedPort.launch(['a /a/'], { env: { MILLRACE_PORTS: nowhere } });
    const { code, message, thrown } = await app.said({ said: 'error' });
    assert.equal(thrown, false);
    assert.match(code, /^E[A-Z]+$/);
    assert.ok(message.includes(nowhere), message);
    assert.match(message, /no such file or directory/i);
    await assert.rejects(sharedPort.connect(), { code: 'ECONNREFUSED' });
    assert.ok(!existsSync(nowhere));
  });

  test('links that others have put into a directory are not followed', limits, async (t) => {
    const sharedPort = await SharedPort.make(t);
    const elsewhere = join(sharedPort.directory, 'elsewhere');
    await mkdir(elsewhere);
    await writeFile(join(elsewhere, 'file'), 'kept');
    const place = join(sharedPort.directory, `any-${sharedPort.port}`);
    await symlink(elsewhere, place);
    const refused = await sharedPort.launch(['a /a/']).said({ said: 'error' });
    assert.match(refused.message, /any-\d+/);
    assert.deepEqual(await readdir(elsewhere), ['file']);
    await unlink(place);
    await mkdir(place, { mode: 0o700 });
    // Neither a file nor a link is a rendezvous socket, whatever its name.
    await writeFile(join(place, '1.0123456789abcdef'), 'kept');
    await symlink(join(elsewhere, 'file'), join(place, '2.0123456789abcdef'));
    await symlink(join(elsewhere, 'lock'), join(place, 'lock'));
    const locked = await sharedPort.launch(['a /a/']).said({ said: 'error' });
    assert.match(locked.message, /cannot lock/);
    assert.ok(!existsSync(join(elsewhere, 'lock')));
    await unlink(join(place, 'lock'));
    await sharedPort.start('a /a/');
    assert.equal(brief(await sharedPort.ask('/a/')), '200 a');
    assert.equal(await readFile(join(elsewhere, 'file'), 'utf8'), 'kept');
    assert.equal(await readFile(join(place, '1.0123456789abcdef'), 'utf8'), 'kept');
  });
});

describe('a server that is closed before it listens', () => {
  const isLinux = process.platform === 'linux';
  const linux = { ...limits, skip: !isLinux && 'there is no /proc' };
  test(
    'a server that is closed before it listens keeps no descriptor of the shared address',
    linux,
    async (t) => {
      const sharedPort = await SharedPort.make(t);
      await sharedPort.start('a /a/');
      process.env.MILLRACE_PORTS = sharedPort.directory;
      const close = async () => {
        const server = createServer();
        server.listen(sharedPort.prefix('/b/'));
        server.close();
        // Whoever joins next waits until this one has come to an end with it.
        const next = createServer();
        await once(next.listen(sharedPort.prefix('/c/')), 'listening');
        next.close();
        await once(next, 'close');
        assert.ok(!server.listening);
      };
      const descriptors = async () => (await readdir('/proc/self/fd')).length;
      await close();
      const before = await descriptors();
      for (let round = 0; round < 20; round++) await close();
      // What the last ones had is closed with their links.
      await until('none is left', async () => (await descriptors()) <= before);
    },
  );
});

describe('a server that fails to listen at the shared address', () => {
  const isLinux = process.platform === 'linux';
  const linux = { ...limits, skip: !isLinux && 'there is no /proc' };
  const failures = {
    'says nothing': () => {},
    throws: () => {
      throw new Error('not this one');
    },
  };
  for (const [how, fail] of Object.entries(failures)) {
    test(`a server that ${how} keeps neither descriptor nor lock`, linux, async (t) => {
      const sharedPort = await SharedPort.make(t);
      await sharedPort.start('a /a/');
      process.env.MILLRACE_PORTS = sharedPort.directory;
      const attempt = async () => {
        const server = createServer();
        const failed = new Promise((resolve) => {
          server._listen2 = () => {
            setImmediate(resolve);
            return fail();
          };
        });
        server.on('error', ({ message }) => assert.equal(message, 'not this one'));
        server.listen(sharedPort.prefix('/b/'));
        await failed;
      };
      const descriptors = async () => (await readdir('/proc/self/fd')).length;
      await attempt();
      const before = await descriptors();
      for (let round = 0; round < 20; round++) await attempt();
      await until('none is left', async () => (await descriptors()) <= before);
    });
  }
});

describe('a server that listens to a prefix', () => {
  test(
    'without MILLRACE_PORTS the directory belongs to the user alone, whatever XDG_RUNTIME_DIR says',
    limits,
    async (t) => {
      const sharedPort = await SharedPort.make(t);
      const path = join(meetingDirectory(), 'ports');
      const own = `any-${sharedPort.port}`;
      t.after(() => rm(join(path, own), { recursive: true, force: true }));
      sharedPort.env = { MILLRACE_PORTS: '', XDG_RUNTIME_DIR: sharedPort.directory };
      await sharedPort.start('a /a/');
      sharedPort.env = { MILLRACE_PORTS: '', XDG_RUNTIME_DIR: '' };
      await sharedPort.start('b /b/');
      await assertOwners(sharedPort, [
        ['/a/', '200 a'],
        ['/b/', '200 b'],
      ]);
      assert.ok((await readdir(path)).includes(own));
      assert.equal((await stat(path)).mode & 0o777, 0o700);
    },
  );

  test('listen has its callback, event, address and return value', limits, async (t) => {
    const sharedPort = await SharedPort.make(t);
    process.env.MILLRACE_PORTS = sharedPort.directory;
    const answer = (_request, response) => response.end('in this process');
    const server = createServer(answer);
    t.after(() => server.close());
    const called = new Promise((resolve) => {
      assert.equal(server.listen(sharedPort.prefix('/a/'), 10, resolve), server);
    });
    assert.equal(server.listening, false);
    await Promise.all([called, once(server, 'listening')]);
    assert.equal(server.listening, true);
    assert.equal(server.address().port, sharedPort.port);
    await sharedPort.start('b /b/');
    const response = await sharedPort.ask('/a/');
    assert.equal(String(response.body), 'in this process');
    assert.equal(brief(await sharedPort.ask('/b/')), '200 b');
    assert.ok(server.stats().connections.moved + server.stats().connections.native > 0);
  });

  test(
    'listen succeeds as soon as another process has joined, and blocks no thread',
    flock,
    async (t) => {
      const sharedPort = await SharedPort.make(t);
      const end = await joinSlowly(t, sharedPort);
      const app = sharedPort.launch(['a /a/'], { later: ['a'], env: { UV_THREADPOOL_SIZE: '1' } });
      app.order('listen a');
      // By the only thread that the process has for this.
      await app.order('read', { said: 'read' });
      assert.ok(!app.hasSaid({ said: 'listening', name: 'a' }), 'it listens too soon');
      await end();
      await app.said({ said: 'listening', name: 'a' });
      assert.equal(brief(await sharedPort.ask('/a/')), '200 a');
    },
  );

  test('ten processes can join at once', limits, async (t) => {
    const sharedPort = await SharedPort.make(t);
    const names = [...'abcdefghij'];
    await sharedPort.startAll(...names.map((name) => `${name} /${name}/`));
    const connection = await sharedPort.connect();
    for (const from of names) {
      for (const to of names) {
        assert.equal(brief(await connection.ask(`/${from}/`)), `200 ${from}`);
        assert.equal(brief(await connection.ask(`/${to}/`)), `200 ${to}`);
      }
    }
  });

  test('a server gets its requests as soon as it listens', limits, async (t) => {
    const sharedPort = await SharedPort.make(t);
    const a = await sharedPort.start('a /a/');
    const b = await sharedPort.start(['b /b/', 'c /c/'], { later: ['c'] });
    for (let round = 0; round < 10; round++) {
      const connection = await sharedPort.connectTo('/a/');
      await a.stop();
      await b.listen('c');
      connection.send('/c/');
      a.goOn();
      assert.equal(brief(await connection.response()), '200 c', `round ${round}`);
      await b.close('c');
    }
  });

  test(
    'if one process of the port answers late, only later ones wait for it',
    limits,
    async (t) => {
      const sharedPort = await SharedPort.make(t);
      const apps = await sharedPort.startAll('a /a/', 'b /b/', 'c /c/', 'd /d/');
      for (const [at, name] of ['e', 'f'].entries()) {
        const late = apps.filter((_, other) => other !== at);
        await Promise.all(late.map((app) => app.stop()));
        await sharedPort.start(`${name} /${name}/`);
        for (const app of late) app.goOn();
        await sharedPort.settle();
        for (const from of ['/a/', '/b/', '/c/', '/d/']) {
          const connection = await sharedPort.connectTo(from);
          assert.equal(brief(await connection.ask(`/${name}/`)), `200 ${name}`, `from ${from}`);
        }
      }
    },
  );

  test('headersTimeout applies to connections that never send a request', limits, async (t) => {
    const sharedPort = await SharedPort.make(t);
    const options = { headersTimeout: 1000, requestTimeout: 1000, connectionsCheckingInterval: 50 };
    const app = await sharedPort.start('a /a/', { options });
    const silent = await sharedPort.connect();
    const partial = await sharedPort.connect();
    partial.write('GET /a/ HT');
    const elsewhere = await sharedPort.connect();
    elsewhere.write('GET /b/ HTTP/1.1\r\nHost: a');
    for (const connection of [silent, partial, elsewhere]) {
      assert.match(String(await connection.rest()), /^HTTP\/1\.1 408 /);
    }
    assert.equal(brief(await sharedPort.ask('/a/')), '200 a');
    // None of them is in its way.
    assert.equal((await app.close('a')).code, undefined);
  });

  test(
    "'connection' is emitted each time that a connection comes to the server",
    limits,
    async (t) => {
      const sharedPort = await SharedPort.make(t);
      await sharedPort.start('a /a/', { hears: true });
      const connection = await sharedPort.connectTo('/a/');
      await sharedPort.start('b /b/', { hears: true });
      for (const target of ['/a/', '/b/', '/b/', '/a/', '/b/']) await connection.ask(target);
      for (const target of ['/b/', '/a/']) {
        const { seen } = (await connection.ask(`${target}?show=seen`)).json;
        const times = seen.filter((line) => line === `from ${connection.port}`).length;
        assert.equal(times, target === '/a/' ? 3 : 2, target);
      }
    },
  );

  test("'connection' is not emitted for connections of other processes", limits, async (t) => {
    const sharedPort = await SharedPort.make(t);
    await sharedPort.start('a /a/', { hears: true });
    const connection = await sharedPort.connect();
    // They are accepted in order: it is a's.
    await sharedPort.ask('/a/');
    await sharedPort.start('b /b/');
    assert.equal(brief(await connection.ask('/b/')), '200 b');
    const { seen } = (await sharedPort.ask('/a/?show=seen')).json;
    assert.ok(!seen.includes(`from ${connection.port}`), 'a has heard of it');
  });

  test('maxConnections counts the connections of its own server', limits, async (t) => {
    const sharedPort = await SharedPort.make(t);
    await sharedPort.start('a /a/', { properties: { maxConnections: 2 } });
    await sharedPort.start('b /b/');
    const own = [await sharedPort.connectTo('/a/'), await sharedPort.connectTo('/a/')];
    for (let at = 0; at < 30; at++) assert.equal(brief(await sharedPort.ask('/b/')), '200 b');
    for (const connection of own) assert.equal(brief(await connection.ask('/a/')), '200 a');
    // And one that comes from elsewhere is refused.
    const third = await sharedPort.connectTo('/b/');
    await assert.rejects(third.ask('/a/'), /^Error: (end|ECONNRESET) /);
  });

  test('maxConnections is checked before the cache answers', limits, async (t) => {
    const sharedPort = await SharedPort.make(t);
    const settings = { options: { cache: true }, properties: { maxConnections: 1 } };
    const a = await sharedPort.start('a /a/', settings);
    await sharedPort.start('b /b/');
    const own = await sharedPort.connectTo('/a/?cache=60');
    assert.equal(brief(await own.ask('/a/?cache=60')), '200 a');
    assert.equal((await a.stats('a')).requests.cached, 1);
    for (let at = 0; at < 5; at++) {
      const other = await sharedPort.connectTo('/b/');
      await assert.rejects(other.ask('/a/?cache=60'), /^Error: (end|ECONNRESET) /);
    }
    assert.equal((await a.stats('a')).requests.cached, 1);
  });
});
