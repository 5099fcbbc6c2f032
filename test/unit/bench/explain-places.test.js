import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { cases } from '../../../bench/explain/cases.js';
import { evaluatePlaces, matches, sumWeight } from '../../../bench/explain/places.js';

const frame = (name, place = '', origin = 'application') => ({ name, place, origin });
/** The handler calls `rank`, which calls itself, and a package, which calls `rank` too. */
const graph = {
  unit: 'ms',
  frames: [frame('handle', 'app/server.js:9'), frame('rank', 'app/rank.js:4'), frame('map', 'x:1')],
  parents: [-1, 0, 1, 0, 3],
  frameOf: [0, 1, 1, 2, 1],
  self: [10, 20, 30, 25, 15],
};
const cpu = (...where) => evaluatePlaces({ where: { cpu: where } }, { cpu: { graph } });

test('a place has the weight of what it calls, and of what is called again only once', () => {
  assert.equal(sumWeight(graph, 'rank'), 65);
  assert.equal(sumWeight(graph, 'handle'), 100);
  assert.equal(sumWeight(graph, 'nothing'), 0);
});

test('a share is within 5 points or it is not', () => {
  const [near, far, none] = cpu(
    { place: 'rank', share: 0.6 },
    { place: 'map', share: 0.46 },
    { place: 'nothing', share: 0.1 },
  );
  assert.deepEqual([near.found, near.within, Math.round(near.distance)], [0.65, true, 5]);
  assert.deepEqual([far.found, far.within, Math.round(far.distance)], [0.4, false, 6]);
  assert.deepEqual([none.found, none.within], [0, false]);
});

test('a place is a word of a name, a line, or a range of lines of a file', () => {
  assert.ok(matches(frame('async Pool.acquire'), 'acquire'));
  assert.ok(!matches(frame('acquireAll'), 'acquire'));
  const at = frame('', 'file:///srv/app/rank.js:14:3');
  assert.ok(matches(at, 'rank.js:14') && matches(at, 'app/rank.js:10-14'));
  assert.ok(!matches(at, 'rank.js:15') && !matches(at, 'rank.js:1-13'));
  assert.ok(!matches(at, 'ank.js:14'));
});

test('bytes are compared relative to those that are known', () => {
  const where = { allocations: { place: 'rank', bytes: 60 } };
  const [one] = evaluatePlaces({ where }, { allocations: { graph, growth: null } });
  assert.equal(one.found, 65);
  assert.ok(Math.abs(one.distance - 1 / 12) < 1e-12 && one.within);
});

test('growth is found if its retainer and its place are', () => {
  const visit = {
    name: 'Visit',
    objectsPerRequest: 1,
    bytesPerRequest: 4100,
    retainedBy: ['Map', 'VisitLog.visits', 'log'],
    allocatedAt: frame('add', 'app/server.js:12'),
  };
  const find = (where, growth) => evaluatePlaces({ where: { growth: where } }, growth)[0];
  const known = { place: 'server.js:12', retainer: 'visits', bytes: 4048 };
  assert.ok(find(known, { allocations: { growth: [visit] } }).within);
  assert.ok(!find({ ...known, retainer: 'log2' }, { allocations: { growth: [visit] } }).within);
  const anyBytes = { place: 'add', retainer: 'visits' };
  assert.ok(find(anyBytes, { allocations: { growth: [visit] } }).within);
  const lost = { ...visit, allocatedAt: null };
  assert.equal(find(anyBytes, { allocations: { growth: [lost] } }).found, 0);
});

test('without a graph, or an explanation, nothing is found', () => {
  const where = { waits: { place: 'lock', share: 0.6 }, growth: { place: 'a', retainer: 'b' } };
  for (const explanation of [null, {}, { allocations: { growth: null } }]) {
    const places = evaluatePlaces({ where }, explanation);
    assert.deepEqual(
      places.map(({ found, within }) => [found, within]),
      [
        [null, false],
        [null, false],
      ],
    );
  }
  assert.deepEqual(evaluatePlaces({}, null), []);
});

test('the places of the cases are in the code of their services', () => {
  const services = fileURLToPath(new URL('../../../bench/explain/services', import.meta.url));
  for (const { name, service, typescript, where = {} } of cases) {
    const folder = join(services, dirname(service), ...(typescript ? ['..', 'src'] : []));
    for (const { place } of Object.values(where).flat()) {
      const lines = /^(.+):(\d+)(?:-(\d+))?$/.exec(place);
      if (lines) {
        const [, file, from, to = from] = lines;
        assert.ok(existsSync(join(folder, file)), `${name}: ${place}`);
        const text = readFileSync(join(folder, file), 'utf8').split('\n');
        assert.ok(
          text.slice(Number(from) - 1, Number(to)).every((line) => line.trim() !== ''),
          `${name}: ${place}`,
        );
      } else {
        const text = readdirSync(folder).map((file) => readFileSync(join(folder, file), 'utf8'));
        assert.match(text.join(''), new RegExp(`\\b${place}\\b`), `${name}: ${place}`);
      }
    }
  }
});
