import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countCircles, findProblems } from '../../../scripts/layers.js';

const problemsOf = (imports) => findProblems(imports).join('\n');

test('a layer may import the layers that the table names for it', () => {
  assert.equal(problemsOf([['explain/run', 'load/load']]), '');
  assert.equal(problemsOf([['native/addon', '../native/index']]), '');
});

test('an import that the table does not name is refused, as is one of a layer that it does not have', () => {
  assert.match(problemsOf([['load/load', 'explain/run']]), /src\/load\/load must not import/);
  assert.match(problemsOf([['http/index', 'process/signals']]), /must not import/);
  assert.match(problemsOf([['load/load', '../native/index']]), /must not import/);
  assert.match(problemsOf([['load/load', 'new/thing']]), /must not import/);
});

test('the command line may import the public API, and files of a list by their names', () => {
  const all = problemsOf([['cli/main', 'cli/help']]).matchAll(/does not import (\S+): remove it/g);
  const listed = [...all].map(([, file]) => ['cli/main', file]);
  assert.ok(listed.length > 0);
  assert.equal(problemsOf([...listed, ['cli/main', 'index'], ['cli/main', 'report/index']]), '');
  for (const file of [
    'load/load',
    'load/plan/plan',
    'report/load/markdown',
    'validation/pem',
    'client/index',
  ]) {
    const problem = `src/cli/main must not import src/${file}: see the order in scripts/layers.js`;
    assert.equal(problemsOf([...listed, ['cli/main', file]]), problem);
  }
  const [first, ...others] = listed;
  assert.equal(
    problemsOf(others),
    `scripts/layers.js: src/cli does not import ${first[1]}: remove it`,
  );
});

test('a room of the stack may import those below it alone', () => {
  assert.equal(problemsOf([['http/server/closing', 'http/reactor/native']]), '');
  assert.match(problemsOf([['http/reactor/native', 'http/server/closing']]), /must not import/);
  assert.match(problemsOf([['http/new/thing', 'http/node/node-http']]), /must not import/);
});

test('a circle of rooms is refused where no circle of files is', () => {
  const imports = [
    ['load/plan/a', 'load/engine/b'],
    ['load/engine/c', 'load/plan/d'],
  ];
  assert.equal(problemsOf(imports), 'circle of imports: load/plan -> load/engine -> load/plan');
});

test('a circle of files within a room is refused', () => {
  const imports = [
    ['load/plan/a', 'load/plan/b'],
    ['load/plan/b', 'load/plan/a'],
  ];
  assert.match(problemsOf(imports), /^circle of imports: load\/plan\/a -> load\/plan\/b/);
});

test('circles of files and of rooms are counted, once each', () => {
  const chain = [
    ['load/plan/a', 'load/plan/b'],
    ['load/plan/b', 'load/engine/c'],
  ];
  assert.deepEqual(countCircles(chain), [0, 0]);
  assert.deepEqual(countCircles([...chain, ['load/engine/c', 'load/plan/a']]), [1, 1]);
  assert.deepEqual(countCircles([...chain, ['load/engine/d', 'load/plan/a']]), [0, 1]);
  const others = [
    ['http/node/a', 'http/node/b'],
    ['http/node/b', 'http/node/a'],
  ];
  assert.deepEqual(countCircles([...chain, ['load/engine/c', 'load/plan/a'], ...others]), [2, 1]);
});
