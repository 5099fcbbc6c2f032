import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { buildForm, createBody } from '../../../bench/clients/bodies.js';
import { buildCommand, tools } from '../../../bench/clients/tools.js';
import { adaptCase } from '../../../bench/harness/nodes.js';
import { suites } from '../../../bench/load/cases.js';
import { computeMore } from '../../../bench/stack/launch.js';

test('names of cases are unique in a suite, and sections can be told apart by them', () => {
  for (const cases of Object.values(suites)) {
    const names = cases.map(({ name }) => name);
    assert.deepEqual(names, [...new Set(names)]);
    assert.ok(names.every((name) => /^[\w-]+$/.test(name)));
  }
});

test('a version of Node.js has its own bars where a case has such', () => {
  const bench = { name: 'hello', bars: ['of all'], barsOn: { 26: ['of 26'] } };
  assert.deepEqual(adaptCase(bench, 26).bars, ['of 26']);
  assert.deepEqual(adaptCase(bench, 24).bars, ['of all']);
  assert.deepEqual(adaptCase({ barsOn: { 26: ['of 26'] } }, 24).bars, []);
});

test('a form has two fields and a file, and ends with the closing boundary', async () => {
  const bytes = buildForm(3);
  const boundary = /^--(.*)\r\n/.exec(bytes)[1];
  const headers = { 'Content-Type': `multipart/form-data; boundary=${boundary}` };
  const form = await new Response(bytes, { headers }).formData();
  assert.deepEqual([...form.keys()], ['title', 'text', 'file']);
  assert.equal(await form.get('file').text(), 'xxx');
});

test('a file is uploaded by each client that the case names', () => {
  const upload = suites.load.find(({ name }) => name === 'upload-1-mib');
  const load = { url: 'http://127.0.0.1/', seconds: 1, connections: 1, bodyFile: '/tmp/body' };
  for (const name of upload.tools.filter((one) => one !== 'millrace' && tools[one].find()))
    assert.match(buildCommand(name, load).text, /\/tmp\/body/, name);
  const asked = { ...load, body: '@/tmp/body', headers: ['A: b'] };
  assert.match(buildCommand('millrace', asked).text, / -b @\/tmp\/body -H A: b /);
});

test('what a start takes more is the median over rounds of the difference of means', () => {
  const runs = [
    [0, 'node', 40],
    [0, 'millrace', 52],
    [0, 'millrace', 54],
    [0, 'node', 42],
    [1, 'node', 60],
    [1, 'millrace', 70],
  ].map(([round, row, wallMs]) => ({ round, row, wallMs }));
  const { median, low, high } = computeMore(runs, 'millrace', 'node', 'wallMs');
  assert.deepEqual([median, low, high], [11, 10, 12]);
});

test('k6 and artillery are read: their requests, their rate, and what failed', () => {
  const k6 = [
    'running (01.0s), 50/50 VUs, 1859 complete and 0 interrupted iterations',
    'running (1m02.0s), 00/50 VUs, 3100 complete and 2 interrupted iterations',
  ].join('\n');
  assert.deepEqual(tools.k6.read(k6), { requests: 6200, requestsPerSecond: 100, errors: 0 });
  assert.throws(() => tools.k6.read('nothing'), /no iterations/);
  const artillery = [
    'http.requests: ...... 7',
    'Summary report @ 21:06:34(+0000)',
    'errors.Failed capture or match: ...... 1',
    'http.codes.200: ...... 409',
    'http.codes.500: ...... 3',
    'http.request_rate: ...... 102/sec',
    'http.requests: ...... 412',
  ].join('\n');
  assert.deepEqual(tools.artillery.read(artillery), {
    ...{ requests: 412, requestsPerSecond: 102, errors: 4 },
  });
});

test('each client is asked for HTTP/2, with the same number of streams on a connection', () => {
  const load = { url: 'https://127.0.0.1/', seconds: 1, connections: 7, streams: 3, threads: 1 };
  const commandOf = (name, more = {}) =>
    tools[name].find() && buildCommand(name, { ...load, ...more }).text;
  assert.match(commandOf('millrace'), / -c 7 .*--h2c -p 3 /);
  assert.match(commandOf('millrace', { tls: 'keep-alive' }), /--http2 -p 3 .*-k /);
  for (const [name, words] of [
    ['h2load', /^h2load -t 1 -c 7 -m 3 /],
    ['oha', / -c 7 --http2 -p 3 /],
  ]) {
    const text = commandOf(name);
    if (text) assert.match(text, words);
  }
});

test('a call of gRPC is the same message for each client', (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'millrace-bench-'));
  t.after(() => rmSync(directory, { recursive: true }));
  const bench = suites.load.find(({ name }) => name === 'grpc-unary');
  const { bodyFile, framedFile, ...body } = createBody(bench.load, directory);
  assert.deepEqual(body, { body: `@${bodyFile}` });
  const message = readFileSync(bodyFile);
  assert.equal(message.toString('latin1'), '\n\fhello, world');
  assert.equal(readFileSync(framedFile, 'hex'), `000000000e${message.toString('hex')}`);
  const server = { url: 'http://127.0.0.1:5/', port: 5, seconds: 1, bodyFile, framedFile, ...body };
  const commandOf = (name) =>
    tools[name].find() && buildCommand(name, { ...server, ...bench.load }).text;
  assert.match(commandOf('millrace'), /-b @\S+body .*--grpc bench\.Greeter\/Greet /);
  for (const [name, words] of [
    ['ghz', /--call bench\.Greeter\/Greet -B \S+body .* -c 100 --connections 10 .*127\.0\.0\.1:5$/],
    ['h2load', /-d \S+framed .*http:\/\/127\.0\.0\.1:5\/bench\.Greeter\/Greet$/],
  ]) {
    const text = commandOf(name);
    if (text) assert.match(text, words);
  }
});

test('ghz is read: its calls per second, and those that failed', () => {
  const lines = ['  Requests/sec:\t23405.12', 'Status code distribution:'];
  const counts = ['  [OK]            46810 responses   ', '  [Unavailable]   1 responses   '];
  assert.deepEqual(tools.ghz.read([...lines, ...counts].join('\n')), {
    ...{ requestsPerSecond: 23405.12, errors: 1 },
  });
});

test('a scenario is the same flow for each client, and its requests alone are targets', () => {
  const bench = suites.load.find(({ name }) => name === 'scenario-two-steps');
  const server = { url: 'http://127.0.0.1/', seconds: 1 };
  const commandOf = (row) => {
    const load = { ...server, ...bench.load, ...bench.loads[row] };
    const name = load.tool ?? row;
    return tools[name].find() && buildCommand(name, load).text;
  };
  assert.match(commandOf('millrace'), /-c 50 .*--scenario \S*two-steps\.js/);
  assert.match(commandOf('millrace --targets'), /-c 50 .*--targets \S*two-steps\.targets/);
  for (const row of ['k6', 'artillery']) {
    const text = commandOf(row);
    if (text) assert.match(text, /two-steps\.\S+$/, row);
  }
});
