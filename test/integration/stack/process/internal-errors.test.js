// Errors of the stack itself.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runOnStack } from '../../../fixtures/stack/comparison/run-both.js';

const OWN = { caught: 0, ended: true, warned: true };
const OF_APPLICATION = { caught: 1, ended: false, warned: false };

test('an error of the stack ends its connection alone, one of the application is uncaught', async () => {
  const seen = JSON.parse((await runOnStack('process/internal-errors.js')).stdout);
  for (const protocol of ['http', 'https']) {
    for (const name of ['broken request', 'broken request without an answer']) {
      assert.deepEqual(seen[`${protocol}: ${name}`], OWN, `${protocol}: ${name}`);
    }
    for (const name of [
      'a listener that throws',
      'a listener that is a function of the language',
      'a bound listener',
      'a handler that throws',
    ]) {
      assert.deepEqual(seen[`${protocol}: ${name}`], OF_APPLICATION, `${protocol}: ${name}`);
    }
    assert.equal(seen[`${protocol}: another connection`], true);
  }
});
