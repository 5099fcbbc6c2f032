// Names of requests: given, derived from method and path, and more than are told apart.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { buildPlan } from '#internal/load/plan/plan.js';
import { deriveRequestName } from '#internal/load/requests/request-names.js';

const folder = mkdtempSync(join(tmpdir(), 'millrace-names-'));
after(() => rmSync(folder, { recursive: true }));
const server = 'http://127.0.0.1:8080';

for (const [target, name] of [
  ['/', 'GET /'],
  ['/users/42?page=2', 'GET /users/:id'],
  ['/users/{{random:1-100}}/posts', 'GET /users/:id/posts'],
  ['/file-{{seq}}.txt', 'GET /:id'],
  ['/u/{{csv:data/users.csv:id}}?q={{uuid}}', 'GET /u/:id'],
  ['/a/018f2b6e-4c1d-7a3b-9c2d-0123456789ab', 'GET /a/:id'],
  ['*', 'GET *'],
]) {
  test(`the name of GET ${target} is ${name}`, () => {
    assert.equal(deriveRequestName('GET', target), name);
  });
}

async function namesOf(options) {
  const { names, native } = await buildPlan(options);
  return native.requests.map(({ name }) => names[name]);
}

test('targets of the API have the name that they give, and requests with the same name are one', async () => {
  const targets = [
    { url: `${server}/a`, name: ' list users ' },
    { url: `${server}/b`, name: 'list users' },
    { url: `${server}/c/1` },
    { url: `${server}/c/2` },
  ];
  const { names, native } = await buildPlan({ targets });
  assert.deepEqual(names, ['list users', 'GET /c/:id']);
  assert.deepEqual(
    native.requests.map(({ name }) => name),
    [0, 0, 1, 1],
  );
  assert.equal(native.names, 2);
});

test('a text file names a request by a comment before it, a JSON file by a field', async () => {
  const text = join(folder, 'targets.txt');
  writeFileSync(
    text,
    `# a comment\n# @name: list users\n# another\nGET ${server}/a\nAccept: */*\n\n#@Name:slow\nPOST ${server}/b\nGET ${server}/c\n`,
  );
  assert.deepEqual(await namesOf({ targetsFile: text }), ['list users', 'slow', 'GET /c']);
  const json = join(folder, 'targets.json');
  writeFileSync(json, `{"method":"GET","url":"${server}/a","name":"list users"}\n`);
  assert.deepEqual(await namesOf({ targetsFile: json }), ['list users']);
});

test('a text file gives a weight by a comment before a request', async () => {
  const targetsFile = join(folder, 'weighted.txt');
  writeFileSync(
    targetsFile,
    `# @weight: 9\n# @name: list\nGET ${server}/a\n\n# @other: x\nGET ${server}/b\n`,
  );
  const { summary } = await buildPlan({ targetsFile });
  assert.equal(summary.order, 'weighted');
  assert.deepEqual(
    summary.targets.map(({ name, weight }) => [name, weight]),
    [
      ['list', 9],
      ['GET /b', 1],
    ],
  );
});

for (const [content, message] of [
  [
    `# @name: a\n# @name: b\nGET ${server}/\n`,
    /targets-0.txt:2: no request follows the name in .*targets-0.txt:1$/,
  ],
  [`GET ${server}/\n# @name: a\n`, /targets-1.txt:2: no request follows this name$/],
  [
    `# @name:   \nGET ${server}/\n`,
    /targets-2.txt:2: a name must have 1 to 200 characters on one line \(got ''\)$/,
  ],
  [`{"method":"GET","url":"${server}/","name":1}\n`, /targets-3.txt:1: name must be text/],
  [
    `# @weight: 1\n# @weight: 2\nGET ${server}/\n`,
    /targets-4.txt:2: no request follows the weight in .*targets-4.txt:1$/,
  ],
  [`# @weight: many\nGET ${server}/\n`, /targets-5.txt:1: weight must be a number \(got 'many'\)$/],
  [`# @weight:\nGET ${server}/\n`, /targets-6.txt:1: weight must be a number \(got ''\)$/],
  [`# @weight: 0\nGET ${server}/\n`, /targets-7.txt:2: weight must be a number above 0 \(got 0\)$/],
]) {
  test(`a file of targets is refused: ${message}`, async () => {
    const [, number] = /targets-(\d)/.exec(message.source);
    const targetsFile = join(folder, `targets-${number}.txt`);
    writeFileSync(targetsFile, content);
    await assert.rejects(buildPlan({ targetsFile }), { code: 'ERR_MILLRACE_USAGE', message });
  });
}

test('a name with control characters is refused in one line that has none', async () => {
  await assert.rejects(buildPlan({ url: server, name: 'a\nb\x1b[31m' }), {
    code: 'ERR_MILLRACE_USAGE',
    message: "URL: a name must have 1 to 200 characters on one line (got 'a\\nb\\x1B[31m')",
  });
});

test('name is the name of a single request only', async () => {
  assert.deepEqual(await namesOf({ url: `${server}/x/1`, name: 'one' }), ['one']);
  assert.deepEqual(await namesOf({ url: `${server}/x/1` }), ['GET /x/:id']);
  await assert.rejects(buildPlan({ url: [`${server}/a`, `${server}/b`], name: 'one' }), {
    message: 'name is for a single request (got 2 URLs)',
  });
  await assert.rejects(buildPlan({ targets: [{ url: server }], name: 'one' }), {
    message: /^name is for a single request: targets have names of their own/,
  });
});

test('more than 200 names: the rest is one', async () => {
  const targets = Array.from({ length: 250 }, (_, index) => ({ url: `${server}/p${index}x` }));
  const { names, native } = await buildPlan({ targets });
  assert.equal(names.length, 200);
  assert.deepEqual([names[198], names[199]], ['GET /p198x', 'other requests']);
  assert.equal(native.requests.filter(({ name }) => name === 199).length, 51);
});

test('a condition on a name that is counted with others says so', async () => {
  const targets = Array.from({ length: 250 }, (_, index) => ({ url: server, name: `n${index}` }));
  await assert.rejects(buildPlan({ targets, failOn: ['n240: p99<1s'] }), {
    code: 'ERR_MILLRACE_USAGE',
    message:
      "the requests with the name 'n240' are counted as 'other requests', as there are more than 200 names",
  });
  await buildPlan({ targets, failOn: 'other requests: p99<1s' });
});

test('a condition on a name that no request has is refused before the run', async () => {
  const targets = ['users', 'slow'].map((name) => ({ url: server, name }));
  await assert.rejects(buildPlan({ targets, failOn: ['slw: p99<1s'] }), {
    code: 'ERR_MILLRACE_USAGE',
    message: "'slw: p99<1s': no request has the name 'slw'; the names are 'users', 'slow'",
  });
  await assert.rejects(buildPlan({ targets, failOn: 'other thing: errors<1', abortOnFail: true }), {
    message:
      "'other thing: errors<1': no request has the name 'other thing'; the names are 'users', 'slow'",
  });
  // The path that was requested is nearer to another route's name than to its own.
  const urls = ['users', 'users/1'].map((path) => `${server}/${path}`);
  await assert.rejects(buildPlan({ url: urls, failOn: ['GET /users/1: p99<1s'] }), {
    message:
      "'GET /users/1: p99<1s': no request has the name 'GET /users/1'; the names are 'GET /users', 'GET /users/:id'",
  });
  const many = Array.from({ length: 11 }, (_, index) => ({ url: server, name: `route-${index}x` }));
  await assert.rejects(buildPlan({ targets: many, failOn: ['route-3: p99<1s'] }), {
    message: /^'route-3: p99<1s': no request has the name 'route-3'; did you mean 'route-3x'\?$/,
  });
});
