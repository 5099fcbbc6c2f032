// Runs without a complete response: exit codes, and what is said of servers that hang and of streams without an end.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { after, before, test } from 'node:test';
import { millrace } from '../../fixtures/truth/cli.js';

const server = createServer((request, response) => {
  if (request.url === '/events') response.write('data: tick\n\n');
});
let url;

before(async () => {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  url = `http://127.0.0.1:${server.address().port}/`;
});

after(() => {
  server.closeAllConnections();
  server.close();
});

test('a run in which nothing was answered exits with 3, with conditions or without', async () => {
  const args = ['-c', '2', '-d', '300ms', `${url}hang`];
  const limits = ['errors<1%', 'timeouts<1', 'throughput<9', 'GET /hang: errors<1'];
  const conditions = limits.flatMap((condition) => ['--fail-on', condition]);
  const [plain, judged, cases] = await Promise.all([
    millrace(args),
    millrace([...conditions, ...args]),
    millrace([...conditions, '--junit', '-', ...args]),
  ]);
  assert.deepEqual([plain.code, judged.code, cases.code], [3, 3, 3]);
  assert.match(
    plain.stdout.replace(/\s+/g, ' '),
    /No response arrived before the end, to 2 requests/,
  );
  for (const condition of limits) {
    assert.ok(judged.stderr.includes(`--fail-on '${condition}' failed: no response came`));
  }
  assert.match(cases.stdout, /<testsuite [^>]*tests="4" failures="4"/);
});

test('a stream without an end is reported as one, and is an answer', async () => {
  const { code, stdout } = await millrace([
    '-c',
    '2',
    '-d',
    '300ms',
    '--fail-on',
    'errors<1%',
    `${url}events`,
  ]);
  assert.equal(code, 0, stdout);
  const text = stdout.replace(/\s+/g, ' ');
  assert.match(
    text,
    /2 responses began and did not end: head after [\d.]+ .?s, \d+ B \(means\), no end/,
  );
  assert.doesNotMatch(text, /No response/);
});
