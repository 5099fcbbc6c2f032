// A request that is piped into its response: on the stack it does what it does on Node's own server.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { REGISTER } from '../../../fixtures/stack/comparison/two-processes.js';
import { scenarios } from '../../../fixtures/stack/messages/piped-requests.js';

const SCRIPT = fileURLToPath(
  new URL('../../../fixtures/stack/messages/piped-requests.js', import.meta.url),
);
const LIMIT = { timeout: 30_000 };

async function outcomes(options) {
  const env = { ...process.env, NODE_OPTIONS: '' };
  const args = [...options, SCRIPT];
  const { stdout } = await promisify(execFile)(process.execPath, args, { ...LIMIT, env });
  return JSON.parse(stdout);
}

describe('req.pipe(res) on the native stack', LIMIT, () => {
  let [plain, stack] = [null, null];
  before(async () => {
    [plain, stack] = await Promise.all([outcomes([]), outcomes(['--import', REGISTER])]);
  });

  test('requests with pipe are served natively', () => {
    assert.equal(plain.native, null);
    assert.ok(stack.native >= Object.keys(scenarios).length, `${stack.native}`);
  });

  for (const name of Object.keys(scenarios)) {
    test(`a request with pipe has the same result as with Node: ${name}`, () => {
      assert.ok(plain.found[name].text.startsWith('HTTP/1.1 20'), plain.found[name].text);
      assert.deepEqual(stack.found[name], plain.found[name]);
    });
  }
});

test('a short body and its end are sent together', LIMIT, async (t) => {
  const program = `require('node:http')
    .createServer((request, response) => request.pipe(response))
    .listen(0, '127.0.0.1', function () { process.send(this.address().port); })`;
  const args = ['--import', REGISTER, '--eval', program];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  t.after(() => child.kill());
  const [port] = await once(child, 'message');
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  t.after(() => socket.destroy());
  // What leaves in two is read in one now and then.
  for (let n = 0; n < 50; n++) {
    socket.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello');
    const [bytes] = await once(socket, 'data');
    assert.match(bytes.toString('latin1'), /\r\n\r\n5\r\nhello\r\n0\r\n\r\n$/);
  }
});
