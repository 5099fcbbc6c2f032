// Comparisons in which the sides may speak different versions of HTTP say which of them were spoken.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { selfSignedCertificate } from '#internal/native/addon.js';
import { assertFits, millrace, SHORT } from '../../fixtures/compare/command.js';

const { key, cert } = await selfSignedCertificate(['localhost', '127.0.0.1']);
const answer = "(req, res) => res.end('hello')";
const secure = `require('https').createServer({ key: process.env.KEY, cert: process.env.CERT }, ${answer}).listen(0)`;
const clear = `require('http').createServer(${answer}).listen(0)`;

/** Compares both stacks under a server of this source. */
function compareStacks(source, flags, env = {}) {
  const args = [
    'compare',
    ...SHORT,
    '--stack',
    '-k',
    ...flags,
    '--',
    process.execPath,
    '-e',
    source,
  ];
  return millrace(args, { env: { KEY: key, CERT: cert, MILLRACE_HTTP2: 'off', ...env } }).ended;
}

describe('compare --stack', () => {
  for (const [flag, source, needed] of [
    ['--http2', secure, '--prefer-http2'],
    ['--h2c', clear, 'an https:// URL with --prefer-http2'],
  ]) {
    test(`${flag} says that Node's own stack has no HTTP/2, and what to use`, async () => {
      const { code, stderr } = await compareStacks(source, [flag]);
      assert.equal(code, 3);
      const said = `on Node's own HTTP stack the server speaks HTTP/1.1 only: set MILLRACE_HTTP2=on and use ${needed} in place of ${flag},`;
      assert.ok(stderr.startsWith('millrace: A: ') && stderr.includes(said), stderr);
      assert.equal(stderr.trimEnd().split('\n').length, 1);
    });
  }

  test('--prefer-http2 names the version of each side', async () => {
    const flags = ['--prefer-http2', '--json'];
    const { stdout, stderr } = await compareStacks(secure, flags, { MILLRACE_HTTP2: 'on' });
    assert.ok(stdout, stderr);
    const result = JSON.parse(stdout);
    assertFits(result);
    assert.equal(result.sides.a.label, "Node's own HTTP stack, HTTP/1.1");
    assert.equal(result.sides.b.label, "Millrace's HTTP stack, HTTP/2");
  });

  test('--prefer-http2 says that neither side spoke HTTP/2, and what to set', async () => {
    const { stdout, stderr } = await compareStacks(secure, ['--prefer-http2']);
    const text = stdout.replaceAll(/\s+/g, ' ');
    assert.match(text, /Both sides spoke HTTP\/1\.1.*: set MILLRACE_HTTP2=on/, stderr);
    assert.match(text, /closed: 2 connections x pipelining 1,/);
    assert.doesNotMatch(text, /HTTP\/2 or 1\.1/);
  });
});
