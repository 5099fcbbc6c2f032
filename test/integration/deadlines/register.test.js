// `millrace/deadlines` only reports; `millrace/deadlines/register` sets the limits.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';

const limits = { timeout: 30_000 };

/** Runs a program with these flags of Node.js. */
function run(source, flags = [], env = {}) {
  const argv = [...flags, '--input-type=module', '-e', source];
  const cwd = fileURLToPath(new URL('../../..', import.meta.url));
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      argv,
      { cwd, env: { ...process.env, ...env } },
      (error, stdout, stderr) => resolve({ code: error?.code ?? 0, stdout, stderr }),
    );
  });
}

/** Prints the limits of a host, and whether `http.request` is Node's own. */
const report = `
  import http from 'node:http';
  const { request } = http;
  const { limitsFor, stats } = await import('millrace/deadlines');
  console.log(limitsFor('a.test').total, stats().calls, http.request === request);`;
const warning = (flag) =>
  `millrace: ${flag} millrace/deadlines sets no limits; use ${flag} millrace/deadlines/register to set them\n`;

describe('millrace/deadlines and millrace/deadlines/register', { concurrency: 2 }, () => {
  test('importing millrace/deadlines sets no limits and says nothing', limits, async () => {
    const { stdout, stderr } = await run(report, [], { MILLRACE_DEADLINE_TOTAL: 'no duration' });
    assert.deepEqual({ stdout, stderr }, { stdout: '0 0 true\n', stderr: '' });
  });

  test('millrace/deadlines reports what millrace/deadlines/register has set', limits, async () => {
    const { stdout, stderr } = await run(report, ['--import', 'millrace/deadlines/register']);
    assert.deepEqual({ stdout, stderr }, { stdout: '3000 0 true\n', stderr: '' });
  });

  for (const flag of ['--import', '--require', '-r']) {
    test(`${flag} millrace/deadlines warns in one line that names the other`, limits, async () => {
      const { code, stdout, stderr } = await run(report, [flag, 'millrace/deadlines']);
      assert.deepEqual(
        { code, stdout, stderr },
        { code: 0, stdout: '0 0 true\n', stderr: warning(flag) },
      );
    });
  }

  test(
    'NODE_OPTIONS with millrace/deadlines warns once for a process with worker threads',
    limits,
    async () => {
      const source = `import { Worker } from 'node:worker_threads';
      new Worker('', { eval: true });`;
      for (const text of ['--import millrace/deadlines', '--import=millrace/deadlines']) {
        const { stderr } = await run(source, [], { NODE_OPTIONS: text });
        assert.equal(stderr, warning('--import'), text);
      }
    },
  );

  test('flags that load both modules print no warning', limits, async () => {
    const both = ['--import', 'millrace/deadlines', '--import', 'millrace/deadlines/register'];
    const { stdout, stderr } = await run(report, both);
    assert.deepEqual({ stdout, stderr }, { stdout: '3000 0 true\n', stderr: '' });
  });
});
