// The versions of HTTP that options ask for.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildPlan, FUTURE_SERVER } from '#internal/load/plan/plan.js';

const SECURE = 'https://127.0.0.1:8443/';
const PLAIN = 'http://127.0.0.1:8080/';

async function readVersions(options, command = undefined) {
  const { native, summary } = await buildPlan(options, command);
  return [native.http2, summary.httpVersion];
}

test('HTTP/1.1 is the default, with TLS too', async () => {
  assert.deepEqual(await readVersions({ url: SECURE }), [undefined, '1.1']);
  assert.deepEqual(await readVersions({ url: PLAIN, http2: false }), [undefined, '1.1']);
});

test('each option chooses versions for the servers of its scheme', async () => {
  /** @type {[options: any, native: object, version: string][]} */
  const versions = [
    [{ url: SECURE, http2: true }, { tls: 'http2', cleartext: false }, '2'],
    [{ url: SECURE, preferHttp2: true }, { tls: 'either', cleartext: false }, '2 or 1.1'],
    [{ url: PLAIN, h2c: true }, { tls: 'http1', cleartext: true }, '2'],
    [{ url: 'unix:/tmp/a.sock:/', h2c: true }, { tls: 'http1', cleartext: true }, '2'],
    [{ targets: [SECURE, PLAIN], h2c: true }, { tls: 'http1', cleartext: true }, '2 or 1.1'],
    [{ targets: [SECURE, PLAIN], h2c: true, http2: true }, { tls: 'http2', cleartext: true }, '2'],
    [
      { url: PLAIN, h2c: true, window: '64kib' },
      { tls: 'http1', cleartext: true, window: 65_536 },
      '2',
    ],
  ];
  for (const [options, native, version] of versions) {
    const { targets, ...others } = options;
    const given = targets ? { ...others, targets: targets.map((url) => ({ url })) } : others;
    assert.deepEqual(await readVersions(given), [native, version], JSON.stringify(options));
  }
});

test('a server that does not run yet may turn out to speak HTTP/1.1 only where that is allowed', async () => {
  const versionOf = async (options) => (await readVersions(options, FUTURE_SERVER))[1];
  assert.equal(await versionOf({ url: '/', http2: true }), '2');
  assert.equal(await versionOf({ url: '/', h2c: true }), '2');
  assert.equal(await versionOf({ url: SECURE, preferHttp2: true }), '2 or 1.1');
});

test('an option that no server can use is refused', async () => {
  /** @type {[options: any, message: RegExp][]} */
  const refused = [
    [{ url: PLAIN, http2: true }, /http2 needs an https:\/\/ URL.*h2c/],
    [{ url: PLAIN, preferHttp2: true }, /preferHttp2 needs an https:\/\/ URL.*h2c/],
    [{ url: SECURE, h2c: true }, /h2c is HTTP\/2 without TLS.*http2/],
    [{ url: SECURE, http2: true, preferHttp2: true }, /cannot be combined/],
    [{ targets: [{ url: SECURE }, { url: PLAIN }], http2: true }, /some are http:/],
    [{ url: SECURE, window: 5 }, /window is for HTTP\/2/],
    [
      { url: SECURE, http2: true, window: 0 },
      /window must be from 1 to 2147483647 bytes \(got 0\)/,
    ],
    [{ url: SECURE, http2: true, window: '2gib' }, /window must be from 1/],
  ];
  for (const [options, message] of refused) {
    await assert.rejects(buildPlan(options), { code: 'ERR_MILLRACE_USAGE', message });
  }
});

test('redirections are followed with several streams, but not with pipelining', async () => {
  const { native } = await buildPlan({ url: PLAIN, h2c: true, pipelining: 4, follow: 2 });
  assert.equal(native.pipelining, 4);
  await assert.rejects(buildPlan({ url: PLAIN, pipelining: 4, follow: 2 }), /pipelining 4/);
});
