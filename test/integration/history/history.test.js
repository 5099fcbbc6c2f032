// `millrace history`, from runs to what it prints and writes.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { load, readHistory } from 'millrace';
import { inOneProcess } from '../../fixtures/cli/one-process.js';
import { fixture } from '../../fixtures/report/results.js';
import { asJson, isHistory, isResult } from '../../fixtures/schemas.js';

const folder = mkdtempSync(join(tmpdir(), 'millrace-history-'));
const commit = '0123456789abcdef0123456789abcdef01234567';
const millrace = inOneProcess({ cwd: folder });
after(() => rmSync(folder, { recursive: true }));

test('a run names its commit, and the command shows it over time', async () => {
  const server = createServer((_, response) => response.end('ok'));
  await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
  const url = `http://127.0.0.1:${server.address().port}/`;
  const before = process.env.GITHUB_SHA;
  try {
    process.env.GITHUB_SHA = commit;
    for (const name of ['a.json', 'b.json']) {
      const result = await load({ url, connections: 1, requests: 50 });
      assert.equal(result.commit, commit);
      isResult(asJson(result));
      assert.deepEqual(isResult.errors, null);
      writeFileSync(join(folder, name), JSON.stringify(result));
    }
  } finally {
    if (before === undefined) delete process.env.GITHUB_SHA;
    else process.env.GITHUB_SHA = before;
    server.close();
    server.closeAllConnections();
  }
  const { code, stdout } = await millrace('history', '.', '-o', 'out', '--html', 'page.html');
  assert.equal(code, 0);
  assert.match(stdout, /01234567 +2 /);
  const written = JSON.parse(readFileSync(join(folder, 'out'), 'utf8'));
  isHistory(written);
  assert.deepEqual(isHistory.errors, null);
  assert.deepEqual(written, { ...asJson(readHistory(folder)), folder: '.' });
  assert.match(readFileSync(join(folder, 'page.html'), 'utf8'), /<h1>History<\/h1>/);
});

test('what is no file is not waited for, and a link that leads nowhere is named', () => {
  const own = mkdtempSync(join(tmpdir(), 'millrace-history-'));
  try {
    writeFileSync(join(own, 'a.json'), JSON.stringify(fixture('closed')));
    execFileSync('mkfifo', [join(own, 'pipe.json')]);
    symlinkSync('nowhere', join(own, 'link.json'));
    const { plans, skipped } = readHistory(own);
    assert.equal(plans.length, 1);
    const reason = 'cannot be read: no such file or directory';
    assert.deepEqual(skipped, [{ file: 'link.json', reason }]);
  } finally {
    rmSync(own, { recursive: true });
  }
});

for (const { args, message } of [
  { args: [], message: /^millrace: history needs a folder with results/ },
  { args: ['a', 'b'], message: /^millrace: history takes one folder \(got 2\)$/ },
  {
    args: ['none'],
    message: /^millrace: folder 'none' cannot be read: no such file or directory$/,
  },
  {
    args: ['.', '-o', 'a.json'],
    message: /^millrace: -o would overwrite 'a\.json', which is read/,
  },
  { args: ['.', '--csv', 'x'], message: /the figures are in the JSON: --json$/ },
]) {
  test(`millrace history ${args.join(' ')} is refused in one line`, async () => {
    const { code, stdout, stderr } = await millrace('history', ...args);
    assert.deepEqual([code, stdout], [2, '']);
    assert.match(stderr.trimEnd(), message);
    assert.doesNotMatch(stderr.trimEnd(), /\n/);
  });
}
