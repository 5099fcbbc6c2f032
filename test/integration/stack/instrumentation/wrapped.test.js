// Methods that tracers and middleware replace are called as often as with Node's own stack.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { describe, test } from 'node:test';
import { promisify } from 'node:util';
import { isFull } from '../../../fixtures/size.js';
import { REGISTER } from '../../../fixtures/stack/comparison/two-processes.js';
import { measured, PLACES, replaceable } from '../../../fixtures/stack/process/wrapped-methods.js';

/** What Node calls for its own bookkeeping alone, or in another order where nobody reads a body. */
const BOOKKEEPING = new Set([
  ...['IncomingMessage.listenerCount', 'IncomingMessage.on'],
  ...['IncomingMessage.read', 'IncomingMessage._read'],
  'ServerResponse._isLenientHeaderValidation',
]);

/** What tracers replace; at full size it is all that there is. */
const USUAL = {
  ServerResponse: [
    ...['_finish', '_implicitHeader', '_send', '_storeHeader', '_writeRaw', 'assignSocket'],
    ...['addTrailers', 'cork', 'destroy', 'detachSocket', 'emit', 'end', 'flushHeaders', 'on'],
    ...['once', 'setHeader', 'uncork', 'write', 'writeHead'],
  ],
  IncomingMessage: [
    ...['_addHeaderLine', '_addHeaderLines', '_destroy', '_dump', 'destroy', 'emit', 'once'],
    ...['pipe', 'push', 'resume', 'unpipe'],
  ],
};

/** Each of these takes a thread: the ones that agents are known to replace before anything else is loaded. */
const EARLY = new Set([
  '_send',
  'assignSocket',
  'emit',
  'end',
  'pipe',
  'setHeader',
  'write',
  'writeHead',
]);

const methods = isFull
  ? replaceable.filter(([kind, name]) => !BOOKKEEPING.has(`${kind}.${name}`))
  : Object.entries(USUAL).flatMap(([kind, names]) => names.map((name) => [kind, name]));

for (const place of PLACES) {
  describe(`methods that are replaced ${place}`, () => {
    test('replaced methods are called as often as with Node', { timeout: 300_000 }, async () => {
      const some = methods.filter(([, name]) => isFull || place !== PLACES[0] || EARLY.has(name));
      const [plain, stack] = await Promise.all([
        measured(some, place, false),
        measured(some, place, true),
      ]);
      for (const [index, [kind, name]] of some.entries()) {
        assert.deepEqual(seen(stack[index]), seen(plain[index]), `${kind}.${name}`);
      }
      const called = plain.filter((found) => Object.keys(found.text.calls).length > 0);
      assert.ok(called.length > 3, 'none was called');
    });
  });
}

test('replaced methods of sockets leave the server to Node’s own code', async () => {
  const script = `
    import http from 'node:http';
    import net from 'node:net';
    const { write } = net.Socket.prototype;
    let calls = 0;
    net.Socket.prototype.write = function (...args) {
      if (this.server) calls++;
      return write.apply(this, args);
    };
    const server = http.createServer((req, res) => res.end('text'));
    server.listen(0, '127.0.0.1', async () => {
      await (await fetch('http://127.0.0.1:' + server.address().port)).text();
      console.log(JSON.stringify({ calls, stats: server.stats() }));
      process.exit();
    });`;
  const args = ['--import', REGISTER, '--input-type=module', '--eval', script];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  const { calls, stats } = JSON.parse(stdout);
  assert.ok(calls > 0);
  assert.equal(stats, null);
});

/** Where nobody reads a body, Node 26 tells of it ('readable') before it is let go. */
function seen(found) {
  for (const { calls } of Object.values(found)) delete calls['emit readable'];
  return found;
}
