// What an application does with requests, responses and servers comes to the same on Node's own server and on the
// stack: bytes, values, errors, events of each object in their order.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { REGISTER } from '../../../fixtures/stack/comparison/two-processes.js';

const TRANSCRIPT = fileURLToPath(
  new URL('../../../fixtures/stack/comparison/transcript.js', import.meta.url),
);
const BYTES = 256 * 1024 * 1024;

/** Where the stack is meant to differ. */
const KNOWN = [
  // A body that came with its head is told before a socket can be destroyed, by Node; a packet is no unit here.
  /^misuse: (?:socket )?destroyed after the end \(post\)$/,
  // What Node had corked when its `end` threw never leaves.
  /^heads: length, strict/,
  // After an exception that the process survives, Node's parser takes no further request of the connection.
  /^a handler that throws$/,
];

const MAJOR = Number.parseInt(process.versions.node, 10);
// From Node 26 on, chunks written in one turn are sent as one chunk; the stack sends them as they were written.
if (MAJOR >= 26) {
  KNOWN.push(/^writes: (?:one and the last|in all encodings|from a stream)/, /^early: trailers \(/);
  KNOWN.push(/^looks: (?:state before and after|overridden methods)/);
}

async function transcript(flags) {
  const env = { ...process.env, NODE_OPTIONS: '' };
  const run = promisify(execFile)(process.execPath, [...flags, TRANSCRIPT], {
    env,
    maxBuffer: BYTES,
  });
  return JSON.parse((await run).stdout);
}

const [plain, stack] = await Promise.all([transcript([]), transcript(['--import', REGISTER])]);

test("an application does the same as on Node's own code", () => {
  assert.ok(Object.keys(plain).length > 800);
  assert.deepEqual(Object.keys(stack), Object.keys(plain));
});

for (const [name, expected] of Object.entries(plain)) {
  if (KNOWN.some((known) => known.test(name))) continue;
  test(`an application has the same result as on Node: ${name}`, () =>
    assert.deepEqual(stack[name], expected));
}
