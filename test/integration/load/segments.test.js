// Shares of a run send what the whole run sends, when it would have sent it.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { load } from 'millrace';
import { ok } from '../../fixtures/truth/scripts.js';
import { truthServer } from '../../fixtures/truth/server.js';

const TIMEOUT = { timeout: 30_000 };
const folder = mkdtempSync(join(tmpdir(), 'millrace-segments-'));
after(() => rmSync(folder, { recursive: true }));

/** Runs a load; the targets that arrived, sorted, and the result. */
async function run(t, { path, ...options }) {
  const server = await truthServer(t, ok());
  const url = server.url.slice(0, -1) + path;
  const result = await load({ url, seed: 5, ...options });
  await server.settled(result.connections.opened);
  return { result, targets: server.requests.map(({ target }) => target).sort() };
}

describe('shares of one run', TIMEOUT, () => {
  test('together they send the requests of the whole run, each once', async (t) => {
    const csv = join(folder, 'users.csv');
    writeFileSync(csv, 'name\nann\nbob\neve\n');
    const path = `/{{seq}}/{{csv:${csv}:name}}/{{random:1-1000000}}/{{uuid}}`;
    const options = { path, rate: 500, arrivals: 'poisson', requests: 90, connections: 20 };
    const whole = await run(t, { ...options, threads: 2 });
    const shares = await Promise.all(
      [1, 2, 3].map((index) => run(t, { ...options, segment: `${index}/3`, threads: index })),
    );
    assert.equal(whole.targets.length, 90);
    assert.deepEqual(shares.flatMap(({ targets }) => targets).sort(), whole.targets);
    assert.deepEqual(
      shares.map(({ result }) => [result.requests.sent, result.plan.segment.index]),
      [
        [30, 1],
        [30, 2],
        [30, 3],
      ],
    );
  });

  test('in a closed run no number is sent twice', async (t) => {
    const options = { path: '/{{seq}}', connections: 5, requests: 50 };
    const shares = await Promise.all(
      [1, 2].map((index) => run(t, { ...options, segment: `${index}/2` })),
    );
    const numbers = shares
      .flatMap(({ targets }) => targets)
      .map((target) => Number(target.slice(1)));
    assert.deepEqual(
      numbers.sort((a, b) => a - b),
      Array.from({ length: 50 }, (_, number) => number),
    );
  });
});

describe('a planned start', TIMEOUT, () => {
  test('the load begins at the instant, and connections are open before', async (t) => {
    const startAt = Date.now() + 300;
    const { result } = await run(t, { path: '/', startAt, rate: 100, duration: '200ms' });
    assert.equal(result.start.at, new Date(startAt).toISOString());
    assert.ok(result.startedAtMs >= startAt, `${result.startedAtMs} is before ${startAt}`);
    assert.ok(Math.abs(result.startedAtMs - startAt - result.start.lateMs) < 0.01);
  });

  test('an instant that has passed begins at once, and the report says how late', async (t) => {
    const startAt = new Date(Date.now() - 5000);
    const { result } = await run(t, { path: '/', startAt, requests: 2, connections: 1 });
    assert.ok(result.start.lateMs >= 5000, String(result.start.lateMs));
    const { message } = result.warnings.find(({ id }) => id === 'started-late');
    assert.match(message, /^The load began 5\.\d+ s later than planned/);
  });

  test('a run that waits for its start is ended by its signal', async (t) => {
    const server = await truthServer(t, ok());
    const abort = new AbortController();
    const running = load({ url: server.url, startAt: '+1h', signal: abort.signal });
    const waiting = async () => {
      for await (const { phase, elapsedMs } of running) {
        assert.equal(phase, 'wait');
        assert.ok(elapsedMs > 3_500_000);
        abort.abort(new Error('enough'));
      }
    };
    await assert.rejects(waiting(), /enough/);
    await assert.rejects(running, /enough/);
    assert.equal(server.connections.length, 0);
  });
});
