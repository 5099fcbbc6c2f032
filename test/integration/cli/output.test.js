// What is printed and written: to files, to what standard output stands for, to a full disk, to a reader that goes away.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';

const bin = fileURLToPath(new URL('../../../bin/millrace.js', import.meta.url));
const notLinux = process.platform !== 'linux' && 'needs /dev/full';
const folder = mkdtempSync(join(tmpdir(), 'millrace-output-'));
const server = createServer((_, response) => response.end('ok'));
let url;

before(async () => {
  await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
  url = `http://127.0.0.1:${server.address().port}/`;
});

after(() => {
  server.closeAllConnections();
  server.close();
  rmSync(folder, { recursive: true });
});

/** A line of bash, in which `$M` is millrace and `$RUN` a short run. */
function shell(line) {
  const env = {
    ...process.env,
    M: `${process.execPath} ${bin}`,
    RUN: `${process.execPath} ${bin} -n 5 -c 1 ${url}`,
  };
  return new Promise((resolve) => {
    execFile('bash', ['-c', line], { cwd: folder, env, timeout: 40_000 }, (error, stdout, stderr) =>
      resolve({ code: error?.code ?? 0, stdout, stderr }),
    );
  });
}

describe('output to files and pipes', { skip: notLinux, concurrency: 2, timeout: 60_000 }, () => {
  for (const [name, line] of [
    ['/dev/stdout, which is a file', '$RUN -o /dev/stdout > both.txt; cat both.txt'],
    ['the file that is standard output already', '$RUN -o same.txt > same.txt; cat same.txt'],
  ]) {
    test(`report and result follow each other with -o ${name}`, async () => {
      const { code, stdout, stderr } = await shell(line);
      assert.equal(code, 0, stderr);
      assert.match(stdout, /^throughput .*\n[\s\S]*\n\{\n {2}"schemaVersion"[\s\S]*\n\}\n$/m);
      assert.ok(!stdout.includes('\0'));
    });
  }

  for (const [line, what] of [
    ['$RUN > /dev/full', 'standard output'],
    ['$RUN --json > /dev/full', 'standard output'],
    ['$RUN -o /dev/full', "'/dev/full'"],
    ['$RUN --html /dev/full', "'/dev/full'"],
    ['$M help > /dev/full', 'standard output'],
    ['$M explain --list > /dev/full', 'standard output'],
  ]) {
    test(`a full disk is reported: ${line}`, async () => {
      const { code, stderr } = await shell(line);
      const told = `millrace: ${what} cannot be written: no space left on device\n`;
      assert.deepEqual({ code, stderr }, { code: 1, stderr: told });
    });
  }

  test('output that one file cannot store is written to the other', async () => {
    const { code } = await shell('$RUN -o /dev/full --html page.html');
    assert.equal(code, 1);
    assert.match(readFileSync(join(folder, 'page.html'), 'utf8'), /<\/html>\s*$/);
  });

  test('the exit code of a failed condition is kept', async () => {
    const { code, stderr } = await shell("$RUN --fail-on 'p50<1us' > /dev/full");
    assert.equal(code, 99);
    assert.match(stderr, /no space left/);
  });

  for (const line of [
    'set -o pipefail; $RUN --json | head -c 10',
    'set -o pipefail; $M help | head -c 1',
    '$RUN -o >(head -c 1 > /dev/null)',
    '$RUN >&- 2>&- <&-',
  ]) {
    test(`a reader that has ended is not an error: ${line}`, async () => {
      const { code, stderr } = await shell(line);
      assert.deepEqual({ code, stderr }, { code: 0, stderr: '' });
    });
  }

  test('a pipe without a reader is reported after the run and does not block', async () => {
    const { code, stdout, stderr } = await shell('mkfifo pipe; $RUN -o pipe --html after.html');
    assert.equal(code, 1);
    assert.match(stdout, /^throughput/m);
    assert.equal(stderr, "millrace: 'pipe' cannot be written: no process reads this pipe\n");
    assert.match(readFileSync(join(folder, 'after.html'), 'utf8'), /<\/html>/);
  });

  test('a pipe receives a whole page that exceeds its buffer', async () => {
    // The page names the URL more than once.
    const long = 'a'.repeat(12_000);
    const line = `mkfifo read; cat read > copy.html & $RUN?${long} --html read; wait; cat copy.html`;
    const { stdout, stderr } = await shell(line);
    assert.equal(stderr, '');
    assert.match(stdout, /<\/html>\s*$/);
    assert.ok(stdout.length > 65_536, 'more than a pipe holds');
  });

  test('a test server whose port is in use ends with one line, however far its processes have come', async () => {
    const { port } = new URL(url);
    const { stderr } = await shell(`for i in 1 2 3 4 5; do $M testserver -p ${port} & done; wait`);
    const line = `millrace: cannot listen on 127.0.0.1 port ${port}: it is in use\n`;
    assert.equal(stderr, line.repeat(5));
  });

  test('one file for both the JSON and the page is refused', async () => {
    const { code, stderr } = await shell('$RUN -o one.out --html ./one.out');
    const told = "millrace: -o and --html must be different files (got 'one.out' for both)\n";
    assert.deepEqual({ code, stderr }, { code: 2, stderr: told });
  });

  test('a body of bytes that are not UTF-8 is reported in a note', async () => {
    const { stdout } = await shell(`$RUN -b $'\\xff\\xfe'`);
    assert.match(stdout.replace(/\n +/g, ' '), /^note: '..' contains U\+FFFD, .*--body @FILE/m);
    const { stderr } = await shell(`$RUN -b $'\\xff\\xfe' --json`);
    assert.match(stderr, /^note: '..' contains U\+FFFD, .*: send bytes with --body @FILE\n$/);
  });

  for (const [path, reason] of [
    ["''", 'no file is named'],
    ['none/such.json', 'no such file or directory'],
    ['/dev/null/x', 'not a directory'],
    [`${'x'.repeat(300)}`, 'name too long'],
  ]) {
    test(`a file that cannot be written is refused before the run: ${path.slice(0, 20)}`, async () => {
      const { code, stdout, stderr } = await shell(`$RUN -o ${path}`);
      assert.equal(code, 2);
      assert.equal(stdout, '');
      assert.match(stderr, /^millrace: '.*' cannot be written: .*\n$/);
      assert.ok(stderr.includes(reason), stderr);
    });
  }
});
