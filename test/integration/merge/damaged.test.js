// Results that are no results, are of another version, or are damaged: each is refused in a line, or merges.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { MillraceError, mergeResults } from 'millrace';
import { formatHtml, formatText } from 'millrace/report';
import { asShare, runMix, startCountingServer } from '../../fixtures/merge/runs.js';
import { Random } from '../../fixtures/random.js';
import { isFull } from '../../fixtures/size.js';

let server;
let run;

before(async () => {
  server = await startCountingServer();
  run = await runMix(server.url, { segment: '1/2', seed: 7, connections: 12, requests: 240 });
});

after(() => server.close());

function refuse(results, message) {
  assert.throws(
    () => mergeResults(results),
    (error) => {
      assert.ok(error instanceof MillraceError, String(error));
      assert.match(error.message, message);
      return true;
    },
  );
}

function changed(change) {
  const copy = structuredClone(run);
  change(copy);
  return copy;
}

describe('a merge refuses', { timeout: 30_000 }, () => {
  test('what is no result of a load', () => {
    refuse([], /at least one result/);
    refuse([null], /result 1 is not a result/);
    refuse([run, 'text'], /result 2 is not a result/);
    refuse([{}], /is not a result of millrace load/);
    refuse([changed((it) => (it.schemaVersion = 3))], /has schemaVersion 3/);
    refuse([changed((it) => delete it.series)], /is not a result of millrace load/);
  });

  test('results that were stored without sums', () => {
    refuse([changed((it) => delete it.histograms.lateness)], /an earlier version/);
    refuse([changed((it) => delete it.byName[0].sums)], /an earlier version/);
  });

  test('times that no clock shows, and starts that are not those of the generators', () => {
    const message = /a part of it is missing or damaged/;
    for (const time of [1e300, 8.7e15, -1, null, '0']) {
      refuse([changed((it) => (it.startedAtMs = time))], message);
    }
    const merged = mergeResults([run], { allowMissing: true });
    for (const time of [1e300, 0, undefined]) {
      const [generator] = merged.generators;
      refuse([{ ...merged, generators: [{ ...generator, startedAtMs: time }] }], message);
    }
    refuse([{ ...merged, generators: [] }], message);
  });

  test('histograms that are cut off, damaged, or not those of the figures', () => {
    const message = /a part of it is missing or damaged/;
    const { latency, latencyCensored } = run.histograms;
    refuse([changed((it) => (it.histograms.latency = latency.slice(0, -8)))], message);
    refuse([changed((it) => (it.histograms.latency = 'AAAA'))], message);
    refuse([changed((it) => (it.histograms.latency = latencyCensored))], message);
    refuse([changed((it) => (it.histograms.latencyCensored = latency))], message);
    refuse([changed((it) => (it.sums.latency = '1'))], message);
    refuse([changed((it) => (it.sums.latency = '-5e3'))], message);
    refuse([changed((it) => (it.latencyMs.min = 999))], message);
    refuse([changed((it) => (it.latencyMs.count += 1))], message);
    refuse([changed((it) => (it.requests.sent = -1))], message);
    refuse([changed((it) => (it.requests.sent = 2 ** 60))], message);
    refuse([changed((it) => (it.startedAtMs = '0'))], message);
    refuse([changed((it) => (it.windowMs = 70))], message);
  });
});

/** Lists the paths to all values of an object, of lists only those of the first items. */
function listPaths(value, path = []) {
  if (typeof value !== 'object' || value === null) return [path];
  const entries = Object.entries(value).slice(0, Array.isArray(value) ? 2 : 100);
  return [path, ...entries.flatMap(([key, item]) => listPaths(item, [...path, key]))];
}

const OTHERS = [null, undefined, -1, 1.5, 1e300, '', 'x', [], {}, [null], true];

test('any other value in a result is refused in a line, or merges', { timeout: 60_000 }, () => {
  const random = new Random(51);
  const other = asShare(run, 2, 2);
  const merged = mergeResults([other], { allowMissing: true });
  let refused = 0;
  for (const whole of [run, merged]) {
    const paths = listPaths(whole).filter(({ length }) => length > 0);
    for (const path of paths) {
      if (random.below(paths.length) > (isFull ? 300 : 15)) continue;
      const damaged = structuredClone(whole);
      const parent = path.slice(0, -1).reduce((value, key) => value[key], damaged);
      const value = random.one(OTHERS);
      parent[path.at(-1)] = value;
      const results = whole === run ? [damaged] : [damaged, run];
      try {
        const result = mergeResults(results, { allowMissing: true, allowDifference: true });
        formatText(result);
        formatHtml(result);
      } catch (error) {
        const at = `${path.join('.')} = ${JSON.stringify(value)}`;
        assert.ok(error instanceof MillraceError, `${at}: ${error.stack}`);
        assert.doesNotMatch(error.message, /\n/, at);
        refused += 1;
      }
    }
  }
  assert.ok(refused > 7, `${refused}`);
});
