// Who watches a server sees the same on Node's own and on the stack: events, channels, performance entries, contexts.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { REGISTER } from '../../../fixtures/stack/comparison/two-processes.js';

const file = (name) => fileURLToPath(new URL(`../../../fixtures/stack/${name}`, import.meta.url));

test('observers see the same events as with Node, in the same contexts', {
  timeout: 60_000,
}, async () => {
  const [plain, stack] = await onBoth('observers/observers.js');
  assert.ok(plain.events.length > 10 && plain.channels.length > 5 && plain.entries.length > 5);
  for (const kind of ['events', 'channels', 'entries', 'kinds', 'addresses']) {
    assert.deepEqual(stack[kind], plain[kind], kind);
  }
});

test('an exception is reported in the context of its request, and to its domain', {
  timeout: 60_000,
}, async () => {
  const [plain, stack] = await onBoth('observers/exceptions.js');
  assert.equal(plain.ofNone.handler, 'handler');
  assert.equal(plain.ofDomain.domain, 'caught');
  assert.deepEqual(stack, { ...plain, isNative: true });
});

test('a server that listens within a domain that is not left causes no warning', {
  timeout: 60_000,
}, async () => {
  const [plain, stack] = await onBoth('observers/entered-domain.js');
  assert.deepEqual(stack.heard, plain.heard);
});

test('a callback of a write is called in the context of the write', {
  timeout: 60_000,
}, async () => {
  const [plain, stack] = await onBoth('observers/write-contexts.js');
  assert.ok(plain.heard['/large'].length > 1);
  assert.deepEqual(stack.heard, plain.heard);
});

test('a connection is not read further if a listener of its request has thrown', {
  timeout: 60_000,
}, async () => {
  const [plain, stack] = await onBoth('observers/exceptions-while-parsing.js');
  assert.deepEqual(stack.found, plain.found);
});

/** What a program prints, with Node's own server and with the stack. */
async function onBoth(program) {
  const outputs = await Promise.all(
    [[], ['--import', REGISTER]].map(async (flags) => {
      const args = [...flags, file(program)];
      const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 30_000 });
      return JSON.parse(stdout);
    }),
  );
  assert.deepEqual(
    outputs.map(({ isNative }) => isNative),
    [false, true],
  );
  return outputs;
}
