// The CPU quota of a server.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { findQuotas, parseCpuStat } from '#internal/process/procfs/cgroup.js';
import {
  BUSY,
  cleanups,
  during,
  node,
  until,
  watch,
} from '../../fixtures/explain/observed-processes.js';

const skip = process.platform !== 'linux' && 'needs /proc';
const timeout = 180_000;

describe('a CPU quota', () => {
  function folder() {
    const path = mkdtempSync(join(tmpdir(), 'millrace cgroup-'));
    cleanups.push(() => rmSync(path, { recursive: true }));
    return path;
  }

  function files(path, contents) {
    mkdirSync(path, { recursive: true });
    for (const [name, text] of Object.entries(contents)) writeFileSync(join(path, name), text);
  }

  const mountLine = (root, mount, rest) =>
    `41 31 0:38 ${root} ${mount.replaceAll(' ', '\\040')} rw,relatime shared:9 - ${rest}\n`;

  test('a quota of version 2 applies from the cgroup up to the mounted root', () => {
    const mount = folder();
    files(join(mount, 'services/web'), { 'cpu.max': 'max 100000\n' });
    files(join(mount, 'services'), { 'cpu.max': '150000 100000\n' });
    files(mount, { 'cpu.max': '40000 20000\n' });
    files(join(mount, 'services/other'), { 'cpu.max': '1000 100000\n' });
    const mounts = `31 23 0:28 / /sys rw - sysfs sysfs rw\n${mountLine('/', mount, 'cgroup2 cgroup2 rw')}`;
    assert.deepEqual(findQuotas(mounts, '0::/services/web\n'), [
      { folder: join(mount, 'services'), cores: 1.5 },
      { folder: mount, cores: 2 },
    ]);
    assert.deepEqual(findQuotas(mounts, '0::/\n'), [{ folder: mount, cores: 2 }]);
    assert.deepEqual(findQuotas(mounts, '0::/../elsewhere\n'), []);
    assert.deepEqual(findQuotas(mounts, ''), []);
    assert.deepEqual(findQuotas('', '0::/services/web\n'), []);
  });

  test('a quota of version 1 is below the mounted root', () => {
    const mount = folder();
    files(join(mount, 'web'), { 'cpu.cfs_quota_us': '50000\n', 'cpu.cfs_period_us': '100000\n' });
    files(mount, { 'cpu.cfs_quota_us': '-1\n', 'cpu.cfs_period_us': '100000\n' });
    const mounts = [
      mountLine('/docker/1', mount, 'cgroup cgroup rw,cpu,cpuacct'),
      mountLine('/docker/1', '/nowhere', 'cgroup cgroup rw,cpuset'),
    ].join('');
    const found = [{ folder: join(mount, 'web'), cores: 0.5 }];
    assert.deepEqual(findQuotas(mounts, '4:memory:/x\n2:cpu,cpuacct:/docker/1/web\n0::/\n'), found);
    assert.deepEqual(findQuotas(mounts, '2:cpu,cpuacct:/docker/10/web\n'), []);
    assert.deepEqual(findQuotas(mounts, '2:cpuset:/docker/1/web\n'), []);
  });

  test('a quota of either version reports how often it stopped the server', () => {
    const version2 = 'usage_usec 5\nnr_periods 10\nnr_throttled 4\nthrottled_usec 120000\n';
    const version1 = 'nr_periods 10\nnr_throttled 4\nthrottled_time 120000000\n';
    const expected = { periods: 10, throttled: 4, throttledMs: 120 };
    assert.deepEqual(parseCpuStat(version2), expected);
    assert.deepEqual(parseCpuStat(version1), expected);
    assert.deepEqual(parseCpuStat('usage_usec 5\n'), { periods: 0, throttled: 0, throttledMs: 0 });
  });

  test('a quota shows where a busy server may run', { skip, timeout }, async (t) => {
    const cgroup = makeCgroup(0.2);
    if (cgroup === null) return t.skip('no cgroup can be made here');
    const child = await node(BUSY);
    writeFileSync(join(cgroup, 'cgroup.procs'), `${child.pid}`);
    const { quota, processes } = await during(watch(child.pid), () => sleep(1500));
    assert.equal(quota.cores, 0.2);
    assert.ok(quota.throttledPeriods > 0.3, `${quota.throttledPeriods}`);
    assert.ok(quota.throttledShare > 0.2, `${quota.throttledShare}`);
    assert.ok(processes[0].main.run < 0.4, `${processes[0].main.run}`);
  });

  /** A cgroup of the test's own with a quota, removed after it; `null` if that is not permitted. */
  function makeCgroup(cores) {
    const mounts = readFileSync('/proc/self/mountinfo', 'utf8');
    const version1 = /^\S+ \S+ \S+ \/ (\S+) .* - cgroup \S+ \S*\bcpu(,|$)/m.exec(mounts)?.[1];
    const version2 = /^\S+ \S+ \S+ \/ (\S+) .* - cgroup2 /m.exec(mounts)?.[1];
    for (const [mount, bounds] of [
      [version1, { 'cpu.cfs_period_us': 100_000, 'cpu.cfs_quota_us': cores * 100_000 }],
      [version2, { 'cpu.max': `${cores * 100_000} 100000` }],
    ]) {
      if (mount === undefined) continue;
      const path = join(mount, `millrace-test-${process.pid}`);
      try {
        mkdirSync(path);
        cleanups.push(() => until(() => removed(path)));
        for (const [name, value] of Object.entries(bounds))
          writeFileSync(join(path, name), `${value}`);
        return path;
      } catch {
        // Not permitted, or the controller is not there.
      }
    }
    return null;
  }

  function removed(path) {
    try {
      rmdirSync(path);
      return true;
    } catch ({ code }) {
      return code !== 'EBUSY';
    }
  }
});
