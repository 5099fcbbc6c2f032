// The catalogue of limits: its entries against the detectors, as text, and as a reference page.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { EXPERIMENT_LABELS } from '#internal/explain/experiment-names.js';
import { LIMIT_IDS } from '#internal/explain/limit-ids.js';
import { evaluateHypotheses } from '#internal/explain/limits/evaluate.js';
import { LIMIT_GROUPS } from '#internal/explain/limits/limit.js';
import { LIMITS } from '#internal/explain/limits/limits.js';
import { formatCatalogue, formatEntry } from '#internal/report/explain/catalogue.js';
import { buildHealthyMetrics } from '../../fixtures/explain/metrics.js';

const entries = LIMIT_IDS.map((id) => ({ id, ...LIMITS[id].text }));

describe('catalogue', () => {
  test('every limit has an entry with its id, and no entry has an empty field', () => {
    assert.deepEqual(Object.keys(LIMITS).sort(), [...LIMIT_IDS].sort());
    for (const [id, limit] of Object.entries(LIMITS)) {
      assert.equal(limit.id, id);
      assert.ok(LIMIT_GROUPS.includes(limit.group), limit.group);
      for (const text of Object.values(limit.text)) assert.match(text, /^\S.*\S$/);
    }
    assert.equal(new Set(entries.map(({ title }) => title)).size, LIMIT_IDS.length);
  });

  test('the limits with a detector are exactly those that the catalogue says are detected', () => {
    const blocks = [1, 2, 3, 4, 5].map((n) => ({ requests: n * 1000, cpuMs: 0.3 }));
    const retained = { requests: 1000, beforeBytes: 1e6, afterBytes: 1e6 };
    const evaluation = evaluateHypotheses(buildHealthyMetrics(), {
      retained,
      costOverTime: blocks,
      secondProcess: null,
      afterRestart: null,
      exhausted: [],
    });
    const ids = [...evaluation.hypotheses, ...evaluation.ruledOut].map(({ limit }) => limit);
    const detected = entries.filter((entry) => entry.detected !== 'not detected yet');
    assert.deepEqual(ids.sort(), detected.map(({ id }) => id).sort());
  });

  test('a limit that is detected by experiment names one, and every quoted name is an experiment', () => {
    const known = new Set(Object.values(EXPERIMENT_LABELS));
    for (const { id, experiment, detected } of entries) {
      const named = [...experiment.matchAll(/'([^']+)'/g)].map(([, name]) => name);
      for (const name of named) assert.ok(known.has(name), `${id}: ${name}`);
      if (detected === 'by experiment') assert.ok(named.length > 0, id);
      else assert.match(experiment, /^(None|'memory after collection')/, id);
    }
  });

  test('a limit that is not detected yet states the reason', () => {
    const undetected = entries.filter(({ detected }) => detected === 'not detected yet');
    for (const { id, note } of undetected) assert.ok(note, id);
  });
});

describe('text', () => {
  const longest = (text) => Math.max(...text.split('\n').map((line) => line.length));

  test('the list contains every limit once, by group, in 80 columns', () => {
    const text = formatCatalogue();
    const listed = [...text.matchAll(/^ {2}(\S+) {2,}(.+)$/gm)].map(([, id, title]) => [id, title]);
    assert.deepEqual(
      listed,
      LIMIT_GROUPS.flatMap((group) =>
        entries.filter(({ id }) => LIMITS[id].group === group).map(({ id, title }) => [id, title]),
      ),
    );
    assert.equal(text.match(/^\S.*$/gm).length, LIMIT_GROUPS.length + 1);
    assert.ok(longest(text) <= 80);
  });

  for (const entry of entries) {
    test(`the text of ${entry.id} contains every field, in 80 columns`, () => {
      const text = formatEntry(entry.id);
      assert.ok(longest(text) <= 80, text);
      const flat = text.replace(/\s+/g, ' ');
      for (const value of Object.values(entry)) assert.ok(flat.includes(value), value);
    });
  }

  test('an unknown limit is a usage error that names the nearest limit and the list of all', () => {
    assert.throws(() => formatEntry('nagel-delayd-ack'), {
      code: 'ERR_MILLRACE_USAGE',
      message:
        "--why: unknown limit 'nagel-delayd-ack'; did you mean nagle-delayed-ack? --list prints all",
    });
    assert.throws(() => formatEntry('toString'), {
      message: "--why: unknown limit 'toString'; --list prints all",
    });
  });
});

test('the guide tells every limit apart from others', () => {
  const page = new URL('../../../docs/guide/limits-apart.md', import.meta.url);
  const guide = readFileSync(page, 'utf8');
  const told = new Set(
    [...guide.matchAll(/^\| `([a-z-]+)`[^|]*\| [^|]+ \| [^|]+ \|$/gm)].map(([, id]) => id),
  );
  assert.deepEqual([...told].sort(), [...LIMIT_IDS].sort());
});
