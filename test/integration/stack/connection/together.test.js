// Responses of a turn leave together, on ports that are shared, too; and at once when something comes to depend on what has left.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { answer, SameTurn } from '../../../fixtures/stack/messages/same-turn.js';

// Where those who share a port meet.
process.env.MILLRACE_PORTS = mkdtempSync(join(tmpdir(), 'millrace-together-'));
after(() => rmSync(process.env.MILLRACE_PORTS, { recursive: true }));

/** What has left by then would have arrived. */
const ARRIVES_MS = 100;
/** So long after a handler has blocked the loop, responses are not kept for others. */
const MISTRUST_MS = 1000;

// First, as those that follow block the loop, after which nothing waits for a while.
test('responses that are ready are sent when limits are set', async () => {
  let outcome;
  const turn = await SameTurn.start([
    answer,
    (response, whether) => {
      turn.server.maxRequestsInFlight = 100;
      outcome = whether(0);
      answer(response);
    },
  ]);
  await turn.run();
  assert.notEqual(outcome, 'timed-out');
});

for (const [where, shared] of Object.entries({ 'a port': false, 'a port that is shared': true })) {
  test(`responses of a turn are sent together on ${where}`, async () => {
    let waited = 0;
    const turn = await SameTurn.start(
      [
        answer,
        (response, whether) => {
          if (whether(0, ARRIVES_MS) === 'timed-out') waited++;
          answer(response);
        },
      ],
      { shared },
    );
    // The process may be kept from its core in between, and turns may have been two; once, the client's may.
    for (let times = 0; times < 6 && waited < 2; times++) {
      await sleep(1.1 * MISTRUST_MS);
      await turn.run();
    }
    assert.equal(waited, 2);
  });
}
