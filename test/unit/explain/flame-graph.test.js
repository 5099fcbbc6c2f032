import { deepEqual, equal } from 'node:assert/strict';
import { test } from 'node:test';
import { FlameGraphBuilder } from '#internal/explain/flame-graph/builder.js';
import { computeTotals, findHeaviestPaths } from '#internal/explain/flame-graph/paths.js';

const frame = (name, origin = 'application') => ({ name, place: `${name}.js:1`, origin });
const [main, load, parse] = ['main', 'load', 'parse'].map((name) => frame(name));
const library = frame('library', 'dependency');

function build(paths) {
  const builder = new FlameGraphBuilder('ms');
  for (const [path, weight] of paths) builder.add(path, weight);
  return builder.build();
}

test('equal paths become one, and the heaviest comes first', () => {
  const graph = build([
    [[main, load], 1],
    [[main, parse], 5],
    [[main, load], 2],
    [[main], 1],
  ]);
  deepEqual(graph, {
    unit: 'ms',
    frames: [main, parse, load],
    parents: [-1, 0, 0],
    frameOf: [0, 1, 2],
    self: [1, 5, 3],
  });
  deepEqual(computeTotals(graph), [9, 5, 3]);
});

test('a graph has at most 10,000 nodes, and the same weight', () => {
  const leaves = Array.from({ length: 20_000 }, (_, index) => [[main, frame(`leaf${index}`)], 1]);
  const graph = build([...leaves, [[main, load], 2]]);
  equal(graph.parents.length, 10_000);
  deepEqual(graph.frames.slice(0, 2), [main, load]);
  equal(computeTotals(graph)[0], 20_002);
});

test('the heaviest paths are those of the application, with what they call', () => {
  const graph = build([
    [[frame('listen', 'node'), main, library, load], 3],
    [[main, library, load, library], 2],
    [[main, parse], 4],
    [[frame('(garbage collector)', 'garbage-collection')], 0.96],
    // Less than half a per cent is not listed.
    [[parse], 0.04],
  ]);
  deepEqual(findHeaviestPaths(graph), [
    { frames: [main, load], weight: 5, share: 0.5 },
    { frames: [main, parse], weight: 4, share: 0.4 },
  ]);
});
