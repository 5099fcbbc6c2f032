// Explanations of services that take half a minute each: the decisions behind them have tests of their own in test/unit/explain.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { test } from 'node:test';
import { explain } from 'millrace';
import {
  assertConfirmed,
  cli,
  explained,
  folder,
  limits,
  naming,
  service,
} from '../fixtures/explain/explained.js';

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
        const waiting = it.population.find(({ stage }) => stage === 'handler');
        assert.ok(waiting?.requests > 6, `${waiting?.requests} of 8 wait in handlers`);
        const doubled = it.experiments.find(({ name }) => name === 'connections-x2');
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

test(
  "a TCP timer is the limit with Nagle's algorithm and a delayed acknowledgement",
  limits,
  async () => {
    const command = service(
      'nagle',
      "require('http').createServer({ noDelay: false }, (q, r) => q.pipe(r)).listen(0)",
    );
    const options = { command, connections: 4, body: '0123456789', budget: '20s' };
    await explained(options, 'nagle-delayed-ack', (found) => {
      assertConfirmed(found);
      const { gapMs } = found.load;
      assert.ok(gapMs.p50 > 30 && gapMs.p50 < 60, `${gapMs.p50} ms`);
    });
  },
);

test('an experiment that did not take place excludes nobody, and is named', limits, async () => {
  const dependency = createServer((_, response) => setTimeout(() => response.end('x'), 40));
  dependency.listen(0, '127.0.0.1');
  await once(dependency, 'listening');
  try {
    const command = service(
      'kept-fetch',
      `const kept = fetch;
       const url = 'http://127.0.0.1:${dependency.address().port}/';
       require('http').createServer(async (q, r) => r.end(await (await kept(url)).text())).listen(0);`,
    );
    const options = { command, connections: 8, budget: '30s' };
    const found = await explained(options, 'too-few-connections', ({ cannotSee }) => {
      assert.match(cannotSee.join('\n'), /calls delayed: .*most calls cannot be delayed/);
    });
    assert.ok(!found.experiments.some(({ name }) => name === 'outbound-delay'));
  } finally {
    dependency.close();
    dependency.closeAllConnections();
  }
});

test('a server that begins to fail meanwhile leaves no ratios', limits, async () => {
  const command = service(
    'window',
    `let first;
     require('http').createServer((q, r) => {
       first ??= performance.now();
       const late = performance.now() - first > 16_000;
       setTimeout(() => r.writeHead(late ? 429 : 200).end('x'), late ? 0 : 20);
     }).listen(0)`,
  );
  const found = await explain({ command, connections: 4, budget: '40s' });
  assert.match(
    found.cannotSee.join('\n'),
    /all experiments: \d+ % of the requests under the unchanged load failed meanwhile/,
  );
  assert.deepEqual(found.experiments, []);
});

test('a pool of sockets to a dependency', limits, async () => {
  const dependency = createServer((_, response) => setTimeout(() => response.end('x'), 40));
  dependency.listen(0, '127.0.0.1');
  await once(dependency, 'listening');
  try {
    const command = service(
      'pool',
      `const http = require('http');
       const agent = new http.Agent({ keepAlive: true, maxSockets: 2 });
       const options = { port: ${dependency.address().port}, host: '127.0.0.1', agent };
       http.createServer((q, r) => http.get(options, (a) => a.pipe(r))).listen(0);`,
    );
    const options = { command, connections: 12, budget: '45s' };
    await explained(options, 'outbound-pool', (found) => {
      assertConfirmed(found);
      const [stage] = found.population.toSorted((a, b) => b.requests - a.requests);
      assert.equal(stage.stage, 'connection-wait');
    });
  } finally {
    dependency.close();
    dependency.closeAllConnections();
  }
});

test('a busy loop: a second process is tried, and both are gone afterwards', limits, async () => {
  const command = service(
    'busy',
    `require('http').createServer((q, r) => {
       const until = performance.now() + 3;
       while (performance.now() < until);
       r.end('x');
     }).listen(0)`,
  );
  const options = { command, connections: 10, budget: '32s' };
  await explained(options, 'event-loop-cpu', ({ experiments, cannotSee, remedy }) => {
    const second = experiments.find(({ name }) => name === 'second-process');
    assert.ok(second?.measured.ratio > 1.2, JSON.stringify(second ?? cannotSee));
    assert.match(remedy.change, /a second process yielded x \d/);
  });
  const { stdout } = spawnSync('pgrep', ['-f', command[1]], { encoding: 'utf8' });
  assert.equal(stdout, '');
});
