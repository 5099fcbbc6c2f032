// Synchronous writes and flushes are a limit of their own, told from ageing by two restarts.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { decideVerdict } from '#internal/explain/conclusion/verdict.js';
import { EXPERIMENTS } from '#internal/explain/experiments/definitions.js';
import { buildAsideEnvironment } from '#internal/explain/target/files-aside.js';
import { evaluate } from '../../../fixtures/explain/evaluation.js';

/** A busy loop, 400 requests per second. */
const write = (files, waiting = 0) =>
  evaluate('synchronous-writes', (metrics) => {
    metrics.throughput = 400;
    const busy = { busy: 0.98, run: 0.98 - waiting, waiting, busyMs: 2.45, cpuMs: 2.45 };
    Object.assign(metrics.loop, busy);
    Object.assign(metrics.base.inside.files, files);
  });

describe('synchronous writes', () => {
  test('that take most of the loop’s time are its cause, with their number and size', () => {
    const { hypothesis } = write({ writes: 400, bytes: 4e7, share: 0.6 });
    assert.equal(hypothesis.causeOf, 'event-loop-cpu');
    assert.match(hypothesis.sentence, /1\.0 writes of 100 kB per request take 61 %/);
    assert.match(hypothesis.remedy.change, /append what is new/);
    const { low, high } = hypothesis.remedy.predictedThroughput;
    assert.ok(low < 1000 && 1000 < high, `${low} to ${high}`);
  });

  test('of a whole state are predicted to take what puts it together with them', () => {
    const gain = (bytes) =>
      write({ writes: 400, bytes, share: 0.85 }).hypothesis.remedy.predictedThroughput.high / 400;
    assert.ok(gain(4e7) > 2 * gain(4e4), `${gain(4e7)} ${gain(4e4)}`);
  });

  test('that wait for the disk are the cause of a loop that waits', () => {
    const { hypothesis } = write({ writes: 400, flushes: 400, bytes: 4e4, share: 0.9 }, 0.8);
    assert.equal(hypothesis.causeOf, 'event-loop-sync-wait');
    assert.match(hypothesis.sentence, /1\.0 writes of 100 B and 1\.0 flushes \(fsync\)/);
    assert.match(hypothesis.remedy.change, /group commit/);
  });

  test('are ruled out if they take little time, or no request makes them', () => {
    assert.match(write({ writes: 400, share: 0.05 }).why, /take 5\.1 % of the loop/);
    assert.notEqual(write({ writes: 4, share: 0.6 }).why, undefined);
  });

  test('are told from ageing by a restart with the files and one without', () => {
    const { hypothesis } = write({ writes: 400, bytes: 4e7, share: 0.6 });
    const loop = { limit: 'event-loop-cpu', weight: 1, predictions: {} };
    const ages = { restart: { low: 0.1, high: 0.7 } };
    const ageing = { limit: 'degrades-over-time', weight: 0.95, predictions: ages };
    const all = [loop, hypothesis, { ...ageing, causeOf: 'event-loop-cpu' }];
    const decide = (kept, gone) =>
      decideVerdict(
        { model: 'closed' },
        all,
        [
          compare('restart', 'cpu-per-response', kept),
          compare('file-writes-in-memory', 'throughput', gone),
        ],
        0.03,
      );
    const written = decide(1.02, 2.2);
    assert.deepEqual([written.chosen, written.status], [hypothesis, 'confirmed']);
    const aged = decide(0.3, 1);
    assert.deepEqual([aged.chosen.limit, aged.status], ['degrades-over-time', 'confirmed']);
  });
});

function compare(name, metric, ratio) {
  const measured = { ratio, low: ratio * 0.97, high: ratio * 1.03, pairs: 3 };
  return { name, metric, change: '', predicted: {}, otherwise: 1, measured, excludes: [] };
}

test('files are set aside only for a server that was started and writes some', () => {
  const aside = EXPERIMENTS.find(({ name }) => name === 'file-writes-in-memory');
  const setting = { hasProbe: true, canRestart: true };
  assert.equal(aside.findObstacle(setting, { writtenFiles: ['/a'] }), null);
  assert.match(aside.findObstacle(setting, { writtenFiles: [] }), /opened no file/);
  assert.match(
    aside.findObstacle({ ...setting, canRestart: false }, { writtenFiles: ['/a'] }),
    /start/,
  );
  const { files } = JSON.parse(buildAsideEnvironment(['/a', '/b']).MILLRACE_PROBE_ASIDE);
  assert.deepEqual(files, ['/a', '/b']);
});
