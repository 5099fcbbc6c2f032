// `node:https` is not loaded by the stack, and has it when the application loads it, in whatever way.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { REGISTER } from '../../../fixtures/stack/comparison/two-processes.js';

const FILE = fileURLToPath(
  new URL('../../../fixtures/stack/process/https-loaded-later.js', import.meta.url),
);
const STACK = fileURLToPath(new URL('../../../../dist/http/stack.cjs', import.meta.url));
const LIMIT = { timeout: 20_000 };

const CLASSES = ['createServer', 'Server', 'new Server', 'extends Server'];

async function run(...args) {
  const all = ['--import', REGISTER, FILE, ...args];
  const { stdout, stderr } = await promisify(execFile)(process.execPath, all, LIMIT);
  assert.equal(stderr, '');
  return JSON.parse(stdout);
}

test('a server of plain HTTP loads nothing of TLS', LIMIT, async () => {
  assert.deepEqual(await run('http'), { loaded: [] });
});

for (const way of ['import', 'require', 'getBuiltinModule']) {
  const creates = way === 'require' ? [...CLASSES, 'createServer, Server replaced'] : CLASSES;
  for (const create of creates) {
    test(`https.${create} after ${way} is on the stack`, LIMIT, async () => {
      assert.deepEqual(await run(way, create), {
        loaded: [],
        taken: ['function', { writable: true, enumerable: true, configurable: true }],
        names: true,
        limit: 7,
        body: 'hello',
        // With a context of its own, and with one that was created before the server.
        requests: [1, 2],
        reasons: {},
      });
    });
  }
}

// As the sandboxes of test runners have them.
const SANDBOX = `
const { readFileSync } = require('node:fs');
const { dirname } = require('node:path');
const file = process.argv[1];
const copy = Object.create(process, { moduleLoadList: { value: [...process.moduleLoadList] } });
const https = require('node:https');
const stack = { exports: {} };
new Function('module', 'exports', 'require', '__dirname', 'process', readFileSync(file, 'utf8'))
  .call(stack, stack, stack.exports, require, dirname(file), copy);
stack.exports.register();
console.log(typeof https.createServer().stats);`;

test(
  'https that is loaded is seen from a sandbox whose process object is a copy',
  LIMIT,
  async () => {
    const { stdout } = await promisify(execFile)(process.execPath, ['-e', SANDBOX, STACK], LIMIT);
    assert.equal(stdout, 'function\n');
  },
);

const FROZEN = `
Object.freeze(process.getBuiltinModule('_http_server'));
const tls = Object.freeze(require('node:tls'));
const https = require('node:https');
Object.freeze(https.Server.prototype);
console.log(typeof https.createServer().listen, typeof tls.createSecureContext().context);`;

test('modules that the application has frozen are left as they are', LIMIT, async () => {
  const all = ['--import', REGISTER, '-e', FROZEN];
  const { stdout, stderr } = await promisify(execFile)(process.execPath, all, LIMIT);
  assert.deepEqual([stdout, stderr], ['function object\n', '']);
});
