// Test frameworks replace clocks and timers, and take away the listeners of the process.
import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { both, differences } from '../../../fixtures/stack/comparison/run-both.js';
import { REGISTER } from '../../../fixtures/stack/comparison/two-processes.js';

const REPLACED = fileURLToPath(
  new URL('../../../fixtures/stack/process/replaced-globals.js', import.meta.url),
);

for (const when of ['before', 'behind']) {
  test(`globals that are replaced ${when} the first request change nothing`, {
    timeout: 30_000,
  }, async () => {
    const seen = await both('process/replaced-globals.js', { args: ['globals', when] });
    assert.equal(differences(seen), '');
    assert.match(seen.stack.answers[0], /late$/);
  });
}

for (const what of ['listeners', 'exit']) {
  // Without its own listeners Node does not tell of signals.
  for (const ends of what === 'exit' ? ['exit', 'SIGTERM'] : ['exit']) {
    test(`without ${what}, at ${ends}, finished responses are sent and statistics are written`, {
      timeout: 30_000,
    }, async (t) => {
      const folder = mkdtempSync(join(tmpdir(), 'millrace-replaced-'));
      t.after(() => rmSync(folder, { recursive: true }));
      const file = join(folder, 'stats');
      const child = fork(REPLACED, [what, ends === 'exit' ? 'within' : 'before'], {
        execArgv: ['--import', REGISTER],
        env: { ...process.env, MILLRACE_STATS_FILE: file },
      });
      const [port] = await once(child, 'message');
      const exit = once(child, 'exit');
      const client = net.connect(port, '127.0.0.1');
      const url = ends === 'exit' ? '/leave' : '/';
      client.end(`GET ${url} HTTP/1.1\r\nHost: a\r\n\r\n`);
      assert.match(await text(client), ends === 'exit' ? /bye$/ : /hello$/);
      if (ends === 'SIGTERM') child.kill('SIGTERM');
      assert.deepEqual(await exit, ends === 'exit' ? [0, null] : [null, 'SIGTERM']);
      const lines = readFileSync(file, 'utf8').trim().split('\n');
      assert.deepEqual(
        lines.map((line) => JSON.parse(line).requests.native),
        [1],
      );
    });
  }
}
