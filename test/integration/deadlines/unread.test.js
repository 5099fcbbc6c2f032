// A limit that ends a body which nobody reads yet: whoever reads it later receives the error, and the process goes on.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { web } from '../../fixtures/deadlines/peers.js';
import { run, runCalls } from '../../fixtures/deadlines/program.js';

const limits = { timeout: 30_000 };

test('a limit on a body that nobody reads is never an uncaught error', limits, async (t) => {
  const half = await web(t, (request, response) => {
    // Some bytes of the body, or its headers alone.
    if (request.url === '/part') response.write('part');
    else response.writeHead(200, { 'content-length': 9 }).flushHeaders();
  });
  const url = (path) => `'http://127.0.0.1:${half.port}/${path}'`;
  const ways = {
    ...{
      '5, redirections': ['undici5', '{ dispatcher: new undici5.Agent(), maxRedirections: 2 }'],
    },
    6: ['undici6', '{}'],
    '6, redirections': ['undici6', '{ dispatcher: new undici6.Agent(), maxRedirections: 2 }'],
    '6, retries': ['undici6', '{ dispatcher: new undici6.RetryAgent(new undici6.Agent()) }'],
    '6, redirect': [
      'undici6',
      '{ dispatcher: new undici6.Agent().compose(undici6.interceptors.redirect({ maxRedirections: 2 })) }',
    ],
    '6, both': [
      'undici6',
      '{ dispatcher: new undici6.Agent().compose(undici6.interceptors.retry(), undici6.interceptors.redirect({ maxRedirections: 2 })) }',
    ],
    '7, retries': ['undici7', '{ dispatcher: new undici7.RetryAgent(new undici7.Agent()) }'],
    '7, both': [
      'undici7',
      '{ dispatcher: new undici7.Agent().compose(undici7.interceptors.retry(), undici7.interceptors.redirect({ maxRedirections: 2 })) }',
    ],
  };
  const calls = {};
  for (const [name, [copy, options]] of Object.entries(ways)) {
    for (const path of ['part', 'head']) {
      calls[`${name}: ${path}`] = `(async () => {
        const { body } = await ${copy}.request(${url(path)}, ${options});
        await sleep(1000);
        return body.text();
      })()`;
    }
  }
  const told = await runCalls(calls, {
    setUp: `import * as undici5 from 'undici-5';
      import * as undici6 from 'undici-6';
      import * as undici7 from 'undici';`,
    env: { MILLRACE_DEADLINE_TOTAL: '400ms' },
  });
  // Version 5 does not say why a body is no longer usable.
  const expected = (name) => (name.startsWith('5') ? 'unusable' : 'total');
  assert.deepEqual(
    told,
    Object.fromEntries(Object.keys(calls).map((name) => [name, expected(name)])),
  );
});

// Another copy of undici may be loaded later, with a dispatcher that hides the handlers of older ones.
for (const load of ['new Headers()', "new Request('http://x.test/')"]) {
  test(`an application may wait before it reads, after ${load}`, limits, async (t) => {
    const late = await web(t, (_request, response) => {
      response.write('part');
      setTimeout(() => response.end('rest'), 1500);
    });
    const { stdout, stderr } = await run(
      `import * as undici6 from 'undici-6';
      ${load};
      await null;
      const { body } = await undici6.request('http://127.0.0.1:${late.port}/');
      await new Promise((resolve) => setTimeout(resolve, 1000));
      process.stdout.write(await body.text());`,
      { MILLRACE_DEADLINE_TOTAL: '800ms' },
    );
    assert.equal(stdout, 'partrest', stderr);
  });
}
