// The ways to the native stack, and the one back.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../../..', import.meta.url));
const limits = { timeout: 20_000 };

/** Answers one request and tells who did it. */
const SERVE = `
const { text } = await import('node:stream/consumers');
const { default: plain } = await import('node:http');
server.listen(0, '127.0.0.1', () => {
  plain.get({ ...server.address(), host: '127.0.0.1' }, async (response) => {
    const body = await text(response);
    const stats = server.stats?.() ?? null;
    process.stdout.write(JSON.stringify({ body, native: stats && stats.requests.native, version: plain.millraceVersion }));
    process.exit();
  });
});`;
const answer = `(request, response) => response.end('hello')`;
const viaNode = `import http from 'node:http'; const server = http.createServer(${answer}); ${SERVE}`;

const ways = [
  ['--import millrace/register', viaNode, ['--import', 'millrace/register']],
  ['NODE_OPTIONS', viaNode, [], { NODE_OPTIONS: '--import millrace/register' }],
  [
    'install()',
    `import { install } from 'millrace/http'; install(); const { createServer } = await import('node:http');
     const server = createServer(${answer}); ${SERVE}`,
  ],
  [
    'millrace/http',
    `import { createServer } from 'millrace/http'; const server = createServer(${answer}); ${SERVE}`,
  ],
  [
    'serverFactory',
    `import { serverFactory } from 'millrace/http'; const server = serverFactory(${answer}, { http: null }); ${SERVE}`,
  ],
  ['--require millrace/register', viaNode, ['--require', 'millrace/register']],
];

async function run(source, flags = [], env = {}) {
  const args = [...flags, '--input-type=module', '--eval', source];
  const child = spawn(process.execPath, args, {
    cwd: root,
    env: { ...process.env, NODE_OPTIONS: '', MILLRACE_STACK: '', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: limits.timeout / 2,
    killSignal: 'SIGKILL',
  });
  const [stdout, stderr, end] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ]);
  return { stdout, stderr, end };
}

async function serve(...args) {
  const { stdout, stderr } = await run(...args);
  assert.notEqual(stdout, '', stderr);
  return JSON.parse(stdout);
}

for (const [name, source, flags, env] of ways) {
  describe(`the stack by ${name}`, () => {
    test('the stack serves natively', limits, async () => {
      const { body, native } = await serve(source, flags, env);
      assert.deepEqual([body, native], ['hello', 1]);
    });

    test('the stack does not serve natively with MILLRACE_STACK=node', limits, async () => {
      const off = { ...env, MILLRACE_STACK: 'node' };
      assert.deepEqual(await serve(source, flags, off), { body: 'hello', native: null });
    });
  });
}

describe('the line in MILLRACE_STATS_FILE at the end of a process', () => {
  const terminate = `process.kill(process.pid, 'SIGTERM')`;
  const exited = (code) => [code, null];
  const killed = [null, 'SIGTERM'];
  const ends = {
    'of itself': ['process.exit()', exited(0)],
    'by SIGTERM': [terminate, killed],
    'by SIGTERM that the application takes': [
      `process.on('SIGTERM', () => process.exit(3)); ${terminate}`,
      exited(3),
    ],
    'by SIGTERM that the application takes once, before others': [
      `process.prependOnceListener('SIGTERM', () => setImmediate(() => process.exit(3))); ${terminate}`,
      exited(3),
    ],
    'by SIGTERM that the application sends again': [
      `process.once('SIGTERM', () => ${terminate}); ${terminate}`,
      killed,
    ],
    'by SIGTERM after the application has listened for it': [
      `process.on('SIGTERM', () => {}); setImmediate(() => {
        process.removeAllListeners('SIGTERM'); ${terminate}; });`,
      killed,
    ],
    // As signal-exit does, which many tools use.
    'by SIGTERM that a listener sends again if it is alone': [
      `process.on('SIGTERM', function again() {
        if (process.listeners('SIGTERM').length > 1) return;
        process.off('SIGTERM', again);
        ${terminate};
      });
      ${terminate}`,
      killed,
    ],
  };
  for (const [name, [last, expected]] of Object.entries(ends)) {
    test(`MILLRACE_STATS_FILE gets the expected line: ${name}`, limits, async (t) => {
      const folder = mkdtempSync(join(tmpdir(), 'millrace-stats-'));
      t.after(() => rmSync(folder, { recursive: true }));
      const file = join(folder, 'stats');
      const source = viaNode.replace('process.exit()', last);
      const { stderr, end } = await run(source, ways[0][2], { MILLRACE_STATS_FILE: file });
      assert.deepEqual(end, expected, stderr);
      assert.deepEqual(readFileSync(file, 'utf8').trimEnd().split('\n').map(JSON.parse), [
        {
          connections: { native: 1, fallback: 0, lost: 0, moved: 0, relayed: 0 },
          requests: { native: 1, cached: 0, fallback: 0, unowned: 0 },
          http2: { connections: 0, streams: 0, resets: 0, refused: 0, errors: 0, misdirected: 0 },
          fallbackReasons: {},
          unusualRequests: {},
        },
      ]);
    });
  }
});

test(
  'MILLRACE_STATS_FILE contains the counters of servers of millrace/http, also of closed ones',
  limits,
  async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'millrace-stats-'));
    t.after(() => rmSync(folder, { recursive: true }));
    const file = join(folder, 'stats');
    const source = `
    import { createServer } from 'millrace/http';
    import { once } from 'node:events';
    const { get } = await import('node:http');
    const refs = [];
    const serve = async (server, ...where) => {
      await once(server.listen(...where), 'listening');
      const [response] = await once(get({ ...server.address(), host: '127.0.0.1', agent: false }), 'response');
      await once(response.resume(), 'end');
      await new Promise((resolve) => server.close(resolve));
    };
    for (let round = 0; round < 3; round++) {
      const server = createServer(${answer});
      refs.push(new WeakRef(server));
      // The second time it has counted something before.
      await serve(server, 0, '127.0.0.1');
      await serve(server, 0, '127.0.0.1');
    }
    for (let turn = 0; turn < 10 && refs.some((ref) => ref.deref()); turn++) {
      await new Promise(setImmediate);
      gc();
    }
    process.stdout.write(String(refs.filter((ref) => ref.deref()).length));`;
    const { stdout, stderr, end } = await run(source, ['--expose-gc'], {
      MILLRACE_STATS_FILE: file,
    });
    assert.deepEqual(end, [0, null], stderr);
    // One may be on the stack.
    assert.ok(Number(stdout) <= 1, `${stdout} servers are kept`);
    const lines = readFileSync(file, 'utf8').trimEnd().split('\n').map(JSON.parse);
    assert.deepEqual(
      lines.map(({ connections, requests }) => [connections.native, requests.native]),
      [[6, 6]],
    );
  },
);

test(
  'a MILLRACE_STATS_FILE that cannot be written does not change the end of the process',
  limits,
  async () => {
    const source = viaNode.replace('process.exit()', 'process.exit(3)');
    const { stderr, end } = await run(source, ways[0][2], {
      MILLRACE_STATS_FILE: '/no/such/folder',
    });
    assert.deepEqual(end, [3, null]);
    assert.match(stderr, /^millrace: MILLRACE_STATS_FILE: ENOENT.*\n$/);
  },
);

describe('values of variables that are refused', () => {
  const refused = [
    ['MILLRACE_STACK', 'off', "must be node, which turns the stack off (got 'off')"],
    [
      'MILLRACE_CACHE_DURATION',
      '10s',
      "must be seconds, such as 10 or 0.5, or 0 to store only responses that say for how long (got '10s')",
    ],
    ['MILLRACE_RESPONSE_TIMEOUT_STATUS', '500', "must be 408, 503 or 504 (got '500')"],
    [
      'MILLRACE_RESPONSE_TIMEOUT',
      '3 s',
      "must be a duration with a unit, such as 500ms, 3s or 1m30s (got '3 s')",
    ],
    ['MILLRACE_RESPONSE_TIMEOUT', '500', "needs a unit, such as 500ms or 500s (got '500')"],
  ];
  for (const [name, value, message] of refused) {
    test(`a variable is refused: ${name}=${value}`, limits, async () => {
      const { stdout, stderr, end } = await run(viaNode, ways[0][2], { [name]: value });
      assert.equal(stdout, '');
      assert.deepEqual(end, [2, null]);
      assert.equal(stderr, `millrace: ${name} ${message}\n`);
    });
  }
});

test(
  'a variable with a name similar to one of the stack is reported, and others are not',
  limits,
  async () => {
    const similar = {
      MILLRACE_RESPONS_TIMEOUT: 'MILLRACE_RESPONSE_TIMEOUT',
      MILLRACE_HTTP_2: 'MILLRACE_HTTP2',
      MILLRACE_H2: 'MILLRACE_HTTP2',
    };
    const names = [...Object.keys(similar), 'MILLRACE_DEADLINE_TOTAL', 'MILLRACE_MINE'];
    const variables = Object.fromEntries(names.map((name) => [name, '3s']));
    const { stderr, end } = await run(viaNode, ways[0][2], variables);
    assert.deepEqual(end, [0, null]);
    const lines = Object.entries(similar).map(
      ([name, meant]) => `millrace: ${name} is an unknown variable; did you mean ${meant}?`,
    );
    assert.deepEqual(stderr.trimEnd().split('\n'), lines);
  },
);
