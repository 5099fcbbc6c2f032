// `millrace explain` as its users meet it: on services with a limit that no noise of a machine hides.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { explain } from 'millrace';
import {
  assertConfirmed,
  assertFits,
  cli,
  folder,
  limits,
  naming,
  service,
} from '../../fixtures/explain/explained.js';
import { retried } from '../../fixtures/retry.js';

/** Requests in the stages are all that there are. */
function assertAllPlaced({ population, load }) {
  const sum = population.reduce((total, { requests }) => total + requests, 0);
  const { connections, pipelining } = load.plan;
  assert.ok(Math.abs(sum - connections * pipelining) < 0.02 * sum + 0.1, `${sum} requests`);
}

test(
  'too few connections are the limit with a timer that each request waits for, by the command line',
  limits,
  async () => {
    const command = service(
      'timer',
      `require('http').createServer((q, r) => {
       let n = 0;
       q.on('data', (chunk) => (n += chunk.length));
       q.on('end', () => setTimeout(() => r.writeHead(n === 6 ? 200 : 400).end('x'), 50));
     }).listen(0)`,
    );
    const [json, html] = [join(folder, 'x.json'), join(folder, 'x.html')];
    const args = ['-c', '8', '--budget', '18s', '-b', '@-', '-o', json, '--html', html];
    const found = await naming(
      'too-few-connections',
      async () => {
        const run = await cli([...args, '--', ...command], { input: 'a body' });
        assert.equal(run.code, 0, run.stderr);
        assert.match(run.stdout, /LIMIT: /);
        return JSON.parse(readFileSync(json, 'utf8'));
      },
      (it) => {
        assertConfirmed(it);
        const waiting = it.population.find(({ stage }) => /waiting in handlers/.test(stage));
        assert.ok(waiting?.requests > 6, `${waiting?.requests} of 8 wait in handlers`);
        const doubled = it.experiments.find(({ name }) => name === 'connections x2');
        assert.ok(doubled?.measured.ratio > 1.5, JSON.stringify(doubled));
        assert.ok(it.remedy.settings.connections > 8);
        // The knee was looked for beyond the doubled load.
        const most = Math.max(...it.capacity.points.map(({ connections }) => connections));
        assert.ok(most > 16, `at most ${most} connections were tried`);
        assert.ok(it.remedy.predictedThroughput?.low > it.load.throughput.mean);
      },
    );
    assertAllPlaced(found);
    assert.match(readFileSync(html, 'utf8'), /too-few-connections/);
    // The body from standard input was sent in every block: without it requests fail, and a ratio is none.
    assert.equal(found.load.requests.statusErrors, 0);
    assert.ok(
      !found.cannotSee.some((line) => /requests failed/.test(line)),
      found.cannotSee.join(),
    );
  },
);

test('a sustained rate has no limit', limits, async () => {
  const command = service(
    'hello',
    `const { createServer } = require('http');
     for (const _ of [1, 2]) createServer((q, r) => r.end('x')).listen(0);`,
  );
  const found = await retried(
    () => explain({ command, rate: 50, budget: '15s' }),
    ({ verdict: { status, limit, sentence } }) => {
      assert.deepEqual([status, limit], ['no-limit', null], sentence);
    },
  );
  assertFits(found);
  assert.match(found.cannotSee.join('\n'), /port \d+: the command listens there too; give its URL/);
});

test(
  'a run that is ended early reports its findings so far, and stops the server',
  limits,
  async () => {
    const command = service(
      'long',
      `const server = require('http').createServer((q, r) => setTimeout(() => r.end('x'), 30));
     server.listen(0);`,
    );
    const found = await retried(
      async () => {
        const abort = new AbortController();
        const run = explain({ command, connections: 4, signal: abort.signal });
        for await (const { step } of run)
          if (/^experiment: connections x2/.test(step)) abort.abort();
        return run;
      },
      ({ verdict }) => assert.equal(verdict.limit, 'too-few-connections', verdict.sentence),
    );
    assertFits(found);
    assert.equal(found.interrupted, true);
    const { port } = new URL(found.load.plan.targets[0].url);
    await assert.rejects(fetch(`http://127.0.0.1:${port}/`));
  },
);
