// How explain starts a server: where its probes meet, what it is told by its environment, and what keeps the probe out.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, describe, test } from 'node:test';
import { openProbeHub, PRELOAD } from '#internal/explain/observe/probe/hub.js';
import { explainProbeAbsence } from '#internal/explain/target/probe-absence.js';
import { ServerUnderTest } from '#internal/explain/target/server-under-test.js';

const noProcfs = process.platform !== 'linux' && 'needs /proc';
const folder = realpathSync(mkdtempSync(join(tmpdir(), 'millrace-start-')));
const { TMPDIR } = process.env;
const cleanups = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
  if (TMPDIR === undefined) delete process.env.TMPDIR;
  else process.env.TMPDIR = TMPDIR;
});
after(() => rmSync(folder, { recursive: true }));

const script = join(folder, 'server.cjs');
writeFileSync(
  script,
  `require('http').createServer((q, r) => r.end(process.env.GREETING)).listen(0, '127.0.0.1');`,
);

/** A server under study that was started by a command, with a probe where it can be; its load is `options`. */
async function started(command, { options = {}, ports = [] } = {}) {
  const hub = await openProbeHub();
  cleanups.push(() => hub.close());
  const { signal } = new AbortController();
  const trial = { method: 'GET', target: '/' };
  const subject = new ServerUnderTest(options, { command }, hub, signal, ports, trial);
  cleanups.push(() => subject.close());
  await subject.start();
  return subject;
}

async function answerOf(subject) {
  const response = await fetch(subject.options.url[0]);
  return response.text();
}

describe('the socket of the probe', { skip: noProcfs }, () => {
  const long = join(folder, 'a-folder-of-a-job'.repeat(6));
  mkdirSync(long);
  for (const [what, path] of [
    ['does not exist', join(folder, 'missing')],
    ['is too long', long],
    ['is a file', script],
    ['cannot be written to', '/proc'],
  ]) {
    test(`the socket of the probe is in another directory if TMPDIR ${what}`, async () => {
      process.env.TMPDIR = path;
      const hub = await openProbeHub();
      cleanups.push(() => hub.close());
      assert.ok(!hub.path.startsWith(path), hub.path);
      assert.ok(Buffer.byteLength(hub.path) <= 103, hub.path);
    });
  }
});

const noProbe = { probe: false, http2: false };

describe('a command that is explained', { skip: noProcfs, timeout: 60_000 }, () => {
  test('a command gets the variables before it, its NODE_OPTIONS, and the probe', async () => {
    const assigned = ['GREETING=from outside', 'NODE_OPTIONS=--max-old-space-size=222'];
    const subject = await started([...assigned, process.execPath, script]);
    assert.equal(await answerOf(subject), 'from outside');
    assert.equal(await subject.hub.waitUntilServed(10_000), true);
  });

  test('a command that overwrites NODE_OPTIONS is recognized', async () => {
    const command = `NODE_OPTIONS=--max-old-space-size=222 '${process.execPath}' ${script}`;
    const subject = await started([command]);
    const [line] = explainProbeAbsence(true, subject, noProbe);
    assert.match(line, /^inside the server: its NODE_OPTIONS were replaced.*--attach$/);
  });

  test('a command that keeps NODE_OPTIONS is not reported to overwrite it', async () => {
    const subject = await started([process.execPath, script]);
    assert.deepEqual(explainProbeAbsence(true, subject, noProbe), [
      'inside the server: the probe saw no request through node:http or node:https',
    ]);
    assert.deepEqual(explainProbeAbsence(true, subject, { ...noProbe, probe: true }), []);
    assert.deepEqual(explainProbeAbsence(true, subject, { ...noProbe, http2: true }), [
      'inside the server: the probe saw no request through node:http2',
    ]);
  });

  test('a command whose permission model blocks the probe is started without it', async () => {
    const flag =
      Number(process.versions.node.split('.')[0]) < 22 ? 'experimental-permission' : 'permission';
    const allowed = [
      `--allow-fs-read=${folder}/*`,
      ...(process.allowedNodeEnvironmentFlags.has('--allow-net') ? ['--allow-net'] : []),
    ];
    const subject = await started([process.execPath, `--${flag}`, ...allowed, script]);
    assert.equal(await answerOf(subject), '');
    const [line] = explainProbeAbsence(true, subject, noProbe);
    assert.match(
      line,
      /Node\.js's permission model denies the probe; add --allow-fs-read=.*\/dist\/\*$/,
    );
    await subject.restart();
    assert.equal(await answerOf(subject), '');

    const advised = line.slice(line.indexOf('--allow-fs-read'));
    const seen = await started([process.execPath, `--${flag}`, ...allowed, advised, script]);
    assert.equal(await answerOf(seen), '');
    assert.equal(await seen.hub.waitUntilServed(10_000), true);
  });

  const noOtherUser = process.getuid?.() !== 0 && 'needs root';
  test('a command of another user has no probe', { skip: noOtherUser }, async () => {
    const listens = `require('http').createServer((q, r) => r.end()).listen(0, '127.0.0.1')`;
    const asNobody = ['setpriv', '--reuid=65534', '--clear-groups'];
    const subject = await started([...asNobody, process.execPath, '-e', listens]);
    assert.deepEqual(explainProbeAbsence(true, subject, noProbe), [
      "inside the server: it runs as another user (uid 65534), who cannot reach the probe's socket: run millrace as that user",
    ]);
  });

  test('a command that cannot read the probe is started without it', async () => {
    // As if the folder of the package belonged to another user.
    const unreadable = join(folder, 'unreadable.sh');
    const error = `echo "Error: Cannot find module '${PRELOAD}'" >&2; exit 1`;
    writeFileSync(
      unreadable,
      `case "$NODE_OPTIONS" in *preload*) ${error};; esac; exec '${process.execPath}' '${script}'`,
    );
    const subject = await started(['sh', unreadable]);
    assert.equal(await answerOf(subject), '');
    assert.match(explainProbeAbsence(true, subject, noProbe)[0], /its user cannot read .*preload/);
  });

  test('a command is loaded by targets that name their host', async () => {
    const free = await new Promise((resolve) => {
      const taken = createServer().listen(0, '127.0.0.1', () => {
        const { port } = taken.address();
        taken.close(() => resolve(port));
      });
    });
    const targets = [{ url: `http://127.0.0.1:${free}/a` }];
    const listens = `require('http').createServer((q, r) => r.end()).listen(${free}, '127.0.0.1')`;
    const subject = await started([process.execPath, '-e', listens], {
      options: { targets },
      ports: [free],
    });
    const { load } = await subject.runBlock({ settleMs: 0, measureMs: 200 });
    assert.ok(load.requests.ok > 0);
    assert.equal(load.plan.targets[0].url, targets[0].url);
  });
});
