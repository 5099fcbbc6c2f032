// Peers that reset their connection with what they have sent last: all of that is heard, and then the error, as with Node.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { both, differences } from '../../../fixtures/stack/comparison/run-both.js';

test('whatever came before a reset is heard before it, as with Node', {
  timeout: 60_000,
}, async () => {
  const { plain, stack } = await both('connection/resets.js');
  for (const [name, hits] of Object.entries(stack.hits)) assert.ok(hits > 0, `a hit: ${name}`);
  for (const seen of [plain, stack]) {
    Object.assign(seen, seen.stored);
    for (const part of ['stored', 'hits']) delete seen[part];
  }
  for (const seen of Object.values(plain)) seen.connection = withReset(seen.connection);
  assert.equal(differences({ plain, stack }), '');
});

/**
 * The reset that Node would tell of, had the system not told it to what Node's TLS sends of its own accord, close_notify and
 * tickets: it takes what is read then for an end. The stack tells of the reset; see "What differs".
 */
function withReset(told) {
  const end = told.indexOf('end');
  return end < 0 ? told : [...told.slice(0, end), 'error ECONNRESET', 'close true'];
}
