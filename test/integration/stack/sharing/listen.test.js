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
import { meetingDirectory } from '../../../../dist/http/cache/control-protocol.js';
import { isFull } from '../../../fixtures/size.js';
import { assertOwners, brief, Ground, until } from '../../../fixtures/stack/sharing.js';

const limits = { timeout: 60_000 };
/** A program that holds locks of files. */
const flock = { ...limits, skip: !hasFlock() && 'there is no flock(1)' };

function hasFlock() {
  return spawnSync('flock', ['--version']).status === 0;
}

/** Somebody joins those who share the port, and does not come to an end with it until what this gives is called. */
async function joinSlowly(t, ground) {
  const place = join(ground.directory, `any-${ground.port}`);
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
    const ground = await Ground.make(t);
    const program = net.createServer().listen(ground.port);
    await once(program, 'listening');
    t.after(() => program.close());
    const app = ground.launch(['a /a/']);
    const { code, thrown } = await app.said({ said: 'error' });
    assert.equal(code, 'EADDRINUSE');
    assert.equal(thrown, false);
    // It is not in the way of those who try again.
    program.close();
    await once(program, 'close');
    await app.listen('a');
    await ground.start('b /b/');
    await assertOwners(ground, [
      ['/a/', '200 a'],
      ['/b/', '200 b'],
    ]);
  });

  test('all addresses cannot be shared if one of them is shared', limits, async (t) => {
    const ground = await Ground.make(t);
    await ground.start('a 127.0.0.1/a/');
    const app = ground.launch(['b 0.0.0.0/b/']);
    const { code, message } = await app.said({ said: 'error' });
    assert.equal(code, 'EADDRINUSE');
    assert.match(
      message,
      /http:\/\/0\.0\.0\.0:\d+\/b\/ shares its port with those who name the same host/,
    );
    assert.equal(brief(await ground.ask('/a/')), '200 a');
  });

  test('a server that listens or is about to cannot listen again', limits, async (t) => {
    const ground = await Ground.make(t);
    process.env.MILLRACE_PORTS = ground.directory;
    const server = createServer();
    t.after(() => server.close());
    const twice = { code: 'ERR_SERVER_ALREADY_LISTEN' };
    server.listen(ground.prefix('/a/'));
    assert.throws(() => server.listen(ground.prefix('/b/')), twice);
    await once(server, 'listening');
    assert.throws(() => server.listen(ground.prefix('/b/')), twice);
    assert.throws(() => server.listen(0), twice);
    const ordinary = createServer().listen(0);
    t.after(() => ordinary.close());
    await once(ordinary, 'listening');
    assert.throws(() => ordinary.listen(ground.prefix('/b/')), twice);
    await assertOwners(await ground.start('b /b/').then(() => ground), [['/b/', '200 b']]);
  });

  test('a server that is about to share a port cannot get one of its own', limits, async (t) => {
    const ground = await Ground.make(t);
    process.env.MILLRACE_PORTS = ground.directory;
    const server = createServer();
    t.after(() => server.close());
    server.listen(ground.prefix('/a/'));
    let code;
    try {
      server.listen(0);
    } catch (error) {
      ({ code } = error);
    }
    await once(server, 'listening');
    await ground.start('b /b/');
    assert.equal(code, 'ERR_SERVER_ALREADY_LISTEN');
    assert.equal(server.address().port, ground.port);
  });

  for (const [what, settings] of [
    ['of millrace/http', { module: 'millrace/http' }],
    ['of node:http', {}],
  ]) {
    test(`with MILLRACE_STACK=node a server ${what}`, limits, async (t) => {
      const ground = await Ground.make(t);
      const app = ground.launch(['a /a/'], { ...settings, env: { MILLRACE_STACK: 'node' } });
      const { code, message, thrown } = await app.said({ said: 'error' });
      assert.equal(code, 'ERR_INVALID_ARG_VALUE', message);
      assert.equal(thrown, true);
      assert.ok(message.includes(ground.prefix('/a/')), message);
      assert.match(message, /MILLRACE_STACK=node/);
    });
  }

  test('listen fails if the processes of the port do not answer', limits, async (t) => {
    const ground = await Ground.make(t);
    const a = await ground.start('a /a/');
    await a.stop();
    const b = ground.launch(['b /b/']);
    const { code, message, thrown } = await b.said({ said: 'error' });
    assert.equal(code, 'ETIMEDOUT', message);
    assert.equal(thrown, false);
    a.goOn();
    await b.listen('b');
    await assertOwners(ground, [
      ['/a/', '200 a'],
      ['/b/', '200 b'],
    ]);
  });

  test('listen fails if another process joins for 20 s', {
    ...flock,
    skip: flock.skip || !isFull,
  }, async (t) => {
    const ground = await Ground.make(t);
    const end = await joinSlowly(t, ground);
    process.env.MILLRACE_PORTS = ground.directory;
    const server = createServer();
    t.after(() => server.close());
    const failed = once(server, 'error');
    server.listen(ground.prefix('/a/'));
    const [error] = await failed;
    assert.equal(error.code, 'ETIMEDOUT');
    assert.match(error.message, /another process is joining .* has not done so in 20 s$/);
    await end();
    await once(server.listen(ground.prefix('/a/')), 'listening');
  });

  test('listen fails if MILLRACE_PORTS does not exist', limits, async (t) => {
    const ground = await Ground.make(t);
    const nowhere = join(ground.directory, 'nowhere');
    const app = ground.launch(['a /a/'], { env: { MILLRACE_PORTS: nowhere } });
    const { code, message, thrown } = await app.said({ said: 'error' });
    assert.equal(thrown, false);
    assert.match(code, /^E[A-Z]+$/);
    assert.ok(message.includes(nowhere), message);
    assert.match(message, /no such file or directory/i);
    await assert.rejects(ground.connect(), { code: 'ECONNREFUSED' });
    assert.ok(!existsSync(nowhere));
  });

  test('links that others have put into a directory are not followed', limits, async (t) => {
    const ground = await Ground.make(t);
    const elsewhere = join(ground.directory, 'elsewhere');
    await mkdir(elsewhere);
    await writeFile(join(elsewhere, 'file'), 'kept');
    const place = join(ground.directory, `any-${ground.port}`);
    await symlink(elsewhere, place);
    const refused = await ground.launch(['a /a/']).said({ said: 'error' });
    assert.match(refused.message, /any-\d+/);
    assert.deepEqual(await readdir(elsewhere), ['file']);
    await unlink(place);
    await mkdir(place, { mode: 0o700 });
    // Neither a file nor a link is a door, whatever its name.
    await writeFile(join(place, '1.0123456789abcdef'), 'kept');
    await symlink(join(elsewhere, 'file'), join(place, '2.0123456789abcdef'));
    await symlink(join(elsewhere, 'lock'), join(place, 'lock'));
    const locked = await ground.launch(['a /a/']).said({ said: 'error' });
    assert.match(locked.message, /cannot lock/);
    assert.ok(!existsSync(join(elsewhere, 'lock')));
    await unlink(join(place, 'lock'));
    await ground.start('a /a/');
    assert.equal(brief(await ground.ask('/a/')), '200 a');
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
      const ground = await Ground.make(t);
      await ground.start('a /a/');
      process.env.MILLRACE_PORTS = ground.directory;
      const close = async () => {
        const server = createServer();
        server.listen(ground.prefix('/b/'));
        server.close();
        // Whoever joins next waits until this one has come to an end with it.
        const next = createServer();
        await once(next.listen(ground.prefix('/c/')), 'listening');
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
      const ground = await Ground.make(t);
      await ground.start('a /a/');
      process.env.MILLRACE_PORTS = ground.directory;
      const attempt = async () => {
        const server = createServer();
        const failed = new Promise((resolve) => {
          server._listen2 = () => {
            setImmediate(resolve);
            return fail();
          };
        });
        server.on('error', ({ message }) => assert.equal(message, 'not this one'));
        server.listen(ground.prefix('/b/'));
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
      const ground = await Ground.make(t);
      const path = join(meetingDirectory(), 'ports');
      const own = `any-${ground.port}`;
      t.after(() => rm(join(path, own), { recursive: true, force: true }));
      ground.env = { MILLRACE_PORTS: '', XDG_RUNTIME_DIR: ground.directory };
      await ground.start('a /a/');
      ground.env = { MILLRACE_PORTS: '', XDG_RUNTIME_DIR: '' };
      await ground.start('b /b/');
      await assertOwners(ground, [
        ['/a/', '200 a'],
        ['/b/', '200 b'],
      ]);
      assert.ok((await readdir(path)).includes(own));
      assert.equal((await stat(path)).mode & 0o777, 0o700);
    },
  );

  test('listen has its callback, event, address and return value', limits, async (t) => {
    const ground = await Ground.make(t);
    process.env.MILLRACE_PORTS = ground.directory;
    const answer = (_request, response) => response.end('in this process');
    const server = createServer(answer);
    t.after(() => server.close());
    const called = new Promise((resolve) => {
      assert.equal(server.listen(ground.prefix('/a/'), 10, resolve), server);
    });
    assert.equal(server.listening, false);
    await Promise.all([called, once(server, 'listening')]);
    assert.equal(server.listening, true);
    assert.equal(server.address().port, ground.port);
    await ground.start('b /b/');
    const response = await ground.ask('/a/');
    assert.equal(String(response.body), 'in this process');
    assert.equal(brief(await ground.ask('/b/')), '200 b');
    assert.ok(server.stats().connections.moved + server.stats().connections.native > 0);
  });

  test(
    'listen succeeds as soon as another process has joined, and blocks no thread',
    flock,
    async (t) => {
      const ground = await Ground.make(t);
      const end = await joinSlowly(t, ground);
      const app = ground.launch(['a /a/'], { later: ['a'], env: { UV_THREADPOOL_SIZE: '1' } });
      app.order('listen a');
      // By the only thread that the process has for this.
      await app.order('read', { said: 'read' });
      assert.ok(!app.hasSaid({ said: 'listening', name: 'a' }), 'it listens too soon');
      await end();
      await app.said({ said: 'listening', name: 'a' });
      assert.equal(brief(await ground.ask('/a/')), '200 a');
    },
  );

  test('ten processes can join at once', limits, async (t) => {
    const ground = await Ground.make(t);
    const names = [...'abcdefghij'];
    await ground.startAll(...names.map((name) => `${name} /${name}/`));
    const connection = await ground.connect();
    for (const from of names) {
      for (const to of names) {
        assert.equal(brief(await connection.ask(`/${from}/`)), `200 ${from}`);
        assert.equal(brief(await connection.ask(`/${to}/`)), `200 ${to}`);
      }
    }
  });

  test('a server gets its requests as soon as it listens', limits, async (t) => {
    const ground = await Ground.make(t);
    const a = await ground.start('a /a/');
    const b = await ground.start(['b /b/', 'c /c/'], { later: ['c'] });
    for (let round = 0; round < 10; round++) {
      const connection = await ground.connectTo('/a/');
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
      const ground = await Ground.make(t);
      const apps = await ground.startAll('a /a/', 'b /b/', 'c /c/', 'd /d/');
      for (const [at, name] of ['e', 'f'].entries()) {
        const late = apps.filter((_, other) => other !== at);
        await Promise.all(late.map((app) => app.stop()));
        await ground.start(`${name} /${name}/`);
        for (const app of late) app.goOn();
        await ground.settle();
        for (const from of ['/a/', '/b/', '/c/', '/d/']) {
          const connection = await ground.connectTo(from);
          assert.equal(brief(await connection.ask(`/${name}/`)), `200 ${name}`, `from ${from}`);
        }
      }
    },
  );

  test('headersTimeout applies to connections that never send a request', limits, async (t) => {
    const ground = await Ground.make(t);
    const options = { headersTimeout: 1000, requestTimeout: 1000, connectionsCheckingInterval: 50 };
    const app = await ground.start('a /a/', { options });
    const silent = await ground.connect();
    const partial = await ground.connect();
    partial.write('GET /a/ HT');
    const elsewhere = await ground.connect();
    elsewhere.write('GET /b/ HTTP/1.1\r\nHost: a');
    for (const connection of [silent, partial, elsewhere]) {
      assert.match(String(await connection.rest()), /^HTTP\/1\.1 408 /);
    }
    assert.equal(brief(await ground.ask('/a/')), '200 a');
    // None of them is in its way.
    assert.equal((await app.close('a')).code, undefined);
  });

  test(
    "'connection' is emitted each time that a connection comes to the server",
    limits,
    async (t) => {
      const ground = await Ground.make(t);
      await ground.start('a /a/', { hears: true });
      const connection = await ground.connectTo('/a/');
      await ground.start('b /b/', { hears: true });
      for (const target of ['/a/', '/b/', '/b/', '/a/', '/b/']) await connection.ask(target);
      for (const target of ['/b/', '/a/']) {
        const { seen } = (await connection.ask(`${target}?show=seen`)).json;
        const times = seen.filter((line) => line === `from ${connection.port}`).length;
        assert.equal(times, target === '/a/' ? 3 : 2, target);
      }
    },
  );

  test("'connection' is not emitted for connections of other processes", limits, async (t) => {
    const ground = await Ground.make(t);
    await ground.start('a /a/', { hears: true });
    const connection = await ground.connect();
    // They are accepted in order: it is a's.
    await ground.ask('/a/');
    await ground.start('b /b/');
    assert.equal(brief(await connection.ask('/b/')), '200 b');
    const { seen } = (await ground.ask('/a/?show=seen')).json;
    assert.ok(!seen.includes(`from ${connection.port}`), 'a has heard of it');
  });

  test('maxConnections counts the connections of its own server', limits, async (t) => {
    const ground = await Ground.make(t);
    await ground.start('a /a/', { properties: { maxConnections: 2 } });
    await ground.start('b /b/');
    const own = [await ground.connectTo('/a/'), await ground.connectTo('/a/')];
    for (let at = 0; at < 30; at++) assert.equal(brief(await ground.ask('/b/')), '200 b');
    for (const connection of own) assert.equal(brief(await connection.ask('/a/')), '200 a');
    // And one that comes from elsewhere is refused.
    const third = await ground.connectTo('/b/');
    await assert.rejects(third.ask('/a/'), /^Error: (end|ECONNRESET) /);
  });

  test('maxConnections is checked before the cache answers', limits, async (t) => {
    const ground = await Ground.make(t);
    const settings = { options: { cache: true }, properties: { maxConnections: 1 } };
    const a = await ground.start('a /a/', settings);
    await ground.start('b /b/');
    const own = await ground.connectTo('/a/?cache=60');
    assert.equal(brief(await own.ask('/a/?cache=60')), '200 a');
    assert.equal((await a.stats('a')).requests.cached, 1);
    for (let at = 0; at < 5; at++) {
      const other = await ground.connectTo('/b/');
      await assert.rejects(other.ask('/a/?cache=60'), /^Error: (end|ECONNRESET) /);
    }
    assert.equal((await a.stats('a')).requests.cached, 1);
  });
});
