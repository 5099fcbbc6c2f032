// A request that is piped into its response: on the stack it does what it does on Node's own server.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { REGISTER } from '../../fixtures/stack/pair.js';
import { scenarios } from '../../fixtures/stack/piping.js';

const SCRIPT = fileURLToPath(new URL('../../fixtures/stack/piping.js', import.meta.url));
const LIMIT = { timeout: 30_000 };

async function outcomes(options) {
  const env = { ...process.env, NODE_OPTIONS: '' };
  const args = [...options, SCRIPT];
  const { stdout } = await promisify(execFile)(process.execPath, args, { ...LIMIT, env });
  return JSON.parse(stdout);
}

describe('pipe', LIMIT, () => {
  let [plain, stack] = [null, null];
  before(async () => {
    [plain, stack] = await Promise.all([outcomes([]), outcomes(['--import', REGISTER])]);
  });

  test('the requests are served natively', () => {
    assert.equal(plain.native, null);
    assert.ok(stack.native >= Object.keys(scenarios).length, `${stack.native}`);
  });

  for (const name of Object.keys(scenarios)) {
    test(name, () => {
      assert.ok(plain.found[name].text.startsWith('HTTP/1.1 20'), plain.found[name].text);
      assert.deepEqual(stack.found[name], plain.found[name]);
    });
  }
});
