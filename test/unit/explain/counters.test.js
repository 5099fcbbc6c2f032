// Counters over time, and the kernel's tables that explain reads.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseCoreList } from '#internal/process/procfs/affinity.js';
import { parseCores, parseMachineCpu } from '#internal/process/procfs/machine-cpu.js';
import { parseColumn } from '#internal/process/procfs/tcp-counters.js';
import { Counter } from '#internal/statistics/counter.js';

/** Numbers in [0, 1), always the same. */
function generator(seed) {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

describe('a counter over time', () => {
  test('splits its growth at any time without losing any', () => {
    const random = generator(1);
    for (let round = 0; round < 200; round++) {
      const counter = new Counter();
      let [atMs, value] = [random() * 100, random() * 1000];
      const [firstMs, first] = [atMs, value];
      for (let count = Math.floor(random() * 20); count > 0; count--) {
        atMs += 0.01 + random() * 10;
        value += random() < 0.3 ? 0 : random() * 100;
        counter.add(atMs, value);
      }
      const times = [
        firstMs - 5,
        ...Array.from({ length: 6 }, () => firstMs + random() * (atMs - firstMs)),
        atMs + 5,
      ];
      times.sort((a, b) => a - b);
      const parts = times.slice(1).map((time, index) => counter.growth(times[index], time));
      assert.ok(parts.every((part) => part >= -1e-9));
      const whole = counter.growth(times[0], times.at(-1));
      assert.ok(Math.abs(parts.reduce((sum, part) => sum + part, 0) - whole) < 1e-6);
      assert.ok(whole <= value - first + 1e-9);
    }
  });

  test('grows evenly between readings, and may be reset', () => {
    const counter = new Counter();
    for (const [atMs, value] of [
      [100, 50],
      [200, 150],
      [300, 10],
      [400, 20],
    ])
      counter.add(atMs, value);
    assert.equal(counter.growth(0, 1000), 110);
    assert.equal(counter.growth(110, 160), 50);
    assert.equal(counter.growth(200, 300), 0);
    assert.equal(counter.growth(150, 350), 55);
    assert.equal(counter.growth(400, 500), 0);
    assert.equal(new Counter().growth(0, 1), 0);
  });
});

describe('parsers of kernel tables', () => {
  test('read lists of cores', () => {
    for (const [list, cores] of [
      ['0', [0]],
      ['0-3', [0, 1, 2, 3]],
      ['0-3,8', [0, 1, 2, 3, 8]],
      ['1,3,5-6', [1, 3, 5, 6]],
    ]) {
      assert.deepEqual(parseCoreList(list), cores, list);
    }
  });

  test('read the idle and stolen time of some of the cores', () => {
    const text = [
      'cpu  30 0 30 900 100 0 0 0 0 0',
      'cpu0 10 0 10 300 50 0 0 0 0 0',
      'cpu1 10 0 10 200 0 0 0 0 0 0',
      'cpu10 10 0 10 400 50 0 0 7 0 0',
      'intr 5',
    ].join('\n');
    const seconds = (ticks) => (parseMachineCpu(text).idle * ticks) / 1000;
    const idle = (...cores) => parseCores(text, new Set(cores)).idle;
    assert.equal(idle(0), seconds(350));
    assert.equal(idle(0, 10), seconds(800));
    assert.equal(idle(7), 0);
    assert.equal(parseCores(text, new Set([0, 10])).steal, seconds(7));
  });

  test('read counters by protocol and name', () => {
    const text = 'TcpExt: A ListenOverflows B\nTcpExt: 1 22 3\nIpExt: A C\nIpExt: 4 5\n';
    assert.equal(parseColumn(text, 'TcpExt', 'ListenOverflows'), 22);
    assert.equal(parseColumn(text, 'IpExt', 'A'), 4);
    assert.equal(parseColumn(text, 'IpExt', 'B'), null);
    assert.equal(parseColumn(text, 'Tcp', 'A'), null);
    assert.equal(parseColumn('', 'Tcp', 'A'), null);
  });
});
