// What other load testers print, and what is claimed of them.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { PEERS } from '#internal/lab/peers/peers.js';
import { assignCores, pinCommand } from '#internal/lab/peers/pinning.js';
import { findSteadyPart } from '#internal/lab/peers/steady.js';
import { checkClaims } from '#internal/lab/studies/engines-claims.js';
import { buildTable } from '#internal/lab/studies/engines-tables.js';

const folder = mkdtempSync(join(tmpdir(), 'millrace-engines-test-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const peerOf = (name) => PEERS.find((peer) => peer.name === name);

describe('the output of load testers', () => {
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
    test(`the output in ${file} is read`, () => {
      const text = readFileSync(new URL(`../../fixtures/lab/${file}.txt`, import.meta.url), 'utf8');
      const reported = peerOf(file.split('-')[0]).read(text);
      assert.deepEqual({ ...reported, ...expected }, reported);
    });
  }

  test('requests that oha did not wait for are left out', () => {
    const report = {
      summary: { successRate: 1, total: 2.001, requestsPerSec: 5010.5 },
      statusCodeDistribution: { 200: 10_000, 500: 5 },
      errorDistribution: { 'aborted due to deadline': 50, 'connection reset': 2 },
    };
    const reported = peerOf('oha').read(JSON.stringify(report, null, 2));
    assert.deepEqual(reported, { rate: 5010.5, requests: 10_007, errors: 7 });
  });

  test('text that is not a report is refused for each load tester', () => {
    for (const peer of PEERS) {
      for (const text of ['', 'Segmentation fault', '{}', '{"requests": 1}']) {
        let reported;
        try {
          reported = peer.read(text);
        } catch {
          continue;
        }
        const figures = Object.values(reported);
        assert(!figures.every(Number.isFinite), `${peer.name} reads '${text}'`);
      }
    }
  });
});

describe('the steady part of a run', () => {
  const reading = (atMs, requests) => ({
    atMs,
    requests,
    cpu: { toolMs: requests / 100, serverMs: requests / 50 },
  });

  test('the steady part leaves out start and end', () => {
    // Nothing for 200 ms, slow for 300, then 10 per ms until 1,000, then nothing.
    const at = (ms) => Math.max(0, ms - 200) + 9 * Math.max(0, Math.min(1000, ms) - 500);
    const readings = Array.from({ length: 25 }, (_, i) => reading(50 * i, ms(50 * i)));
    function ms(time) {
      return at(Math.min(1000, time));
    }
    const steady = findSteadyPart(readings);
    assert.equal(Math.round(steady.rate), 10_000);
    assert.equal(steady.cpu.toolCores.toFixed(3), '0.100');
    assert.equal(steady.cpu.serverCores.toFixed(3), '0.200');
  });

  test('a short load, or none, has no steady part', () => {
    assert.equal(findSteadyPart([]), null);
    assert.equal(findSteadyPart([0, 50, 100].map((at) => reading(at, at))), null);
    assert.equal(findSteadyPart(Array.from({ length: 40 }, (_, i) => reading(50 * i, 7))), null);
  });
});

test('load tester and server have separate cores if there are enough', () => {
  const none = { tool: null, server: null, several: null };
  assert.deepEqual(assignCores([0], true), none);
  assert.deepEqual(assignCores([], true), none);
  assert.deepEqual(assignCores([0, 1], true), { tool: '1', server: '0', several: null });
  assert.deepEqual(assignCores([0, 1], false), none);
  const several = { processes: 3, cores: '2,3,4' };
  assert.deepEqual(assignCores([2, 3, 4, 5, 6, 7], true), { tool: '7', server: '2', several });
  assert.deepEqual(assignCores([0, 1, 2], false).several, { processes: 2, cores: null });
  assert.deepEqual(pinCommand('1', ['ab', 'URL']), ['taskset', '-c', '1', 'ab', 'URL']);
  assert.deepEqual(pinCommand(null, ['ab', 'URL']), ['ab', 'URL']);
});

describe('claims of the study', () => {
  const [close, kept] = [true, false].map((how) => ({ server: 'own', processes: 1, close: how }));
  const nginx = { server: 'nginx', processes: 1, close: false };
  const run = (tool, scenario, rate, toolCores, { reported = 10_000, serverCores = 0.5 } = {}) => ({
    tool,
    scenario,
    reported: { rate, requests: reported, errors: 0 },
    counted: 10_000,
    steady: { rate, cpu: { toolCores, serverCores } },
  });
  const held = (runs, scenarios = [kept]) =>
    checkClaims(scenarios, runs, []).map((one) => one.held);

  test('a claim against wrk is decided by several runs, or not at all', () => {
    const runs = (rates, tool) => rates.map((rate) => run(tool, kept, rate, 0.5));
    const first = (own, wrk) => held([...runs(own, 'millrace'), ...runs(wrk, 'wrk')])[0];
    assert.equal(first([99, 101, 100], [80, 81, 79]), true);
    assert.equal(first([80, 81, 79], [99, 101, 100]), false);
    assert.equal(first([80, 120, 100], [100, 95, 105]), null);
    assert.equal(first([100], [80]), null);
    assert.equal(first([100, 100], []), null);
  });

  test('counts within 2 % are equal, and a different load tester is named', () => {
    const counts = (runs) => checkClaims([kept], runs, []).slice(1, 3);
    const good = run('millrace', kept, 1, 1, { reported: 9900 });
    const [own, others] = counts([good, run('wrk', kept, 1, 1, { reported: 20_000 })]);
    assert.equal(own.held, true);
    assert.equal(others.held, false);
    assert.match(others.text, /except wrk, keep-alive, test server on 1 core: 20,000 of 10,000/);
    assert.equal(counts([good])[1].held, null);
  });

  test('claims about keep-alive, cores and heads are decided', () => {
    const runs = [
      run('wrk', close, 10, 1),
      run('wrk', kept, 30, 1),
      run('autocannon', nginx, 30, 0.98, { serverCores: 0.6 }),
    ];
    const [keepAlive, limit, heads] = held(runs, [close, kept, nginx]).slice(-3);
    assert.deepEqual([keepAlive, limit, heads], [true, true, null]);
    const reported = { rate: 1, requests: 470, errors: 0 };
    const headFirst = [
      { tool: 'loadtest --tcp', failure: 'ended with exit code 1' },
      { tool: 'millrace', reported, counted: 475, steady: null },
    ];
    const last = checkClaims([], [], headFirst).at(-1);
    assert.equal(last.held, true);
    assert.match(last.text, /470 of 475.*ended with exit code 1/);
  });

  test('claims agree with the table', () => {
    const { columns, rows } = buildTable(kept, [run('wrk', kept, 30_000, 0.5)]);
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
