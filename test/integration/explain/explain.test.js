// `millrace explain` as its users meet it: on services with a limit that no noise of a machine hides, and on all that can go wrong.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { explain } from 'millrace';
import { selfSignedCertificate } from '../../../dist/native.js';
import { parseMachineCpu } from '../../../dist/process/machine-cpu.js';
import { readText } from '../../../dist/process/procfs.js';
import { retried } from '../../fixtures/retry.js';
import { asJson, isExplanation } from '../../fixtures/schemas.js';

const millrace = fileURLToPath(new URL('../../../bin/millrace.js', import.meta.url));
const limits = { timeout: 300_000 };
let folder;

before(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-explain-'));
});
after(() => rmSync(folder, { recursive: true, force: true }));

/** Looks until there is something. */
async function until(look) {
  for (;;) {
    const found = look();
    if (found) return found;
    await sleep(20);
  }
}

/** One that has ended, and whose parent has not asked for it, is not. */
function isAlive(pid) {
  return /\) [^ZX] /.test(readText(`/proc/${pid}/stat`) ?? '');
}

/** A file with a service of its own. */
function service(name, code) {
  const file = join(folder, `${name}.cjs`);
  writeFileSync(file, code);
  return [process.execPath, file];
}

function cli(...args) {
  return cliWith({ args });
}

async function cliWith({ args, input = '' }) {
  const child = spawn(process.execPath, [millrace, 'explain', ...args]);
  child.stdin.end(input);
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ]);
  return { code, stdout, stderr };
}

/** Whether it is what the schema says. */
function assertFits(explanation) {
  const fits = isExplanation(asJson(explanation));
  assert.ok(fits, JSON.stringify(isExplanation.errors, null, 2));
}

/** Requests in the stages are all that there are. */
function assertAllPlaced({ population, load }) {
  const sum = population.reduce((total, { requests }) => total + requests, 0);
  const { connections, pipelining } = load.plan;
  assert.ok(Math.abs(sum - connections * pipelining) < 0.02 * sum + 0.1, `${sum} requests`);
}

/** What may be said of a machine that others use. */
const DISTURBED = [null, 'noisy-machine', 'shared-cores'];

/** What an explanation bears of the time that the machine's host takes away: seconds of one core. */
const BEARABLE = 0.1;

function stolenSeconds() {
  return parseMachineCpu(readText('/proc/stat') ?? '')?.steal ?? 0;
}

/**
 * On a machine that is disturbed less can be told: so up to three times. What is told must not be wrong all the same: no
 * other limit may be named meanwhile, unless the host took the cores away.
 */
async function explained(options, limit, check = () => {}) {
  const found = await retried(
    async () => {
      const before = stolenSeconds();
      const found = await explain(options);
      const { verdict } = found;
      if (stolenSeconds() - before < BEARABLE) {
        assert.ok([limit, ...DISTURBED].includes(verdict.limit), verdict.sentence);
      }
      return found;
    },
    (found) => {
      assert.equal(found.verdict.limit, limit, found.verdict.sentence);
      check(found);
    },
  );
  assertFits(found);
  return found;
}

function confirmed(options, limit, check = () => {}) {
  return explained(options, limit, (found) => {
    assert.equal(found.verdict.status, 'confirmed', JSON.stringify(found.experiments));
    check(found);
  });
}

describe('a limit is confirmed by what it predicted', () => {
  test('too few connections: a timer that each request waits for', limits, async () => {
    const command = service(
      'timer',
      "require('http').createServer((q, r) => setTimeout(() => r.end('x'), 50)).listen(0)",
    );
    const options = { command, connections: 8, budget: '30s' };
    const found = await confirmed(options, 'too-few-connections', (it) => {
      const waiting = it.population.find(({ stage }) => /waiting in handlers/.test(stage));
      assert.ok(waiting?.requests > 6, `${waiting?.requests} of 8 wait in handlers`);
      const doubled = it.experiments.find(({ name }) => name === 'connections x2');
      assert.ok(doubled?.measured.ratio > 1.5, JSON.stringify(doubled));
      assert.ok(it.remedy.settings.connections > 8);
      // The knee was looked for beyond the doubled load.
      const most = Math.max(...it.capacity.points.map(({ connections }) => connections));
      assert.ok(most > 16, `at most ${most} connections were tried`);
      assert.ok(it.remedy.predictedThroughput?.low > it.load.throughput.mean);
    });
    assertAllPlaced(found);
  });

  test("a timer of TCP: Nagle's algorithm and a delayed acknowledgement", limits, async () => {
    const command = service(
      'nagle',
      "require('http').createServer({ noDelay: false }, (q, r) => q.pipe(r)).listen(0)",
    );
    const options = { command, connections: 4, body: '0123456789', budget: '20s' };
    await confirmed(options, 'nagle-delayed-ack', ({ load: { gapMs } }) => {
      assert.ok(gapMs.p50 > 30 && gapMs.p50 < 60, `${gapMs.p50} ms`);
    });
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
      await confirmed(options, 'outbound-pool', ({ population }) => {
        const [stage] = population.toSorted((a, b) => b.requests - a.requests);
        assert.match(stage.stage, /waiting for a socket/);
      });
    } finally {
      dependency.close();
      dependency.closeAllConnections();
    }
  });
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
  const options = { command, connections: 10, budget: '45s' };
  await explained(options, 'event-loop-cpu', ({ experiments, cannotSee, remedy }) => {
    const second = experiments.find(({ name }) => name === 'second process');
    assert.ok(second?.measured.ratio > 1.2, JSON.stringify(second ?? cannotSee));
    assert.match(remedy.change, /a second process beside the first gave x \d/);
  });
  const { stdout } = spawnSync('pgrep', ['-f', command[1]], { encoding: 'utf8' });
  assert.equal(stdout, '');
});

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
      assert.match(cannotSee.join('\n'), /calls delayed: .*most of the calls cannot be delayed/);
    });
    assert.ok(!found.experiments.some(({ name }) => name === 'calls delayed'));
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
    /all experiments: meanwhile \d+ % of the requests failed/,
  );
  assert.deepEqual(found.experiments, []);
});

test('a body from standard input is sent in every block', limits, async () => {
  const command = service(
    'content',
    `require('http').createServer((q, r) => {
       let n = 0;
       q.on('data', (chunk) => (n += chunk.length));
       q.on('end', () => setTimeout(() => r.writeHead(n === 6 ? 200 : 400).end('x'), 20));
     }).listen(0)`,
  );
  const { code, stdout, stderr } = await cliWith({
    args: ['-c', '4', '--budget', '25s', '--json', '-b', '@-', '--', ...command],
    input: 'a body',
  });
  assert.equal(code, 0, stderr);
  const { load, experiments } = JSON.parse(stdout);
  assert.equal(load.requests.statusErrors, 0);
  assert.ok(experiments.length > 0);
});

test('a rate that is borne has no limit', limits, async () => {
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
  assert.match(found.cannotSee.join('\n'), /what is at port \d+, where the command listens, too/);
});

test('a server that speaks TLS is not loaded in plain text', limits, async () => {
  const server = createSecureServer(await selfSignedCertificate(['localhost']));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  try {
    const address = `127.0.0.1:${server.address().port}/`;
    await assert.rejects(explain({ url: `http://${address}`, budget: '15s' }), {
      code: 'ERR_MILLRACE_USAGE',
      message: `http://${address}: the server speaks TLS; give https://${address}`,
    });
  } finally {
    server.close();
  }
});

test('a server that ends meanwhile is told first, with how it ended', limits, async () => {
  const command = service(
    'ends',
    `let n = 0;
     require('http').createServer((q, r) => {
       if (++n === 200) throw new Error('no more');
       setTimeout(() => r.end('x'), 50);
     }).listen(0)`,
  );
  const { code, stdout, stderr } = await cli('-c', '4', '--budget', '15s', '--', ...command);
  assert.equal(code, 3, stderr);
  assert.match(stdout + stderr, /ended with exit code .*no more/);
});

test('the page and the JSON are written beside the text', limits, async () => {
  const command = service(
    'written',
    "require('http').createServer((q, r) => setTimeout(() => r.end('x'), 20)).listen(0)",
  );
  const [json, html] = [join(folder, 'x.json'), join(folder, 'x.html')];
  const run = await cli('-c', '2', '--budget', '15s', '-o', json, '--html', html, '--', ...command);
  assert.equal(run.code, 0, run.stderr);
  assert.match(run.stdout, /LIMIT: /);
  const written = JSON.parse(readFileSync(json, 'utf8'));
  assertFits(written);
  const { verdict } = written;
  assert.match(
    readFileSync(html, 'utf8'),
    new RegExp(`<title>.*${verdict.limit}|${verdict.limit}`),
  );
});

test('nothing is sent to a server whose certificate does not hold', limits, async () => {
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

describe('what cannot be explained is refused in one line', () => {
  async function refused(code, message, ...args) {
    const run = await cli(...args);
    assert.equal(run.code, code, run.stdout + run.stderr);
    assert.equal(run.stdout, '');
    assert.match(run.stderr, message);
    assert.equal(run.stderr.trim().split('\n').length, 1, run.stderr);
  }

  test('no server is named', limits, () => refused(2, /explain needs a server/));
  test('the budget is too small', limits, () =>
    refused(
      2,
      /budget: 5 s given; accepted: 15 s or more/,
      '--budget',
      '5s',
      'http://127.0.0.1:9/',
    ),
  );
  test('the length of a load', limits, () =>
    refused(2, /-d is not taken: .*--budget/, '-d', '10s', 'http://127.0.0.1:9/'),
  );
  test('no process has the id', limits, () =>
    refused(2, /no process has the id 4194300/, '--pid', '4194300', 'http://127.0.0.1:9/'),
  );
  test('the process is not Node', limits, async () => {
    const child = spawn('sleep', ['60']);
    await once(child, 'spawn');
    await refused(2, /not Node\.js/, '--pid', String(child.pid), 'http://127.0.0.1:9/');
    child.kill();
  });
  test('nothing listens on the port', limits, () =>
    refused(3, /127\.0\.0\.1:9.*refused/, 'http://127.0.0.1:9/'),
  );
  test('the command ends', limits, () =>
    refused(
      3,
      /ended with exit code 1 before it listened.*no database/,
      '--',
      ...service('dies', "throw new Error('no database')"),
    ),
  );
  test('an unknown limit', limits, () => refused(2, /nagle-delayed-ack/, '--why', 'nagle-delayed'));
});

test('the catalogue lists every limit, and tells all about one', limits, async () => {
  const list = await cli('--list');
  assert.equal(list.code, 0);
  assert.match(list.stdout, /too-few-connections/);
  const one = await cli('--why', 'threadpool');
  assert.equal(one.code, 0);
  assert.match(one.stdout, /UV_THREADPOOL_SIZE/);
});

test('a command that was started for it ends with it, though it is killed', limits, async (t) => {
  const files = ['server', 'wrapper', 'daemon'].map((name) => join(folder, name));
  // When it has seen that millrace is gone, its probe has seen it, too: it is there after that, or was ended.
  const daemon = `const { writeFileSync } = require('node:fs');
    const later = (turns, then) => (turns === 0 ? then() : setImmediate(later, turns - 1, then));
    require('node:net').connect(process.env.MILLRACE_PROBE)
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
  for (const file of files) pids.push(await until(() => Number(readText(file))));
  child.kill('SIGKILL');
  const [server, wrapper, left] = pids;
  await until(() => !isAlive(server) && !isAlive(wrapper));
  // What the command has set apart is not millrace's to end.
  await until(() => readText(`${DAEMON}-left`));
  assert.ok(isAlive(left));
});

test('what is ended early gives what was found by then, and stops the server', limits, async () => {
  const command = service(
    'long',
    `const server = require('http').createServer((q, r) => setTimeout(() => r.end('x'), 30));
     server.listen(0);`,
  );
  const found = await retried(
    async () => {
      const abort = new AbortController();
      const run = explain({ command, connections: 4, signal: abort.signal });
      for await (const { step } of run) if (/^trying: connections x2/.test(step)) abort.abort();
      return run;
    },
    ({ verdict }) => assert.equal(verdict.limit, 'too-few-connections', verdict.sentence),
  );
  assertFits(found);
  assert.equal(found.interrupted, true);
  const { port } = new URL(found.load.plan.targets[0].url);
  await assert.rejects(fetch(`http://127.0.0.1:${port}/`));
});

test('ended before the load was seen it rejects with the reason', limits, async () => {
  const command = service('short', "require('http').createServer((q, r) => r.end()).listen(0)");
  const abort = new AbortController();
  const run = explain({ command, signal: abort.signal });
  await assert.rejects(
    async () => {
      for await (const _ of run) abort.abort(new Error('enough'));
    },
    { message: 'enough' },
  );
});
