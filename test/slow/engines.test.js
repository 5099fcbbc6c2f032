// The comparison with other load testers, with those that are installed here.
import assert from 'node:assert';
import { tmpdir } from 'node:os';
import { test } from 'node:test';
import { createBench } from '#internal/lab/bench.js';
import { findProgram } from '#internal/lab/peers/find-peer.js';
import { PEERS } from '#internal/lab/peers/peers.js';
import { engines } from '#internal/lab/studies/engines.js';
import { hasProcfs } from '#internal/process/procfs/procfs.js';

const { signal } = new AbortController();
const noNginx = findProgram('nginx') === null;

test('a quick run compares the tools that are here and names the others', async () => {
  const cause = { limit: null, status: 'cannot-tell', sentence: '', arithmetic: [], remedy: null };
  const bench = {
    ...createBench(true, signal, () => {}),
    explain: async () => ({ ...cause, command: '' }),
  };
  const { tables, figures, claims, setup, missing } = await engines.repeat(bench);
  assert.equal(tables.length, noNginx ? 2 : 3);
  for (const { columns, rows } of tables) {
    for (const { cells } of rows) assert.equal(cells.length, columns.length);
    const cells = rows.find(({ name }) => name === 'millrace').cells.slice(1);
    const [said, counted, errors, , , cpuMs, perCore] = cells;
    assert(said > 100 && counted > 100, `${cells}`);
    assert.equal(errors, 0);
    if (hasProcfs) assert.equal(Math.round(cpuMs * perCore), 1000);
  }
  for (const { held, text } of claims) {
    assert([true, false, null].includes(held));
    assert.doesNotMatch(text, /NaN|undefined|Infinity/);
  }
  const counts = claims.find(({ text }) => text.startsWith('millrace agrees with'));
  assert.equal(counts.held, true, counts.text);
  assert.equal(figures.length, 2);
  const about = [...setup, ...missing, ...tables.flatMap(({ rows }) => rows.map((r) => r.name))];
  for (const { name } of PEERS)
    assert(
      about.some((line) => line.includes(name)),
      name,
    );
  assert(!JSON.stringify({ setup, missing }).includes(tmpdir()), 'no paths of this machine');
});
