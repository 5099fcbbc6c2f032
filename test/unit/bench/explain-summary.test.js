import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatResultTable, formatSummary } from '../../../bench/explain/summary.js';

/** A trial whose prediction was off by `error`, while the machine's host took a share of the CPU time; `null`: not measured. */
const trial = (error, inAll) => ({
  judged: { outcome: 'right', prediction: { error, within: error < 0.2 } },
  doctor: { category: 'io', fits: true },
  ...(inAll !== null && { stolen: { explaining: inAll, inAll } }),
});

test('predictions are also counted without the trials in which the host took cores', () => {
  const trials = [trial(0.5, 0.4), trial(0.3, 0.03), trial(0.1, 0.02)];
  const lines = formatSummary([{ trials }]);
  assert.ok(
    lines.includes('- predictions: 3 compared, median error 30 %, 33 % within the predicted range'),
  );
  assert.ok(
    lines.includes(
      "- the machine's host took 3 % or more (up to 40 %) of the CPU time in 2 of 3 trials; of the others 1 of 1 right",
    ),
  );
  assert.ok(
    lines.includes(
      '- predictions in the others: 1 compared, median error 10 %, 100 % within the predicted range',
    ),
  );
});

test('there is one line of predictions if nothing was taken or nothing was measured', () => {
  const lines = formatSummary([{ trials: [trial(0.1, 0), trial(0.1, null)] }]);
  assert.equal(lines.filter((line) => line.includes('predictions')).length, 1);
});

test('changes of the service itself are reported in the same way for both sides', () => {
  const trials = [0.8, 1.1, 1].map((drift) => {
    const one = trial(0.1, 0);
    Object.assign(one.judged.prediction, { drift });
    return one;
  });
  const [line] = formatSummary([{ trials }]).filter((text) => text.includes('meanwhile'));
  assert.match(line, /changed by 10 % in the median, 25 % at most/);
});

test('places are shown with what is known of them, and counted', () => {
  const place = (found, distance) => ({
    ...{ graph: 'waits', place: 'lock', expected: 0.6, relative: false },
    ...{ found, distance, within: distance !== null && distance <= 5 },
  });
  const bytes = {
    ...{ graph: 'allocations', place: 'a.js:3', expected: 1024, relative: true },
    ...{ found: 1126.4, distance: 0.1, within: true },
  };
  const verdict = { alsoLimiting: [] };
  const trials = [place(0.62, 2), place(0.68, 8), place(null, null)].map((one) => ({
    judged: { outcome: 'right', prediction: null },
    ...{ places: [one, bytes], explanation: { verdict }, seconds: 1 },
  }));
  const bench = { name: 'lock', expected: ['serialized'] };
  const row = formatResultTable([{ bench, trials }]).at(-1);
  assert.match(row, /waits of lock: 65 % of 60 % \(5 points\); allocations of a\.js:3: 1.126 of/);
  assert.ok(
    formatSummary([{ bench, trials }]).includes(
      '- places: 6 known, 5 in a graph that was drawn, 4 within 5 points or 10 % of bytes, shares 5 points off',
    ),
  );
});
