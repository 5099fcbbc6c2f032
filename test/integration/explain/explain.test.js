// `millrace explain` as its users meet it, where there is nothing to be explained or something goes wrong.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer as createSecureServer } from 'node:https';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { explain } from 'millrace';
import { selfSignedCertificate } from '#internal/native/addon.js';
import { readText } from '#internal/process/procfs/procfs.js';
import { cli, folder, limits, millrace, service } from '../../fixtures/explain/explained.js';

/** Polls `look` until it returns something. */
async function until(what, look) {
  const limitMs = performance.now() + 120_000;
  while (performance.now() < limitMs) {
    const found = look();
    if (found) return found;
    await sleep(20);
  }
  assert.fail(`not within two minutes: ${what}`);
}

/** One that has ended, and whose parent has not asked for it, is not. */
function isAlive(pid) {
  return /\) [^ZX] /.test(readText(`/proc/${pid}/stat`) ?? '');
}

test('a server that speaks TLS is not loaded in plain text', limits, async () => {
  const server = createSecureServer(await selfSignedCertificate(['localhost']));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  try {
    const address = `127.0.0.1:${server.address().port}/`;
    await assert.rejects(explain({ url: `http://${address}`, budget: '15s' }), {
      code: 'ERR_MILLRACE_USAGE',
      message: `http://${address}: the server expects TLS: use https://${address}`,
    });
  } finally {
    server.close();
  }
});

/** A service that ends with an error at a request. */
const endsAt = (last) =>
  service(
    `ends-at-${last}`,
    `let n = 0;
     require('http').createServer((q, r) => {
       if (++n === ${last}) throw new Error('no more');
       setTimeout(() => r.end('x'), 50);
     }).listen(0)`,
  );

test('a server that ends during the run is reported first, with how it ended', limits, async () => {
  const args = ['-c', '4', '--budget', '15s', '--', ...endsAt(200)];
  const { code, stdout, stderr } = await cli(args);
  assert.equal(code, 3, stderr);
  assert.match(stdout + stderr, /ended with exit code .*no more/);
});

test('a server that ends after the baseline was seen inside until then', limits, async () => {
  const args = ['-c', '4', '--budget', '40s', '--', ...endsAt(700)];
  const { code, stdout, stderr } = await cli(args);
  assert.equal(code, 3, stderr);
  assert.match(stdout, /too-few-connections/);
  assert.doesNotMatch(stdout, /inside the server/);
});

test('nothing is sent to a server with an invalid certificate', limits, async () => {
  let requests = 0;
  const server = createSecureServer(await selfSignedCertificate(['localhost']), (_, response) => {
    requests += 1;
    response.end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `https://localhost:${server.address().port}/`;
  await assert.rejects(explain({ url, headers: { authorization: 'secret' }, budget: '15s' }), {
    message: /certificate/,
  });
  assert.equal(requests, 0);
  server.close();
});

describe('runs that are refused in one line', { concurrency: 3 }, () => {
  async function refused(code, message, ...args) {
    const run = await cli(args);
    assert.equal(run.code, code, run.stdout + run.stderr);
    assert.equal(run.stdout, '');
    assert.match(run.stderr, message);
    assert.equal(run.stderr.trim().split('\n').length, 1, run.stderr);
  }

  test('explain is refused without a server', limits, () => refused(2, /explain needs a server/));
  test('explain is refused with too small a budget', limits, () =>
    refused(2, /--budget must be at least 15s \(got 5s\)/, '--budget', '5s', 'http://127.0.0.1:9/'),
  );
  test('explain is refused with a pid that no process has', limits, () =>
    refused(2, /pid 4194300: there is no such process/, '--pid', '4194300', 'http://127.0.0.1:9/'),
  );
  test('explain is refused with a process that is not Node', limits, async () => {
    const child = spawn('sleep', ['60']);
    await once(child, 'spawn');
    await refused(2, /not Node\.js/, '--pid', String(child.pid), 'http://127.0.0.1:9/');
    child.kill();
  });
  test('explain is refused if nothing listens on the port', limits, () =>
    refused(3, /127\.0\.0\.1:9.*refused/, 'http://127.0.0.1:9/'),
  );
  test('explain is refused if the command ends', limits, () =>
    refused(
      3,
      /ended with exit code 1 before it listened.*no database/,
      '--',
      ...service('dies', "throw new Error('no database')"),
    ),
  );
  test('an unknown limit is refused', limits, () =>
    refused(2, /nagle-delayed-ack/, '--why', 'nagle-delayed'),
  );
});

test('the catalogue lists every limit, and describes a single one', limits, async () => {
  const list = await cli(['--list']);
  assert.equal(list.code, 0);
  assert.match(list.stdout, /too-few-connections/);
  const one = await cli(['--why', 'threadpool']);
  assert.equal(one.code, 0);
  assert.match(one.stdout, /UV_THREADPOOL_SIZE/);
});

test(
  'a command that explain started ends with it, even if explain is killed',
  limits,
  async (t) => {
    const files = ['server', 'wrapper', 'daemon'].map((name) => join(folder, name));
    // When it has seen that millrace is gone, its probe has seen it, too: it is there after that, or was ended.
    const daemon = `const { writeFileSync } = require('node:fs');
    const later = (turns, then) => (turns === 0 ? then() : setImmediate(later, turns - 1, then));
    require('node:net').connect(process.env.MILLRACE_PROBE)
      // A killed peer may reset the connection.
      .on('error', () => {})
      .on('connect', () => writeFileSync(process.env.DAEMON, String(process.pid)))
      .on('close', () => later(10, () => writeFileSync(process.env.DAEMON + '-left', '1')))
      .resume();
    setInterval(() => {}, 1000);`;
    const command = service(
      'orphan',
      `const { writeFileSync } = require('node:fs');
    const options = { detached: true, stdio: 'ignore' };
    require('node:child_process').spawn(process.execPath, ['-e', ${JSON.stringify(daemon)}], options);
    require('node:http').createServer((request, response) => {
      writeFileSync(process.env.SERVER, String(process.pid));
      response.end();
    }).listen(0);`,
    );
    const [SERVER, WRAPPER, DAEMON] = files;
    // It starts the server again when that has ended.
    const wrapped = ['sh', '-c', 'echo $$ > "$WRAPPER"; while :; do "$@"; done', 'sh', ...command];
    const child = spawn(process.execPath, [millrace, 'explain', '-c', '2', '--', ...wrapped], {
      env: { ...process.env, SERVER, WRAPPER, DAEMON },
      stdio: 'ignore',
    });
    const pids = [];
    t.after(() => {
      for (const pid of pids.filter(isAlive)) process.kill(pid, 'SIGKILL');
    });
    for (const file of files) pids.push(await until(file, () => Number(readText(file))));
    child.kill('SIGKILL');
    const [server, wrapper, left] = pids;
    await until('both have ended', () => !isAlive(server) && !isAlive(wrapper));
    // What the command has set apart is not millrace's to end.
    await until('the daemon has seen it', () => readText(`${DAEMON}-left`));
    assert.ok(isAlive(left));
  },
);

test(
  'an explanation that is aborted before the load was measured rejects with the reason',
  limits,
  async () => {
    const command = service('short', "require('http').createServer((q, r) => r.end()).listen(0)");
    const abort = new AbortController();
    const run = explain({ command, signal: abort.signal });
    await assert.rejects(
      async () => {
        for await (const _ of run) abort.abort(new Error('enough'));
      },
      { message: 'enough' },
    );
  },
);
