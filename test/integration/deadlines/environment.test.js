// Valid and invalid variables, and the hosts that they match.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const limits = { timeout: 30_000 };
const HOSTS = 'MILLRACE_DEADLINE_HOSTS';
const TOTAL = 'MILLRACE_DEADLINE_TOTAL';

/** Runs a program with deadlines; `before` are flags that come first. */
function run(source, env = {}, before = []) {
  const argv = [
    ...before,
    '--import',
    'millrace/deadlines/register',
    '--input-type=module',
    '-e',
    source,
  ];
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

const host = (given) =>
  `${HOSTS}: a host must have no scheme, port or path, such as api.example.com, *.slow.test, 10.0.0.1, ::1, unix:/run/app.sock or * (got '${given}')`;
const longest = (name, given) =>
  `${name} must be at most 2147483647ms (24 days), or off for no limit (got '${given}')`;
const unknown = (given, meant) => `${given} is an unknown variable; did you mean ${meant}?`;
const unit = (name, given) =>
  `${name} needs a unit, such as ${given}ms or ${given}s (got '${given}')`;

const mistakes = [
  [HOSTS, 'api.test:8080=10s', host('api.test:8080')],
  [HOSTS, 'http://api.test=10s', host('http://api.test')],
  [HOSTS, 'a.test=1s; *.test:443=5s', host('*.test:443')],
  [HOSTS, '[::1]:80=5s', host('[::1]:80')],
  [HOSTS, 'api.test/path=5s', host('api.test/path')],
  [HOSTS, '.api.test=5s', host('.api.test')],
  [HOSTS, 'a*.test=5s', host('a*.test')],
  [HOSTS, 'unix:=off', host('unix:')],
  [
    HOSTS,
    'a.test',
    `${HOSTS} must be hosts with limits, such as api.example.com=10s;*.slow.test=headers:5s,total:30s (got 'a.test')`,
  ],
  [
    HOSTS,
    'a.test=total:5s,total:6s',
    `${HOSTS}: a.test: total must appear once (got 'total:5s,total:6s')`,
  ],
  [HOSTS, 'a.test=5s;A.test.=6s', `${HOSTS}: a host must appear once (got 'A.test.' twice)`],
  [HOSTS, `a.test=${'9'.repeat(20)}ms`, longest(`${HOSTS}: a.test`, `${'9'.repeat(20)}ms`)],
  [HOSTS, 'a.test=10', unit(`${HOSTS}: a.test`, '10')],
  [HOSTS, 'a.test=headers:500', unit(`${HOSTS}: a.test: headers`, '500')],
  [TOTAL, `${'9'.repeat(20)}ms`, longest(TOTAL, `${'9'.repeat(20)}ms`)],
  [TOTAL, '600h', longest(TOTAL, '600h')],
  [TOTAL, '3000', unit(TOTAL, '3000')],
  [TOTAL, '1.5', unit(TOTAL, '1.5')],
  ['MILLRACE_DEADLINE_HEADERS', '3', unit('MILLRACE_DEADLINE_HEADERS', '3')],
  ['MILLRACE_DEADLINES_TOTAL', '5s', unknown('MILLRACE_DEADLINES_TOTAL', TOTAL)],
  ['MILLRACE_DEADLINE', '5s', unknown('MILLRACE_DEADLINE', 'MILLRACE_DEADLINES')],
];
for (const [variable, given, message] of mistakes) {
  test(`${variable}=${given} is refused in one line`, limits, async () => {
    const { code, stdout, stderr } = await run('console.log("started")', { [variable]: given });
    const expected = { code: 2, stdout: '', stderr: `millrace: ${message}\n` };
    assert.deepEqual({ code, stdout, stderr }, expected);
  });
}

test('a host is recognized in any of its spellings', limits, async () => {
  const spellings = {
    'api.test': ['API.test', 'api.test.', 'Api.Test.'],
    '*.below.test.': ['A.Below.test', 'a.b.below.test.'],
    'bücher.test': ['xn--bcher-kva.test', 'BÜCHER.test'],
    '::0001': ['::1', '[::1]', '0:0:0:0:0:0:0:1'],
    '[2001:DB8::0:1]': ['2001:db8::1', '[2001:0db8::0001]'],
    '127.0.0.1': ['127.1', '0x7f.0.0.1'],
    'fe80::1%eth0': ['FE80::1%eth0'],
    'unix:/run/App.sock': ['unix:/run/App.sock'],
  };
  const entries = Object.keys(spellings).map((pattern) => `${pattern}=7s`);
  const others = ['test', 'below.test', 'notapi.test', '::2', 'unix:/run/app.sock', 'api.test:80'];
  const asked = [...Object.values(spellings).flat(), ...others];
  const { stdout, stderr } = await run(
    `import { limitsFor } from 'millrace/deadlines';
    console.log(JSON.stringify(${JSON.stringify(asked)}.map((one) => [one, limitsFor(one).total])));`,
    { [HOSTS]: entries.join('; '), [TOTAL]: '2147483647ms' },
  );
  assert.equal(stderr, '');
  const expected = asked.map((one) => [one, others.includes(one) ? 2147483647 : 7000]);
  assert.deepEqual(JSON.parse(stdout), expected);
});

test('a pattern of names does not match paths of sockets', limits, async () => {
  const { stdout } = await run(
    `import { limitsFor } from 'millrace/deadlines';
    console.log(limitsFor('unix:/run/app.sock').total, limitsFor('app.sock').total);`,
    { [HOSTS]: '*.sock=7s; *=1s' },
  );
  assert.equal(stdout, '1000 7000\n');
});

test('a replacement of http.request is left as it is', limits, async () => {
  const mock = `data:text/javascript,${encodeURIComponent(
    `import http from 'node:http';
    http.request = () => 'no request';
    http.get = () => undefined;`,
  )}`;
  const { stdout, stderr } = await run(
    `import http from 'node:http';
    console.log(http.request('http://a.test/'), http.get('http://a.test/'));`,
    {},
    ['--import', mock],
  );
  assert.equal(stdout, 'no request undefined\n', stderr);
});

test('0 and off mean no limit, and need no unit', limits, async () => {
  const { stdout, stderr } = await run(
    `import { limitsFor } from 'millrace/deadlines';
    console.log(JSON.stringify([limitsFor('a.test'), limitsFor('b.test'), limitsFor('c.test')]));`,
    { [TOTAL]: '0', MILLRACE_DEADLINE_IDLE: 'off', [HOSTS]: 'b.test=0; c.test=connect:0,total:9s' },
  );
  assert.equal(stderr, '');
  assert.deepEqual(JSON.parse(stdout), [
    { connect: 2000, tls: 2000, headers: 3000, idle: 0, total: 0 },
    { connect: 0, tls: 0, headers: 0, idle: 0, total: 0 },
    { connect: 0, tls: 2000, headers: 9000, idle: 0, total: 9000 },
  ]);
});
