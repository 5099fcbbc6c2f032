// A printed range is at least as wide as throughput varies, and no wider than a prediction of use.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  coverVariation,
  limitInterval,
} from '#internal/explain/conclusion/prediction/prediction-range.js';

const ratio = ({ low, high }) => high / low;

test('a narrow range is widened to the variation of starts, with more above than below', () => {
  const { low, high } = coverVariation({ low: 990, high: 1010 }, 0.03);
  assert.ok(low <= 840 && high >= 1259 && ratio({ low, high }) <= 1.51, `${low} to ${high}`);
});

test('a range whose ends are further than a factor of 1.5 apart is widened a little at its upper end', () => {
  assert.deepEqual(coverVariation({ low: 100, high: 150 }, 0.03), { low: 100, high: 150 });
  assert.deepEqual(coverVariation({ low: 100, high: 1000 }, 0.03), { low: 100, high: 1080 });
});

test('a range in between ends at most a factor of 1.5 apart', () => {
  for (const width of [1.1, 1.2, 1.3, 1.4, 1.45]) {
    const range = coverVariation({ low: 100, high: 100 * width }, 0.03);
    assert.ok(ratio(range) <= 1.501 && ratio(range) >= 1.49, `${width}: ${ratio(range)}`);
    assert.ok(range.low <= 100 && range.high >= 100 * width);
  }
});

test('blocks that vary more make a range wider', () => {
  const { low, high } = coverVariation({ low: 1000, high: 1000 }, 0.4);
  assert.ok(low <= 601 && high >= 1399, `${low} to ${high}`);
});

test('the interval of few pairs is limited, and never promises a loss', () => {
  assert.deepEqual(limitInterval(2, 3), { low: 1.6, high: 2.4 });
  assert.deepEqual(limitInterval(1.1, 0.2), { low: 1, high: 1.3 });
});
