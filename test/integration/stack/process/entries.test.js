// Whichever way the stack is loaded, it is there once.
import assert from 'node:assert/strict';
import http from 'node:http';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import tls from 'node:tls';
import '#internal/http/register.js';
import * as ownHttps from '#internal/http/https.js';
import * as ownHttp from '#internal/http/index.js';
import { MillraceError } from '#internal/index.js';

test('millrace/http and millrace/https are of the stack that millrace/register has installed', () => {
  assert.equal(ownHttps.install, ownHttp.install);
  assert.equal(ownHttps.millraceVersion, http.millraceVersion);
});

test('--require loads the stack that --import loads', () => {
  const { install } = createRequire(import.meta.url)('../../../../dist/http/stack.cjs');
  assert.equal(install, ownHttp.install);
});

test("what the stack puts in the place of Node's is there wherever Node has it, by the same name", () => {
  const origin = process.getBuiltinModule('_http_server');
  assert.equal(origin.Server, http.Server);
  assert.equal(http.Server.prototype.constructor, http.Server);
  for (const [module, name] of [
    [http, 'Server'],
    [http, 'createServer'],
    [ownHttps.default, 'createServer'],
    [tls, 'createSecureContext'],
  ]) {
    assert.equal(module[name].name, name);
  }
});

test('isNative and getStats tell whether the stack serves a server', async () => {
  const { getStats, isNative } = ownHttp;
  // As one of another kind, and with a member of the application's own by the same name.
  const servers = [http.createServer(), ownHttps.createServer(), ownHttp.createServer()];
  servers[0].stats = () => 'its own';
  for (const server of servers) {
    assert.deepEqual([isNative(server), getStats(server)], [false, null]);
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
    assert.equal(isNative(server), true);
    assert.deepEqual(getStats(server).requests.native, 0);
    await new Promise((resolve) => server.close(resolve));
    assert.equal(isNative(server), false);
    assert.deepEqual(getStats(server).connections.open, 0);
  }
  const lenient = http.createServer({ insecureHTTPParser: true });
  await new Promise((resolve) => lenient.listen(0, '127.0.0.1', resolve));
  assert.deepEqual([isNative(lenient), getStats(lenient)], [false, null]);
  await new Promise((resolve) => lenient.close(resolve));
});

test('an error of the stack is a MillraceError of the package', () => {
  class Other extends MillraceError {}
  const isOfTheStack = (error) => {
    assert.ok(error instanceof MillraceError);
    assert.ok(!(error instanceof Other));
    assert.ok(error instanceof Error);
    return error.code === 'ERR_MILLRACE_USAGE';
  };
  assert.throws(() => http.createServer().cache.entries(-1), isOfTheStack);
  assert.ok(new Other('ERR_MILLRACE_USAGE', 'text') instanceof Other);
  for (const value of [null, undefined, 'text', {}, new Error()]) {
    assert.ok(!(value instanceof MillraceError));
  }
});

test('stack traces name a file of dist/http below the frames of the application', async () => {
  let stack = '';
  const server = http.createServer((_, response) => {
    ({ stack } = new Error());
    response.end();
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const response = await fetch(`http://127.0.0.1:${server.address().port}`);
  await response.text();
  await new Promise((resolve) => server.close(resolve));
  const [own, ...below] = stack.split('\n').slice(1);
  assert.match(own, /entries\.test\.js/);
  assert.ok(
    below.some((line) => /at receive .*\/dist\/http\/[\w/]+\.c?js:\d+:\d+/.test(line)),
    stack,
  );
});
