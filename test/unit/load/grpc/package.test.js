// The optional package that reads .proto files: not there, or too old.
import assert from 'node:assert/strict';
import Module from 'node:module';
import { test } from 'node:test';
import { buildPlan } from '#internal/load/plan/plan.js';

/** Lets modules whose names match be missing, until the test ends. */
function hideModules(t, pattern) {
  const modules = /** @type {any} */ (Module);
  const resolve = modules._resolveFilename;
  modules._resolveFilename = (name, ...rest) =>
    resolve(pattern.test(name) ? 'no-such-package' : name, ...rest);
  t.after(() => {
    modules._resolveFilename = resolve;
  });
}

const options = { url: 'http://127.0.0.1:1', grpc: 'a.B/C', proto: 'a.proto', body: '{}' };

test('a line says which package is missing, and how to install it', async (t) => {
  hideModules(t, /^protobufjs/);
  await assert.rejects(buildPlan(options), {
    code: 'ERR_MILLRACE_USAGE',
    message: 'proto needs the package protobufjs, which is not installed: npm install protobufjs',
  });
});

test('a line says which version is needed where there is an older one', async (t) => {
  hideModules(t, /^protobufjs\/ext/);
  await assert.rejects(buildPlan(options), {
    code: 'ERR_MILLRACE_USAGE',
    message:
      /^proto needs the package protobufjs from version 8\.6 on, and \S+protobufjs is older: npm install protobufjs$/,
  });
});
