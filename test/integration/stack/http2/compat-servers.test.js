// Which servers of node:http2 the stack serves, and what their clients see: the same as on plain Node.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { both, runOnStack } from '../../../fixtures/stack/comparison/run-both.js';

const PROGRAM = 'http2/compat-servers.js';
const ON = { env: { MILLRACE_HTTP2: 'on' } };
const byNode = (reason, connections = 1) => ({ native: 0, [reason]: connections });

/** Who serves those that the stack does not serve with one connection. */
const SERVED = {
  'a listener for streams': byNode('http2-event:stream'),
  'only a listener for streams, over TLS': byNode('http2-event:stream'),
  'a listener for errors of sessions': byNode('http2-event:sessionError'),
  'a setting of Node alone': byNode('http2-option:settings.initialWindowSize'),
  'an option of Node alone': byNode('http2-option:maxSessionMemory'),
  'a member of Node alone': { native: 1, 'http2-member:stream.respondWithFile': 1 },
  'HTTP/1.1 beside HTTP/2': { native: 2 },
  'HTTP/1.1 that Node parses, with a class of its own': {
    ...{ native: 0, upgrade: 1, 'raw-data-listener': 1 },
  },
  "a server's time limit": { native: 2 },
};
/** Where applications see a difference: the first use of a member throws. */
const MEMBER = 'a member of Node alone';

const isServed = (value) => value === 'Node' || typeof value?.native === 'number';

test('servers of node:http2 are served natively, or by Node for a reason that is counted', async () => {
  const { plain, stack } = await both(PROGRAM, ON);
  for (const [name, seen] of Object.entries(stack)) {
    assert.deepEqual(seen.find(isServed), SERVED[name] ?? { native: 1 }, name);
    assert.equal(plain[name].find(isServed), 'Node', name);
    if (name === MEMBER) continue;
    const [came, expected] = [seen, plain[name]].map((all) => all.filter((it) => !isServed(it)));
    assert.deepEqual(came, expected, name);
  }
  const [first, isSent, [code, message]] = stack[MEMBER];
  assert.deepEqual([first, isSent, code], ['200 refused', true, 'MILLRACE_HTTP2_MEMBER']);
  assert.match(message, /^stream\.respondWithFile .* MILLRACE_HTTP2=on/);
});

test('without MILLRACE_HTTP2=on, they are Node’s own', async () => {
  const { stdout } = await runOnStack(PROGRAM, { env: { MILLRACE_HTTP2: '' } });
  for (const [name, seen] of Object.entries(JSON.parse(stdout))) {
    assert.equal(seen.find(isServed), 'Node', name);
  }
});
