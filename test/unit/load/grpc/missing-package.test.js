// Without the package that reads .proto files.
import assert from 'node:assert/strict';
import Module from 'node:module';
import { test } from 'node:test';
import { buildPlan } from '#internal/load/plan/plan.js';

test('a line says which package is missing, and how to install it', async () => {
  const modules = /** @type {any} */ (Module);
  const resolve = modules._resolveFilename;
  modules._resolveFilename = (name, ...rest) =>
    resolve(name === 'protobufjs' ? 'no-such-package' : name, ...rest);
  const options = { url: 'http://127.0.0.1:1', grpc: 'a.B/C', proto: 'a.proto', body: '{}' };
  await assert.rejects(buildPlan(options), {
    code: 'ERR_MILLRACE_USAGE',
    message: 'proto needs the package protobufjs, which is not installed: npm install protobufjs',
  });
});
