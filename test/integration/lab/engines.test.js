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
import { openBench } from '../../../dist/lab/bench.js';
import { startNginx, startOwnServer } from '../../../dist/lab/peers/counting-server.js';
import { findPeers, programIn, searchPath } from '../../../dist/lab/peers/find-peer.js';
import { startHeadFirstServer } from '../../../dist/lab/peers/head-first.js';
import { measurePeer } from '../../../dist/lab/peers/peer-measure.js';
import { runPeer } from '../../../dist/lab/peers/peer-run.js';
import { PEERS } from '../../../dist/lab/peers/peers.js';
import { onCores, placesOn } from '../../../dist/lab/peers/pinning.js';
import { steadyPart } from '../../../dist/lab/peers/steady.js';
import { engines } from '../../../dist/lab/studies/engines.js';
import { claimsOf } from '../../../dist/lab/studies/engines-claims.js';
import { tableOf } from '../../../dist/lab/studies/engines-tables.js';
import { hasProcfs, readIds, readStat } from '../../../dist/process/procfs.js';

const folder = mkdtempSync(join(tmpdir(), 'millrace-engines-test-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const cleanups = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const { signal } = new AbortController();
const peerOf = (name) => PEERS.find((peer) => peer.name === name);
const noProcfs = !hasProcfs && 'needs /proc';
const noNginx = programIn('nginx') === null && 'needs nginx';

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

describe('what a tool prints', () => {
  // Recorded from the tools: against the test server, against `?status=500`, against a port where nobody listens.
  const recorded = {
    wrk: { rate: 75_451.81, requests: 83_032, errors: 0 },
    'wrk-500': { rate: 78_823.03, requests: 86_717, errors: 86_717 },
    'wrk-timeouts': { rate: 2.49, requests: 10, errors: 10 },
    ab: { rate: 81_407.88, requests: 81_410, errors: 0 },
    'ab-500': { rate: 21_712.17, requests: 21_713, errors: 21_713 },
    autocannon: { rate: 69_024, requests: 69_004, errors: 0 },
    'autocannon-refused': { rate: 0, requests: 24_820, errors: 24_820 },
    loadtest: { rate: 30_977, requests: 30_977, errors: 0 },
    'loadtest-tcp': { rate: 72_678, requests: 72_751, errors: 0 },
    'loadtest-refused': { rate: 15_200, requests: 15_200, errors: 15_200 },
    siege: { rate: 34_368.48, requests: 31_619, errors: 0 },
    'siege-refused': { rate: 0, requests: 1028, errors: 1028 },
    vegeta: { rate: 33_981.14074390459, requests: 33_979, errors: 0 },
    'vegeta-500': { rate: 9927.852435193643, requests: 9927, errors: 9927 },
    hey: { rate: 56_469.2524, requests: 56_492, errors: 0 },
    'hey-500': { rate: 13_618.8959, requests: 13_658, errors: 13_658 },
    'hey-refused': { requests: 20, errors: 20 },
  };
  for (const [file, expected] of Object.entries(recorded)) {
    test(`${file} is read`, () => {
      const text = readFileSync(new URL(`../../fixtures/lab/${file}.txt`, import.meta.url), 'utf8');
      const told = peerOf(file.split('-')[0]).read(text);
      assert.deepEqual({ ...told, ...expected }, told);
    });
  }

  test('oha leaves out what it did not wait for', () => {
    const report = {
      summary: { successRate: 1, total: 2.001, requestsPerSec: 5010.5 },
      statusCodeDistribution: { 200: 10_000, 500: 5 },
      errorDistribution: { 'aborted due to deadline': 50, 'connection reset': 2 },
    };
    const told = peerOf('oha').read(JSON.stringify(report, null, 2));
    assert.deepEqual(told, { rate: 5010.5, requests: 10_007, errors: 7 });
  });

  test('what is no report is none of any tool', () => {
    for (const peer of PEERS) {
      for (const text of ['', 'Segmentation fault', '{}', '{"requests": 1}']) {
        let told;
        try {
          told = peer.read(text);
        } catch {
          continue;
        }
        const figures = Object.values(told);
        assert(!figures.every(Number.isFinite), `${peer.name} reads '${text}'`);
      }
    }
  });
});

describe('tools are looked for', () => {
  test('in node_modules/.bin here and above, then in PATH', () => {
    const path = searchPath('/a/b');
    const projects = ['/a/b', '/a', '/'].map((at) => join(at, 'node_modules', '.bin'));
    assert.deepEqual(path, [
      ...projects,
      ...process.env.PATH.split(delimiter).filter((entry) => entry !== ''),
    ]);
  });

  test('those that are not there are named, and nothing is thrown', async () => {
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

describe('a tool that runs', () => {
  test('is ended with all that it started if it hangs', async () => {
    const server = await ownServer();
    const command = ['sh', '-c', 'sleep 600 & echo started; wait'];
    const run = await runPeer(command, server, { limitMs: 2000, signal });
    assert.match(run.fault, /^not through in 2 s/);
    assert.equal(run.output, 'started\n');
    if (hasProcfs) assert(!isSleeping(), 'it is still there');
  });

  test('has ended, whoever else goes on asking', async () => {
    const server = await ownServer();
    let asked = 0;
    const requests = async () => {
      asked += 1;
      return asked;
    };
    const run = await runPeer(['true'], { ...server, requests }, { limitMs: 60_000, signal });
    assert.equal(run.fault, null);
    assert.ok(run.requests > 1, `${run.requests} requests`);
  });

  test('is ended if nobody wants it any more', async () => {
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
    ['prints something else', scripted('echo hello'), /no report that is known/],
    [
      'sends nothing',
      scripted('true', { read: () => ({ rate: 1, requests: 1, errors: 0 }) }),
      /got no request/,
    ],
  ];
  for (const [what, found, message] of faults) {
    test(`and ${what} is told, not thrown`, async () => {
      const { fault } = await measured(found, await ownServer());
      assert.match(fault, message);
    });
  }

  test('has a count and a CPU time beside what it says', async () => {
    const server = await ownServer();
    const { told, counted, steady } = await measured(await own(), server, { seconds: 2 });
    assert.equal(told.errors, 0);
    assert(Math.abs(told.requests - counted) <= 5 + 0.02 * counted, `${told.requests}, ${counted}`);
    assert(steady.rate > 100);
    if (!hasProcfs) return;
    for (const cores of Object.values(steady.cpu)) assert(cores > 0 && cores < 1.5, `${cores}`);
  });

  test('is no measurement if it keeps connections that it should not', {
    skip: noProcfs,
  }, async () => {
    const { peer, ...more } = await own();
    const command = (program, load) => peer.command(program, { ...load, close: false });
    const server = await ownServer();
    const { fault } = await measured({ peer: { ...peer, command }, ...more }, server, {
      close: true,
    });
    assert.match(fault, /keeps its connections: [\d,]+ requests on \d+ connections/);
  });

  test('is no measurement if it does not keep those that it should', async () => {
    const { peer, ...more } = await own();
    const command = (program, load) => peer.command(program, { ...load, close: true });
    const server = await ownServer(startHeadFirstServer);
    const { fault } = await measured({ peer: { ...peer, command }, ...more }, server);
    assert.match(fault, /does not keep its connections: [\d,]+ requests on [\d,]+ connections/);
  });

  test('counts are those of nginx, without the questions for them', { skip: noNginx }, async () => {
    const server = await ownServer(() => startNginx(programIn('nginx'), 1, null, signal));
    assert.equal(await server.requests(), 0);
    const connections = await server.connections();
    assert.equal(await (await fetch(server.url)).text(), 'hello, world\n');
    assert.equal(await server.requests(), 1);
    assert.equal(await server.requests(), 1);
    assert.equal(await server.connections(), connections + 1);
  });

  test('millrace reads heads that come before their bodies', async () => {
    const { told, counted } = await measured(await own(), await ownServer(startHeadFirstServer));
    assert.equal(told.errors, 0);
    assert(told.requests > 5 && counted - told.requests <= 5, `${told.requests} of ${counted}`);
  });
});

describe('the steady part', () => {
  const reading = (atMs, requests) => ({
    atMs,
    requests,
    cpu: { toolMs: requests / 100, serverMs: requests / 50 },
  });

  test('leaves out start and end', () => {
    // Nothing for 200 ms, slow for 300, then 10 per ms until 1,000, then nothing.
    const at = (ms) => Math.max(0, ms - 200) + 9 * Math.max(0, Math.min(1000, ms) - 500);
    const readings = Array.from({ length: 25 }, (_, i) => reading(50 * i, ms(50 * i)));
    function ms(time) {
      return at(Math.min(1000, time));
    }
    const steady = steadyPart(readings);
    assert.equal(Math.round(steady.rate), 10_000);
    assert.equal(steady.cpu.toolCores.toFixed(3), '0.100');
    assert.equal(steady.cpu.serverCores.toFixed(3), '0.200');
  });

  test('is none of a short load, or of no load', () => {
    assert.equal(steadyPart([]), null);
    assert.equal(steadyPart([0, 50, 100].map((at) => reading(at, at))), null);
    assert.equal(steadyPart(Array.from({ length: 40 }, (_, i) => reading(50 * i, 7))), null);
  });
});

test('tool and server have cores of their own where there are enough', () => {
  const none = { tool: null, server: null, several: null };
  assert.deepEqual(placesOn([0], true), none);
  assert.deepEqual(placesOn([], true), none);
  assert.deepEqual(placesOn([0, 1], true), { tool: '1', server: '0', several: null });
  assert.deepEqual(placesOn([0, 1], false), none);
  const several = { processes: 3, cores: '2,3,4' };
  assert.deepEqual(placesOn([2, 3, 4, 5, 6, 7], true), { tool: '7', server: '2', several });
  assert.deepEqual(placesOn([0, 1, 2], false).several, { processes: 2, cores: null });
  assert.deepEqual(onCores('1', ['ab', 'URL']), ['taskset', '-c', '1', 'ab', 'URL']);
  assert.deepEqual(onCores(null, ['ab', 'URL']), ['ab', 'URL']);
});

describe('what is claimed', () => {
  const [close, kept] = [true, false].map((how) => ({ server: 'own', processes: 1, close: how }));
  const nginx = { server: 'nginx', processes: 1, close: false };
  const run = (tool, scenario, rate, toolCores, { told = 10_000, serverCores = 0.5 } = {}) => ({
    tool,
    scenario,
    told: { rate, requests: told, errors: 0 },
    counted: 10_000,
    steady: { rate, cpu: { toolCores, serverCores } },
  });
  const held = (runs, scenarios = [kept]) => claimsOf(scenarios, runs, []).map((one) => one.held);

  test('against wrk is told by several runs, or not at all', () => {
    const runs = (rates, tool) => rates.map((rate) => run(tool, kept, rate, 0.5));
    const first = (own, wrk) => held([...runs(own, 'millrace'), ...runs(wrk, 'wrk')])[0];
    assert.equal(first([99, 101, 100], [80, 81, 79]), true);
    assert.equal(first([80, 81, 79], [99, 101, 100]), false);
    assert.equal(first([80, 120, 100], [100, 95, 105]), null);
    assert.equal(first([100], [80]), null);
    assert.equal(first([100, 100], []), null);
  });

  test('of counts: within 2 %, and who differs is named', () => {
    const counts = (runs) => claimsOf([kept], runs, []).slice(1, 3);
    const good = run('millrace', kept, 1, 1, { told: 9900 });
    const [own, others] = counts([good, run('wrk', kept, 1, 1, { told: 20_000 })]);
    assert.equal(own.held, true);
    assert.equal(others.held, false);
    assert.match(others.text, /but wrk, keep-alive, own test server on 1 core: 20,000 of 10,000/);
    assert.equal(counts([good])[1].held, null);
  });

  test('of keep-alive, of cores, of heads', () => {
    const runs = [
      run('wrk', close, 10, 1),
      run('wrk', kept, 30, 1),
      run('autocannon', nginx, 30, 0.98, { serverCores: 0.6 }),
    ];
    const [keepAlive, limit, heads] = held(runs, [close, kept, nginx]).slice(-3);
    assert.deepEqual([keepAlive, limit, heads], [true, true, null]);
    const told = { rate: 1, requests: 470, errors: 0 };
    const headFirst = [
      { tool: 'loadtest --tcp', fault: 'ended with exit code 1' },
      { tool: 'millrace', told, counted: 475, steady: null },
    ];
    const last = claimsOf([], [], headFirst).at(-1);
    assert.equal(last.held, true);
    assert.match(last.text, /470 of 475.*ended with exit code 1/);
  });

  test('is what the table shows', () => {
    const { columns, rows } = tableOf(kept, [run('wrk', kept, 30_000, 0.5)]);
    for (const { cells } of rows) assert.equal(cells.length, columns.length);
    const wrk = rows.find(({ name }) => name === 'wrk');
    assert.deepEqual(wrk.cells, [73_000, 30_000, 30_000, 0, 0.5, 0.5, 1 / 60, 60_000]);
    assert.equal(
      rows.find(({ name }) => name === 'siege'),
      undefined,
    );
    assert.equal(rows.find(({ name }) => name === 'loadtest').cells[0], 21_000);
  });
});

test('a quick run compares the tools that are here and names the others', async () => {
  const cause = { limit: null, status: 'cannot-tell', sentence: '', arithmetic: [], remedy: null };
  const bench = {
    ...openBench(true, signal, () => {}),
    explain: async () => ({ ...cause, command: '' }),
  };
  const { tables, figures, claims, setup, missing } = await engines.repeat(bench);
  assert.equal(tables.length, noNginx ? 2 : 3);
  for (const { columns, rows } of tables) {
    for (const { cells } of rows) assert.equal(cells.length, columns.length);
    const cells = rows.find(({ name }) => name === 'millrace').cells.slice(1);
    const [said, counted, errors, , , cpuMs, perCore] = cells;
    assert(said > 100 && counted > 100, `${cells}`);
    assert.equal(errors, 0);
    if (hasProcfs) assert.equal(Math.round(cpuMs * perCore), 1000);
  }
  for (const { held, text } of claims) {
    assert([true, false, null].includes(held));
    assert.doesNotMatch(text, /NaN|undefined|Infinity/);
  }
  const counts = claims.find(({ text }) => text.startsWith('millrace counts the requests'));
  assert.equal(counts.held, true, counts.text);
  assert.equal(figures.length, 2);
  const about = [...setup, ...missing, ...tables.flatMap(({ rows }) => rows.map((r) => r.name))];
  for (const { name } of PEERS)
    assert(
      about.some((line) => line.includes(name)),
      name,
    );
  assert(!JSON.stringify({ setup, missing }).includes(tmpdir()), 'no paths of this machine');
});

test('an nginx and a tool that do not start are told, and the others are measured', async () => {
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
  const taskset = programIn('taskset');
  if (taskset !== null) symlinkSync(taskset, join(bin, 'taskset'));
  process.env.PATH = bin;
  cleanups.push(() => {
    process.env.PATH = path;
  });
  const cause = { limit: null, status: 'cannot-tell', sentence: '', arithmetic: [], remedy: null };
  const bench = {
    ...openBench(true, signal, () => {}),
    explain: async () => ({ ...cause, command: '' }),
  };
  const { tables, claims, missing } = await engines.repeat(bench);
  assert(
    missing.some((line) => /^nginx: .*no such directive/s.test(line)),
    missing.join('\n'),
  );
  assert(
    missing.some((line) => line.startsWith('wrk, keep-alive, own test server on 1 core: ')),
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
