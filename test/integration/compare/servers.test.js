// compare() and `millrace compare` of servers that are started for each run.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { compare } from 'millrace';
import {
  assertFits,
  millrace,
  SHORT,
  server,
  serverFile,
  short,
} from '../../fixtures/compare/command.js';

/** Counts the starts of servers, and takes their requests. */
class Beacon {
  requests = [];
  #server = http.createServer((request, response) => {
    this.requests.push(request.url);
    response.end();
  });

  async listen() {
    await once(this.#server.listen(0, '127.0.0.1'), 'listening');
    return `http://127.0.0.1:${this.#server.address().port}/`;
  }

  close() {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

/** Serves in this process until the test ends; returns the URL. */
async function serve(t, handler) {
  const local = http.createServer(handler);
  await once(local.listen(0, '127.0.0.1'), 'listening');
  t.after(() => {
    local.closeAllConnections();
    local.close();
  });
  return `http://127.0.0.1:${local.address().port}/`;
}

test('a server that is many times slower is worse, by as much as its interval says', async (t) => {
  const [fast, slow] = await Promise.all(
    [1, 100].map((delayMs) =>
      serve(t, (_, response) => setTimeout(() => response.end('x'), delayMs)),
    ),
  );
  const steps = [];
  const run = compare({
    ...{ connections: 2, requests: 16, warmup: 0 },
    ...{ budget: '1m', width: '900%', failOn: ['throughput ratio>=0.9'] },
    a: { url: fast },
    b: { url: slow },
  });
  for await (const { pair, side } of run) if (pair !== null) steps.push(`${side}${pair}`);
  const result = await run;
  assertFits(result);
  assert.deepEqual(steps.slice(0, 6), ['a0', 'b0', 'b1', 'a1', 'a2', 'b2']);
  assert.equal(result.ended, 'width');
  // On a busy machine the generator may have been the limit, too.
  const isClientBound = /load generator/.test(result.verdict.reason);
  assert.equal(result.verdict.word, isClientBound ? 'cannot-tell' : 'worse');
  const [{ metric, ratio }] = result.rows;
  assert.equal(metric, 'throughput');
  assert.ok(ratio.low <= ratio.estimate && ratio.estimate <= ratio.high && ratio.high < 0.9);
  assert.deepEqual(
    result.conditions.map(({ holds }) => holds),
    [isClientBound ? null : false],
  );
  assert.ok(result.runs.every(({ histograms }) => histograms.latency.length > 0));
});

test('both sides of a pair get the same requests, and each pair others', async (t) => {
  const requests = [];
  const origin = await serve(t, (request, response) => {
    requests.push(request.url);
    response.end();
  });
  const url = `${origin}{{uuid}}`;
  const { runs } = await compare({
    ...{ requests: 5, connections: 1, warmup: 0, budget: '1m', width: '1000%' },
    ...{ a: { url }, b: { url } },
  });
  // The answers were compared with two requests to each side.
  const sent = requests.slice(4);
  const pairs = Array.from({ length: runs.length / 2 }, (_, pair) =>
    sent.slice(10 * pair, 10 * pair + 10),
  );
  for (const pair of pairs) assert.deepEqual(pair.slice(0, 5), pair.slice(5));
  assert.equal(new Set(pairs.map(([first]) => first)).size, pairs.length);
});

describe('answers', () => {
  /** Serves JSON with an id that varies. */
  function answer({
    status = 200,
    type = 'application/json',
    encoding,
    greeting = 'hello',
    padding = '',
  }) {
    return (_, response) => {
      const headers = { 'Content-Type': type, ...(encoding && { 'Content-Encoding': encoding }) };
      response.writeHead(status, headers);
      response.end(JSON.stringify({ id: Math.random(), greeting, padding }));
    };
  }

  for (const [name, changes, difference] of [
    ['status', { status: 201 }, /^GET \/: status 200 of A, status 201 of B$/],
    [
      'type',
      { type: 'text/plain' },
      /^GET \/: content type application\/json of A, content type text\/plain of B$/,
    ],
    [
      'encoding',
      { encoding: 'x-own' },
      /^GET \/: content encoding none of A, content encoding x-own of B$/,
    ],
    ['content', { greeting: 'hi' }, /^GET \/: content '.*"hello".* of A, .*"hi".* of B$/],
    ['length', { padding: 'x'.repeat(9000) }, /^GET \/: content .* of A, .* of B$/],
  ]) {
    test(`that differ in ${name} are refused in a line that names it`, async (t) => {
      const [a, b] = await Promise.all([{}, changes].map((it) => serve(t, answer(it))));
      const run = compare({ ...short, a: { url: a }, b: { url: b } });
      await assert.rejects(run, ({ code, message }) => {
        assert.equal(code, 'ERR_MILLRACE_DIFFERENT');
        const [, named] = /^the answers differ: (.*); --allow-difference compares .*$/.exec(
          message,
        );
        assert.match(named, difference);
        return true;
      });
    });
  }

  test('that vary by nature do not differ', async (t) => {
    const [a, b] = await Promise.all([{}, {}].map((it) => serve(t, answer(it))));
    const { differences } = await compare({ ...short, a: { url: a }, b: { url: b } });
    assert.deepEqual(differences, []);
  });

  test('of more than a hundred requests are compared in part, which a warning says', async (t) => {
    const urls = new Set();
    const origin = await serve(t, (request, response) => {
      urls.add(request.url);
      response.end();
    });
    const url = Array.from({ length: 150 }, (_, index) => `${origin}${index}`);
    const { warnings } = await compare({
      ...{ requests: 1, connections: 1, warmup: 0, budget: 1 },
      ...{ a: { url }, b: { url } },
    });
    assert.equal(urls.size, 100);
    assert.deepEqual(
      warnings.find(({ id }) => id === 'answers-sampled')?.message,
      'The answers to 100 of the 150 requests were compared.',
    );
  });

  test('that differ are compared where that is allowed, and the result repeats the differences', async (t) => {
    const [a, b] = await Promise.all([{}, { status: 201 }].map((it) => serve(t, answer(it))));
    const [urlsOfA, urlsOfB] = [a, b].map((origin) => [`${origin}x`, `${origin}y`]);
    const run = compare({
      ...short,
      allowDifference: true,
      a: { url: urlsOfA },
      b: { url: urlsOfB },
    });
    const result = await run;
    assertFits(result);
    assert.deepEqual(result.differences, [
      'GET /x: status 200 of A, status 201 of B',
      'GET /y: status 200 of A, status 201 of B',
    ]);
  });

  test('of each request are those that the load gets: method, fields, body, placeholders', async () => {
    const targets = [
      { url: '/x' },
      { url: '/{{seq}}', method: 'PUT', headers: { 'x-name': '{{uuid}}' }, body: 'b' },
    ];
    const env = { ECHO: '1' };
    const result = await compare({ ...short, command: server, targets, a: { env }, b: { env } });
    assert.deepEqual(result.differences, []);
    const other = { env: { ...env, GREETING: 'hi' } };
    await assert.rejects(
      compare({ ...short, command: server, targets: targets.slice(1), a: { env }, b: other }),
      {
        message: /^the answers differ: PUT \/\{\{seq\}\}: content /,
      },
    );
  });
});

test('one that fails every request is refused, with its side', async () => {
  const env = { STATUS: '500' };
  const run = compare({ ...short, command: server, a: { env }, b: { env } });
  await assert.rejects(run, {
    code: 'ERR_MILLRACE_UNREACHABLE',
    message: /^A: all \d+ requests failed: status 500$/,
  });
});

test('where one of two commands does not start, neither is measured, and it is said which and why', async () => {
  const beacon = new Beacon();
  const env = { BEACON: await beacon.listen() };
  try {
    for (const [a, b, side] of [
      [server, ['no-such-program'], 'B'],
      [['no-such-program'], server, 'A'],
    ]) {
      await assert.rejects(compare({ ...short, a: { command: a, env }, b: { command: b, env } }), {
        code: 'ERR_MILLRACE_COMMAND',
        message: `${side}: cannot start \`no-such-program\`: no such program; nothing was measured`,
      });
    }
    assert.deepEqual(beacon.requests, ['/?started']);
  } finally {
    beacon.close();
  }
});

describe('a folder of its own', () => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-compare-test-'));
  after(() => rmSync(folder, { recursive: true, force: true }));

  test('is where the command of a side runs', async () => {
    const env = { ECHO: '1' };
    const run = compare({ ...short, command: server, a: { env }, b: { env, cwd: folder } });
    await assert.rejects(run, { message: /"cwd":"\/.* of A, .*of B; --allow-difference/ });
  });

  test('names the side, where the folders have names of their own', async () => {
    const b = { cwd: folder };
    const { sides } = await compare({ ...short, command: server, a: {}, b });
    const names = [process.cwd(), folder].map((path) => basename(path));
    assert.deepEqual([sides.a.label, sides.b.label], names);
  });

  test('must be there', async () => {
    const run = compare({ ...short, command: server, a: {}, b: { cwd: join(folder, 'none') } });
    await assert.rejects(run, {
      code: 'ERR_MILLRACE_USAGE',
      message: `the folder of B must be a directory (got '${join(folder, 'none')}')`,
    });
  });
});

describe('both stacks', () => {
  test('are compared under one command, with the share that was served natively', async () => {
    const { code, stdout, stderr } = await millrace([
      ...['compare', ...SHORT, '--json', '--stack', '--', ...server],
    ]).ended;
    assert.equal(code, 0, stderr);
    const result = JSON.parse(stdout);
    assertFits(result);
    assert.deepEqual([result.sides.a.stack, result.sides.b.stack], [false, true]);
    assert.ok(result.stack.native > 0);
    assert.equal(result.stack.fallback, 0);
  });

  test('and what Node served is told with its reason', async () => {
    const command = [process.execPath, serverFile];
    const run = compare({
      ...{ ...short, command, method: 'PUT' },
      a: { stack: false, env: { READS_SOCKETS: '1' } },
      b: { stack: true, env: { READS_SOCKETS: '1' } },
    });
    const { stack } = await run;
    assert.equal(stack.native, 0);
    assert.ok(stack.fallback > 0);
    assert.deepEqual(Object.keys(stack.fallbackReasons), ['raw-data-listener']);
  });

  for (const setting of [{}, { MILLRACE_STACK: 'node' }]) {
    test(`are what they are, whatever the command loads, with ${JSON.stringify(setting)}`, async () => {
      const source =
        "const http = require('http'); http.createServer((q, r) => r.end([http.millraceVersion !== undefined, process.env.NODE_OPTIONS.split(' ')[0]].join())).listen(0)";
      const command = [process.execPath, '--import', import.meta.resolve('millrace/register')];
      const env = { NODE_OPTIONS: '--no-warnings', ...setting };
      const args = ['compare', ...SHORT, '--stack', '--', ...command, '-e', source];
      const { stderr } = await millrace(args, { env }).ended;
      assert.match(stderr, /content 'false,--no-warnings' of A, 'true,--no-warnings' of B/);
    });
  }

  test('that do not start say so as others do', async () => {
    const run = compare({
      ...{ ...short, command: ['no-such-program'] },
      ...{ a: { stack: false }, b: { stack: true } },
    });
    await assert.rejects(run, {
      code: 'ERR_MILLRACE_COMMAND',
      message: 'A: cannot start `no-such-program`: no such program; nothing was measured',
    });
  });

  test('say nothing about each other where the application does not use node:http', async () => {
    const source =
      "require('net').createServer((s) => s.on('error', () => {}).on('data', () => s.write('HTTP/1.1 204 No Content\\r\\n\\r\\n'))).listen(0, '127.0.0.1')";
    const { verdict, stack } = await compare({
      ...{ ...short, command: [process.execPath, '-e', source] },
      a: { stack: false },
      b: { stack: true },
    });
    assert.equal(stack.native + stack.fallback, 0);
    assert.equal(verdict.word, 'cannot-tell');
    assert.equal(verdict.reason, "Millrace's HTTP stack served no request");
  });

  test('where nothing loads the stack its share is not known', async () => {
    const perl = `use IO::Socket::INET; my $l = IO::Socket::INET->new(LocalAddr => '127.0.0.1', Listen => 9) or die; $SIG{TERM} = sub { exit }; while (my $c = $l->accept) { <$c>; print $c "HTTP/1.1 200 OK\\r\\nContent-Length: 0\\r\\nConnection: close\\r\\n\\r\\n"; close $c }`;
    const command = ['perl', '-e', perl];
    const { stack } = await compare({
      ...{ ...short, command, connection: 'close' },
      a: { stack: false },
      b: { stack: true },
    });
    assert.equal(stack, null);
  });
});

describe('the end by the caller', () => {
  let beacon;
  let env;
  before(async () => {
    beacon = new Beacon();
    env = { BEACON: await beacon.listen() };
  });
  after(() => beacon.close());

  /** Waits until so many servers have been started. */
  async function starts(count) {
    while (beacon.requests.length < count) await new Promise((resolve) => setTimeout(resolve, 20));
  }

  test('Ctrl-C gives the report so far, and ends the server', async () => {
    const flags = ['-d', '200ms', '--warmup', '0', '-c', '2', '--budget', '1m', '--json'];
    const { child, ended } = millrace(['compare', ...flags, '--', ...server, '--', ...server], {
      env,
    });
    // Two or four to compare the answers, and three pairs or two.
    await starts(10);
    child.kill('SIGINT');
    const { code, stdout, stderr } = await ended;
    assert.equal(code, 130, stderr);
    const result = JSON.parse(stdout);
    assertFits(result);
    assert.equal(result.ended, 'interrupted');
    assert.ok(result.runs.length >= 2 && result.runs.length % 2 === 0);
  });

  test('Ctrl-C before the first pair says so', async () => {
    beacon.requests.length = 0;
    const flags = ['-d', '1m', '--warmup', '0', '-c', '2'];
    const { child, ended } = millrace(['compare', ...flags, '--', ...server, '--', ...server], {
      env,
    });
    await starts(1);
    child.kill('SIGINT');
    assert.deepEqual(await ended, {
      ...{ code: 130, stdout: '' },
      stderr: 'millrace: interrupted before the first pair of runs was complete\n',
    });
  });

  test('the signal of the API rejects with its reason before the first pair', async () => {
    const reason = new Error('enough');
    const signal = AbortSignal.abort(reason);
    await assert.rejects(compare({ ...short, command: server, signal, a: {}, b: {} }), reason);
  });
});

test('bad options are refused before anything is started', async () => {
  const refused = [
    [{ a: {} }, /^b is needed/],
    [{ a: {}, b: {}, wdth: 1 }, /^unknown option 'wdth'; did you mean 'width'\?$/],
    [{ a: { cmd: [] }, b: {} }, /^a: unknown field 'cmd'/],
    [{ command: server, a: {}, b: {}, width: '3' }, /^width must be a percentage/],
    [{ command: server, a: {}, b: {}, margin: 2 }, /^margin must be a percentage from 0% to 50%/],
    [{ command: server, a: {}, b: {}, budget: '1' }, /^budget needs a unit/],
    [{ a: { url: 'h', env: {} }, b: { url: 'h' } }, /^a\.env needs a command/],
    [{ a: { url: 'h' }, b: { files: ['x.json'] } }, /^stored results can be compared with/],
    [{ a: {}, b: {} }, /there is nothing to load/],
    [
      { command: server, a: {}, b: {}, failOn: 'p99<1ms' },
      /^failOn must be a condition on a ratio/,
    ],
  ];
  for (const [options, message] of refused) {
    await assert.rejects(compare(options), { code: 'ERR_MILLRACE_USAGE', message });
  }
});
