// `millrace explain` as its users meet it: on services with a limit that no noise of a machine hides.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { explain } from 'millrace';
import { assertFits, limits, service } from '../../fixtures/explain/explained.js';
import { retried } from '../../fixtures/retry.js';

describe('explain', { concurrency: 2 }, () => {
  test('a sustained rate has no limit', limits, async () => {
    const command = service(
      'hello',
      `const { createServer } = require('http');
     for (const _ of [1, 2]) createServer((q, r) => r.end('x')).listen(0);`,
    );
    const profiles = [];
    const onCpuProfile = (profile) => profiles.push(profile);
    const found = await retried(
      () => explain({ command, rate: 50, budget: '15s', onCpuProfile }),
      ({ verdict: { status, limit, sentence } }) => {
        assert.deepEqual([status, limit], ['no-limit', null], sentence);
      },
    );
    assertFits(found);
    // The graph is that of the profile, also where the loop is hardly busy.
    assert.ok(profiles.at(-1).nodes.length > 0 && found.cpu.graph.parents.length > 0);
    assert.match(
      found.cannotSee.join('\n'),
      /port \d+: the command listens there too; give its URL/,
    );
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
});
