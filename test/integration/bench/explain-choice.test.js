import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { cases, notMade } from '../../../bench/explain/cases.js';
import { nameFolder, selectCases } from '../../../bench/explain/choice.js';

const foldersOf = (kind) =>
  readdirSync(new URL(`../../../bench/explain/services/${kind}`, import.meta.url), {
    withFileTypes: true,
  })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);
const services = foldersOf('blind');
const namesOf = (benches) => benches.map(({ name }) => name);

const bench = (...words) =>
  spawnSync(
    process.execPath,
    [fileURLToPath(new URL('../../../bench/run.js', import.meta.url)), 'explain', ...words],
    { encoding: 'utf8' },
  );

test('without a choice all cases are run', () => {
  assert.equal(selectCases({}), cases);
  assert.equal(nameFolder({}), 'explain');
});

test('cases are chosen by their whole names', () => {
  assert.deepEqual(namesOf(selectCases({ names: ['steady', 'timer'] })), ['steady', 'timer']);
  assert.throws(() => selectCases({ names: ['tim'] }), /^Error: --case tim: the cases are timer, /);
  assert.equal(nameFolder({ names: ['steady', 'timer'] }), 'explain-steady-timer');
  assert.equal(nameFolder({ names: ['a', 'b', 'c', 'd'] }), 'explain-4-cases');
});

test('the blind cases are those of the services in services/blind, and no others', () => {
  const blind = selectCases({ blind: true });
  assert.deepEqual(namesOf(blind).toSorted(), services.toSorted());
  for (const { name, service } of blind) assert.equal(service, `blind/${name}/server`);
  assert.deepEqual(
    cases.filter(({ service }) => service.startsWith('blind/')),
    blind,
  );
  assert.equal(nameFolder({ blind: true }), 'explain-blind');
});

test('each service of strangers and of graphs has a case', () => {
  for (const kind of ['strangers', 'graphs']) {
    const used = cases.filter(({ service }) => service.startsWith(`${kind}/`));
    assert.deepEqual(
      used.map(({ service }) => service.split('/')[1]).toSorted(),
      foldersOf(kind).toSorted(),
    );
  }
});

test('--blind chooses them on the command line', () => {
  const { stdout, stderr, status } = bench('--blind', '--list');
  assert.equal(status, 0, stderr);
  const listed = stdout.trim().split('\n').slice(0, -Object.keys(notMade).length);
  assert.deepEqual(listed.map((line) => line.split(' ')[0]).toSorted(), services.toSorted());
});

test('--blind and --case exclude each other', () => {
  const { stderr, status } = bench('--blind', '--case', 'timer', '--list');
  assert.deepEqual([stderr, status], ['bench: --blind: not with --case\n', 2]);
});
