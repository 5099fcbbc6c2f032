// Names that are longer than their column.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cutMiddle } from '#internal/report/text/cut-name.js';

test('names of machines are cut in the middle: they may differ at either end', () => {
  assert.equal(cutMiddle('load-0-x7k2p', 12), 'load-0-x7k2p');
  assert.equal(cutMiddle('millrace-20260302t093000-0-x7k2p', 18), 'millrace…0-0-x7k2p');
  assert.equal(cutMiddle('abcd', 2), '…d');
  assert.equal(cutMiddle('abcd', 1), '…');
  assert.equal(cutMiddle('a\nb', 3), 'a\u{fffd}b');
});
