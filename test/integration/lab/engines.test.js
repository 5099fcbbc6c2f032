import assert from 'node:assert/strict';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { after, afterEach, describe, test } from 'node:test';
import { createBench } from '#internal/lab/bench.js';
import { startNginx, startOwnServer } from '#internal/lab/peers/counting-server.js';
import { findPeers, findProgram, listSearchPath } from '#internal/lab/peers/find-peer.js';
import { startHeadFirstServer } from '#internal/lab/peers/head-first.js';
import { measurePeer } from '#internal/lab/peers/peer-measure.js';
import { runPeer } from '#internal/lab/peers/peer-run.js';
import { PEERS } from '#internal/lab/peers/peers.js';
import { engines } from '#internal/lab/studies/engines.js';
import { hasProcfs, readIds, readStat } from '#internal/process/procfs/procfs.js';

const folder = mkdtempSync(join(tmpdir(), 'millrace-engines-test-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const cleanups = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});
const { signal } = new AbortController();
const peerOf = (name) => PEERS.find((peer) => peer.name === name);
const noProcfs = !hasProcfs && 'needs /proc';
const noNginx = findProgram('nginx') === null && 'needs nginx';

async function ownServer(start = () => startOwnServer(1, null)) {
  const server = await start();
  cleanups.push(() => server.close());
  return server;
}

async function own() {
  const { found } = await findPeers([peerOf('millrace')], folder);
  return found[0];
}

/** A tool that is a script of `sh`. */
function scripted(script, more = {}) {
  const peer = { ...peerOf('wrk'), command: () => ['sh', '-c', script], ...more };
  return { peer, program: ['wrk'], version: null };
}
const measured = (found, server, { close = false, seconds = 1, ...options } = {}) =>
  measurePeer(
    found,
    server,
    { connections: 5, seconds, close, folder },
    {
      cores: null,
      signal,
      ...options,
    },
  );

describe('the search for load testers', () => {
  test('load testers are found in node_modules/.bin of this and higher folders, then in PATH', () => {
    const path = listSearchPath('/a/b');
    const projects = ['/a/b', '/a', '/'].map((at) => join(at, 'node_modules', '.bin'));
    assert.deepEqual(path, [
      ...projects,
      ...process.env.PATH.split(delimiter).filter((entry) => entry !== ''),
    ]);
  });

  test('missing load testers are named, and nothing is thrown', async () => {
    const bin = join(folder, 'bin');
    mkdirSync(bin);
    writeFileSync(join(bin, 'wrk'), '#!/bin/sh\necho wrk 4.2.0 [epoll]\nexit 1\n');
    chmodSync(join(bin, 'wrk'), 0o755);
    writeFileSync(join(bin, 'ab'), 'not to be executed');
    const { found, missing } = await findPeers(PEERS, folder, [bin]);
    assert.deepEqual(
      found.map(({ peer, version }) => [peer.name, peer.name === 'wrk' ? version : null]),
      [
        ['wrk', '4.2.0'],
        ['millrace', null],
      ],
    );
    assert.equal(missing.length, PEERS.length - 2);
    assert(missing.some(({ name }) => name === 'ab'));
  });
});

describe('a load tester that runs', () => {
  test('a load tester that hangs is ended with all its processes', async () => {
    const server = await ownServer();
    const command = ['sh', '-c', 'sleep 600 & echo started; wait'];
    const run = await runPeer(command, server, { limitMs: 2000, signal });
    assert.match(run.failure, /^stopped, as it did not finish within 2 s/);
    assert.equal(run.output, 'started\n');
    if (hasProcfs) assert(!isSleeping(), 'it is still there');
  });

  test('a load tester has ended even if others continue to send requests', async () => {
    const server = await ownServer();
    let asked = 0;
    const requests = async () => {
      asked += 1;
      return asked;
    };
    const run = await runPeer(['true'], { ...server, requests }, { limitMs: 60_000, signal });
    assert.equal(run.failure, null);
    assert.ok(run.requests > 1, `${run.requests} requests`);
  });

  test('a load tester is ended if the caller no longer needs it', async () => {
    const server = await ownServer();
    // Before it starts, and while it runs.
    for (const last of [1, 3]) {
      const abort = new AbortController();
      let asked = 0;
      const requests = () => {
        asked += 1;
        if (asked === last) abort.abort();
        return server.requests();
      };
      const options = { limitMs: 60_000, signal: abort.signal };
      const run = runPeer(['sleep', '600'], { ...server, requests }, options);
      await assert.rejects(run, (error) => error === abort.signal.reason);
      if (hasProcfs) assert(!isSleeping(), 'it is still there');
      await assert.rejects(runPeer(['true'], server, options), { name: 'AbortError' });
    }
  });

  const faults = [
    [
      'fails',
      scripted('echo Error: no sockets left >&2; exit 7'),
      /exit code 7: Error: no sockets/,
    ],
    ['prints something else', scripted('echo hello'), /no report in a known format/],
    [
      'sends nothing',
      scripted('true', { read: () => ({ rate: 1, requests: 1, errors: 0 }) }),
      /received no request/,
    ],
  ];
  for (const [what, found, message] of faults) {
    test(`${what} is reported, not thrown`, async () => {
      const { failure } = await measured(found, await ownServer());
      assert.match(failure, message);
    });
  }

  test('a load tester has a count and a CPU time in addition to its own figures', async () => {
    const server = await ownServer();
    const { reported, counted, steady } = await measured(await own(), server, { seconds: 2 });
    assert.equal(reported.errors, 0);
    assert(
      Math.abs(reported.requests - counted) <= 5 + 0.02 * counted,
      `${reported.requests}, ${counted}`,
    );
    assert(steady.rate > 100);
    if (!hasProcfs) return;
    for (const cores of Object.values(steady.cpu)) assert(cores > 0 && cores < 1.5, `${cores}`);
  });

  test('a run is not a measurement if it keeps connections that it should close', {
    skip: noProcfs,
  }, async () => {
    const { peer, ...more } = await own();
    const command = (program, load) => peer.command(program, { ...load, close: false });
    const server = await ownServer();
    const { failure } = await measured({ peer: { ...peer, command }, ...more }, server, {
      close: true,
    });
    assert.match(failure, /keeps its connections: [\d,]+ requests on \d+ connections/);
  });

  test('a run is not a measurement if it closes connections that it should keep', async () => {
    const { peer, ...more } = await own();
    const command = (program, load) => peer.command(program, { ...load, close: true });
    const server = await ownServer(startHeadFirstServer);
    const { failure } = await measured({ peer: { ...peer, command }, ...more }, server);
    assert.match(failure, /does not keep its connections: [\d,]+ requests on [\d,]+ connections/);
  });

  test('requests are counted by nginx, without those that read the count', {
    skip: noNginx,
  }, async () => {
    const server = await ownServer(() => startNginx(findProgram('nginx'), 1, null, signal));
    assert.equal(await server.requests(), 0);
    const connections = await server.connections();
    assert.equal(await (await fetch(server.url)).text(), 'hello, world\n');
    assert.equal(await server.requests(), 1);
    assert.equal(await server.requests(), 1);
    assert.equal(await server.connections(), connections + 1);
  });

  test('millrace reads heads that arrive before their bodies', async () => {
    const { reported, counted } = await measured(
      await own(),
      await ownServer(startHeadFirstServer),
    );
    assert.equal(reported.errors, 0);
    assert(
      reported.requests > 5 && counted - reported.requests <= 5,
      `${reported.requests} of ${counted}`,
    );
  });
});

test('an nginx and a load tester that do not start are reported, and the others are measured', async () => {
  const bin = join(folder, 'broken');
  const path = process.env.PATH;
  mkdirSync(bin);
  for (const [name, script] of [
    ['nginx', '#!/bin/sh\necho no such directive >&2\nexit 1\n'],
    ['wrk', '#!/nowhere/sh\n'],
  ]) {
    writeFileSync(join(bin, name), script);
    chmodSync(join(bin, name), 0o755);
  }
  const taskset = findProgram('taskset');
  if (taskset !== null) symlinkSync(taskset, join(bin, 'taskset'));
  process.env.PATH = bin;
  cleanups.push(() => {
    process.env.PATH = path;
  });
  const cause = { limit: null, status: 'cannot-tell', sentence: '', arithmetic: [], remedy: null };
  const bench = {
    ...createBench(true, signal, () => {}),
    explain: async () => ({ ...cause, command: '' }),
  };
  const { tables, claims, missing } = await engines.repeat(bench);
  assert(
    missing.some((line) => /^nginx: .*no such directive/s.test(line)),
    missing.join('\n'),
  );
  assert(
    missing.some((line) => line.startsWith('wrk, keep-alive, test server on 1 core: ')),
    missing.join('\n'),
  );
  for (const { rows } of tables.slice(0, 2)) {
    const counted = (tool) => rows.find(({ name }) => name === tool)?.cells[2] ?? null;
    assert(counted('millrace') > 100, `${counted('millrace')}`);
    assert.equal(counted('wrk'), null);
  }
  for (const { text } of claims) assert.doesNotMatch(text, /NaN|undefined|Infinity/);
});

/** Whether `sleep 600` of this test runs. */
function isSleeping() {
  return readIds('/proc').some((pid) => {
    const stat = readStat(`/proc/${pid}`);
    if (stat === null || stat.state === 'Z') return false;
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8') === 'sleep\x300\0';
    } catch {
      return false;
    }
  });
}
