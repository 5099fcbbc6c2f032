// One port for several processes: of several users.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, mkdir, rm } from 'node:fs/promises';
import https from 'node:https';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { json } from 'node:stream/consumers';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual } from 'node:util';
import { brief, SharedPort, until } from '../../../fixtures/stack/sharing/processes.js';
import { makeCertificates } from '../../../fixtures/tls/certificates.js';

/** Users that need not exist. They have a group in common. */
const GROUP = 64_321;
const [one, other] = [1001, 65_534].map((uid) => ({ uid, gid: GROUP }));
const alone = { uid: 65_534, gid: 65_534 };
const READ = "require('node:fs').readdirSync(process.argv[1])";
const liar = fileURLToPath(
  new URL('../../../fixtures/stack/sharing/false-claims.js', import.meta.url),
);

const httpsApp = fileURLToPath(
  new URL('../../../fixtures/stack/sharing/https-application.js', import.meta.url),
);

const limits = { timeout: 60_000, skip: impediment() };

function impediment() {
  if (process.platform !== 'linux') return 'the system does not tell users apart here';
  if (process.getuid() !== 0) return 'only root can be several users';
  const { status } = run(alone, READ, fileURLToPath(new URL('../../../../dist', import.meta.url)));
  return status !== 0 && 'others cannot read this checkout';
}

/** Runs a program as a user. */
function run(user, program, ...args) {
  return spawnSync(process.execPath, ['-e', program, ...args], { ...user, encoding: 'utf8' });
}

/** A shared port whose directory is this user's, or this group's. */
async function makeSharedPort(t, { uid, gid }, mode) {
  const sharedPort = await SharedPort.make(t);
  await chown(sharedPort.directory, uid, gid);
  await chmod(sharedPort.directory, mode);
  return sharedPort;
}

/** How `listen` fails for an application of a user. */
function refusal(sharedPort, where, user) {
  return sharedPort.launch([where], { user }).said({ said: 'error' });
}

describe('a directory of one user', () => {
  test('other users neither join nor see the processes of a directory', limits, async (t) => {
    const sharedPort = await makeSharedPort(t, one, 0o700);
    await sharedPort.start('one /one/', { user: one });
    for (const where of ['other /other/', 'other /one/', 'other /one/longer/']) {
      const { code, message, thrown } = await refusal(sharedPort, where, other);
      assert.equal(code, 'EACCES', message);
      assert.match(message, /any-\d+/);
      assert.equal(thrown, false);
    }
    const place = join(sharedPort.directory, `any-${sharedPort.port}`);
    assert.match(run(other, READ, place).stderr, /EACCES/);
    // Nor if somebody has let them in, but not the group.
    await chmod(sharedPort.directory, 0o755);
    assert.match(run(other, READ, place).stderr, /EACCES/);
    assert.equal((await refusal(sharedPort, 'other /other/', other)).code, 'EACCES');
    assert.equal(brief(await sharedPort.ask('/one/')), '200 one');
    assert.equal(brief(await sharedPort.ask('/other/')), '404 -');
  });

  /** Where a user's own one is, for one that no other test has. */
  async function ownPlace(t, user) {
    const place = join('/tmp', `millrace-${user.uid}`);
    const remove = () => rm(place, { recursive: true, force: true });
    await remove();
    t.after(remove);
    return place;
  }

  test(
    'without MILLRACE_PORTS each user has a directory, and the port belongs to one user',
    limits,
    async (t) => {
      const user = { uid: 64_323, gid: GROUP };
      const place = await ownPlace(t, user);
      const sharedPort = await makeSharedPort(t, { uid: 0, gid: 0 }, 0o1777);
      sharedPort.env = { MILLRACE_PORTS: '', XDG_RUNTIME_DIR: sharedPort.directory };
      await sharedPort.start('one /one/', { user });
      assert.equal((await refusal(sharedPort, 'other /other/', other)).code, 'EADDRINUSE');
      assert.match(run(other, READ, place).stderr, /EACCES/);
    },
  );

  test('a directory that another user has created is not used', limits, async (t) => {
    const user = { uid: 64_324, gid: GROUP };
    const sharedPort = await makeSharedPort(t, { uid: 0, gid: 0 }, 0o1777);
    const { directory } = sharedPort;
    sharedPort.env = { MILLRACE_PORTS: '', XDG_RUNTIME_DIR: directory, TMPDIR: directory };
    for (const trap of [await ownPlace(t, user), join(directory, `millrace-${user.uid}`)]) {
      await mkdir(trap, { mode: 0o700 });
      await chown(trap, other.uid, other.gid);
    }
    const { message } = await refusal(sharedPort, 'one /one/', user);
    assert.match(message, /no directory of this user alone/);
    await assert.rejects(sharedPort.connect(), { code: 'ECONNREFUSED' });
  });
});

describe('a directory of a group', () => {
  test(
    'each user of a group owns its prefixes and no others, also after a crash',
    limits,
    async (t) => {
      const sharedPort = await makeSharedPort(t, { uid: 0, gid: GROUP }, 0o2770);
      const first = await sharedPort.start('one /one/', { user: one });
      await sharedPort.start('other /other/', { user: other });
      await sharedPort.start('longer /one/longer/', { user: other });
      const taken = async () => {
        const { code, message } = await refusal(sharedPort, 'thief /one/', other);
        assert.equal(code, 'EACCES', message);
        assert.match(message, /\/one\/ belongs to user 1001$/);
      };
      await taken();
      assert.equal(brief(await sharedPort.ask('/one/')), '200 one');
      assert.equal(brief(await sharedPort.ask('/one/longer/')), '200 longer');
      assert.equal(brief(await sharedPort.ask('/other/')), '200 other');
      const connection = await sharedPort.connectTo('/other/');
      await first.kill();
      assert.equal(brief(await connection.ask('/one/')), '503 -');
      await taken();
      const again = await sharedPort.start('again /one/', { user: one });
      assert.equal(brief(await connection.ask('/one/')), '200 again');
      // What is given back is free.
      await again.close('again');
      await sharedPort.start('heir /one/', { user: other });
      assert.equal(brief(await sharedPort.ask('/one/')), '200 heir');
    },
  );

  test('a user outside the group cannot join', limits, async (t) => {
    const sharedPort = await makeSharedPort(t, { uid: 0, gid: GROUP }, 0o2770);
    await sharedPort.start('one /one/', { user: one });
    assert.equal((await refusal(sharedPort, 'alone /alone/', alone)).code, 'EACCES');
    assert.match(run(alone, READ, sharedPort.directory).stderr, /EACCES/);
  });

  test('only the user of a prefix can say whose it was', limits, async (t) => {
    const sharedPort = await makeSharedPort(t, { uid: 0, gid: GROUP }, 0o2770);
    await sharedPort.start('root /');
    const first = await sharedPort.start('one /one/', { user: one });
    await first.kill();
    const connection = await sharedPort.connectTo('/');
    assert.equal(brief(await connection.ask('/one/')), '503 -');
    const place = join(sharedPort.directory, `any-${sharedPort.port}`);
    const said = JSON.stringify([[sharedPort.prefix('/one/'), other.uid]]);
    const child = spawn(process.execPath, [liar, place, said], { ...other, stdio: 'pipe' });
    t.after(() => child.kill());
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    assert.equal((await lines.next()).value, 'listening');
    // Root has seen whose it was, and its word is better.
    const again = sharedPort.launch(['again /one/'], { user: one });
    await again.said({ said: 'listening' });
    assert.equal(brief(await connection.ask('/one/')), '200 again');
    child.kill();
    await once(child, 'exit');
    assert.equal(brief(await sharedPort.ask('/one/')), '200 again');
  });
});

/** Gives who a client is, as each application sees it that shares a port, on a connection of its own. `users`: who runs them. */
async function startSeeing(t, users) {
  const sharedPort = await makeSharedPort(t, { uid: 0, gid: GROUP }, 0o2770);
  const { authority, server: identity, client } = makeCertificates();
  for (const [at, { requires = false, ...user }] of users.entries()) {
    const ca = authority.cert;
    const options = { identity, ca, requestCert: true, rejectUnauthorized: requires };
    const settings = JSON.stringify({ ...options, name: `${at}` });
    const prefix = `https://*:${sharedPort.port}/${at}/`;
    const child = spawn(process.execPath, [httpsApp, prefix, settings], {
      ...user,
      env: { ...process.env, ...sharedPort.env },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    t.after(() => child.kill('SIGKILL'));
    const { value } = await createInterface({ input: child.stdout })[Symbol.asyncIterator]().next();
    assert.equal(value, 'listening');
  }
  return async () => {
    const seen = [];
    for (const at of users.keys()) {
      const to = { host: '127.0.0.1', port: sharedPort.port, path: `/${at}/`, agent: false };
      const request = https.request({ ...to, ...client, rejectUnauthorized: false });
      try {
        const [response] = await once(request.end(), 'response');
        const { client: name, address, authorized, relayed } = await json(response);
        seen.push({ relayed, who: { name, address, authorized } });
      } catch ({ code }) {
        seen.push({ who: code });
      }
    }
    return seen;
  };
}

describe('the descriptors that a user may have in transit', () => {
  /** Of this user, nothing else runs. */
  const user = { uid: 64_322, gid: GROUP };

  test(
    'if too many descriptors are in transit, connections wait and no process is considered dead',
    limits,
    async (t) => {
      const sharedPort = await makeSharedPort(t, { uid: 0, gid: GROUP }, 0o2770);
      const many = await sharedPort.start('many /many/', { user });
      // It may have fewer on their way than the other has.
      const few = await sharedPort.start('few /few/', { user: { ...user, descriptors: 150 } });
      const connections = [];
      for (let at = 0; at < 200; at++) connections.push(await sharedPort.connectTo('/many/'));
      const given = await sharedPort.connectTo('/few/');
      const { moved } = (await few.stats('few')).connections;
      const { moved: before } = (await many.stats('many')).connections;
      const stopped = await sharedPort.start('stopped /stopped/', { user });
      await stopped.stop();
      for (const connection of connections) connection.send('/stopped/');
      await until('all of them are given', async () => {
        return (await many.stats('many')).connections.moved === before + connections.length;
      });
      given.send('/many/');
      await until('it is to go', async () => (await few.stats('few')).connections.moved > moved);
      assert.equal(brief(await sharedPort.ask('/few/')), '200 few');
      stopped.goOn();
      assert.equal(brief(await given.response()), '200 many');
      for (const connection of connections) {
        assert.equal(brief(await connection.response()), '200 stopped');
      }
      for (let at = 0; at < 20; at++)
        assert.equal(brief(await sharedPort.ask('/many/')), '200 many');
    },
  );
});

describe('users that share a port over TLS', () => {
  const client = { name: 'client', address: '::ffff:127.0.0.1', authorized: true };
  const nobody = { name: undefined, address: undefined, authorized: false };

  /** Until an application that has accepted the connection was asked, and one that has not: that one sees this. */
  async function assertSeen(see, elsewhere) {
    const all = [];
    await until('both were asked', async () => {
      all.push(...(await see()).map(({ who }) => who));
      return [client, elsewhere].every((who) => all.some((it) => isDeepStrictEqual(it, who)));
    });
    for (const who of all) assert.deepEqual(who, who.name === undefined ? elsewhere : client);
  }

  test('no process of another user can say who a client is', limits, async (t) => {
    await assertSeen(await startSeeing(t, [one, other]), nobody);
  });

  test(
    'a server that requires certificates refuses clients that it did not verify itself',
    limits,
    async (t) => {
      const users = [one, other].map((user) => ({ ...user, requires: true }));
      await assertSeen(await startSeeing(t, users), 'ECONNRESET');
    },
  );

  test('processes of the same user and of root can say who a client is', limits, async (t) => {
    for (const user of [one, { uid: 0, gid: GROUP }]) {
      const see = await startSeeing(t, [user, one]);
      await until('text has gone from one to the other', async () => {
        const [first, second] = await see();
        assert.deepEqual(second.who, client);
        return first.relayed > 0;
      });
    }
  });
});
