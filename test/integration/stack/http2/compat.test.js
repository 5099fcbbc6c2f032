// Servers of node:http2 with a listener for requests: on the stack, they and their clients see what they see on plain Node.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { both, differences } from '../../../fixtures/stack/comparison/run-both.js';

for (const protocol of ['h2c', 'h2']) {
  test(`requests and responses of node:http2 are those of plain Node: ${protocol}`, async () => {
    const seen = await both('http2/compat.js', {
      args: [protocol],
      env: { MILLRACE_HTTP2: 'on' },
    });
    assert.equal(differences(seen), '');
  });
}
