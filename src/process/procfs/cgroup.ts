import { existsSync } from 'node:fs';
import { posix } from 'node:path';
import { Counter } from '../../statistics/counter.js';
import { ProcFile } from './proc-file.js';
import { readText } from './procfs.js';

/** A cgroup with a CPU quota, which also applies to the cgroups below it. */
export interface Quota {
  folder: string;
  cores: number;
}

/** The quotas that apply to a process: of its cgroup and of those above it, as far as they are visible. */
export function readQuotas(pid: number): Quota[] {
  const mounts = readText('/proc/self/mountinfo');
  const membership = readText(`/proc/${pid}/cgroup`);
  return mounts === null || membership === null ? [] : findQuotas(mounts, membership);
}

/** Whether the cgroups that control a process's CPU are visible. */
export function canSeeCgroups(pid: number): boolean {
  const mounts = readText('/proc/self/mountinfo') ?? '';
  const membership = readText(`/proc/${pid}/cgroup`) ?? '';
  return findCpuFolders(mounts, membership).some((folder) => existsSync(folder));
}

/**
 * Finds the quotas that apply to a process.
 *
 * @param mounts text of `/proc/self/mountinfo`, see proc_pid_mountinfo(5)
 * @param membership text of `/proc/P/cgroup`, see cgroups(7)
 */
export function findQuotas(mounts: string, membership: string): Quota[] {
  return findCpuFolders(mounts, membership).flatMap((folder) => {
    const cores = readQuota(folder);
    return cores === null ? [] : [{ folder, cores }];
  });
}

/** Finds the folders of the cgroups that control a process's CPU, innermost first: of version 2, version 1 or both. */
function findCpuFolders(mounts: string, membership: string): string[] {
  const paths = parseMembership(membership);
  return mounts.split('\n').flatMap((line) => {
    const [place = '', fileSystem = ''] = line.split(' - ');
    const [, , , root = '', mount = ''] = place.split(' ').map(unescapeOctal);
    const [type, , options = ''] = fileSystem.split(' ');
    const isVersion1 = type === 'cgroup' && options.split(',').includes('cpu');
    if (type !== 'cgroup2' && !isVersion1) return [];
    const path = isVersion1 ? paths.version1 : paths.version2;
    const below = path === null ? null : toRelativePath(root, path);
    return below === null ? [] : listAncestors(mount, below);
  });
}

/** Parses lines `ID:CONTROLLERS:PATH`; version 2 has no controllers there. */
function parseMembership(text: string): { version1: string | null; version2: string | null } {
  const paths: ReturnType<typeof parseMembership> = { version1: null, version2: null };
  for (const line of text.split('\n')) {
    const [, controllers, path = ''] = /^\d+:([^:]*):(.*)$/.exec(line) ?? [];
    if (controllers === '') paths.version2 = path;
    else if (controllers?.split(',').includes('cpu')) paths.version1 = path;
  }
  return paths;
}

/** Returns a path relative to the mounted root; `null` if it lies outside, as for a process of another container. */
function toRelativePath(root: string, path: string): string | null {
  const below = posix.relative(root, path);
  return `${path}/${below}`.split('/').includes('..') ? null : below;
}

function listAncestors(mount: string, below: string): string[] {
  const names = below === '' ? [] : below.split('/');
  return [...names, ''].map((_, up) => posix.join(mount, ...names.slice(0, names.length - up)));
}

/** Decodes spaces and other characters, which are octal in this table. */
function unescapeOctal(field: string): string {
  return field.replace(/\\([0-7]{3})/g, (_, octal) =>
    String.fromCharCode(Number.parseInt(octal, 8)),
  );
}

/** Reads the quota in cores; `null` without one. */
function readQuota(folder: string): number | null {
  const version2 = readText(`${folder}/cpu.max`);
  const [quota, period] =
    version2?.split(' ') ??
    ['quota', 'period'].map((name) => readText(`${folder}/cpu.cfs_${name}_us`) ?? '');
  const cores = Number(quota) / Number(period);
  // Version 2 uses `max` for no quota, version 1 uses -1.
  return cores > 0 && Number.isFinite(cores) ? cores : null;
}

/** Effect of a process's quotas over some time. */
export interface QuotaUse {
  /** The smallest quota. */
  cores: number;
  /** Share of the periods with activity in which the cgroup was throttled. */
  throttledPeriods: number;
  /** Share of time in which the cgroup was throttled; at most 1, though each core is throttled on its own. */
  throttledShare: number;
}

/** The quotas of a process over time. They are looked up once. */
export class QuotaSampler {
  readonly #levels: {
    cores: number;
    file: ProcFile;
    periods: Counter;
    throttled: Counter;
    throttledMs: Counter;
  }[];

  constructor(pid: number) {
    this.#levels = readQuotas(pid).map(({ folder, cores }) => {
      const file = new ProcFile(`${folder}/cpu.stat`);
      return {
        cores,
        file,
        periods: new Counter(),
        throttled: new Counter(),
        throttledMs: new Counter(),
      };
    });
  }

  read(): void {
    for (const { file, periods, throttled, throttledMs } of this.#levels) {
      const text = file.read();
      if (text === null) continue;
      const atMs = performance.now();
      const use = parseCpuStat(text);
      periods.add(atMs, use.periods);
      throttled.add(atMs, use.throttled);
      throttledMs.add(atMs, use.throttledMs);
    }
  }

  /** Returns the usage of the most throttled cgroup; `null` without a quota. */
  use(fromMs: number, toMs: number): QuotaUse | null {
    if (this.#levels.length === 0) return null;
    const shares = this.#levels.map(({ periods, throttled, throttledMs }) => ({
      periods: throttled.growth(fromMs, toMs) / Math.max(1, periods.growth(fromMs, toMs)),
      time: throttledMs.growth(fromMs, toMs) / (toMs - fromMs),
    }));
    return {
      cores: Math.min(...this.#levels.map(({ cores }) => cores)),
      throttledPeriods: Math.min(1, Math.max(...shares.map(({ periods }) => periods))),
      throttledShare: Math.min(1, Math.max(...shares.map(({ time }) => time))),
    };
  }

  close(): void {
    for (const { file } of this.#levels) file.close();
  }
}

/** Parses `cpu.stat` of either version. */
export function parseCpuStat(text: string): {
  periods: number;
  throttled: number;
  throttledMs: number;
} {
  const value = (name: string) =>
    Number(new RegExp(`^${name} (\\d+)`, 'm').exec(text)?.[1] ?? Number.NaN);
  const throttledMs = value('throttled_usec') / 1000;
  return {
    periods: value('nr_periods') || 0,
    throttled: value('nr_throttled') || 0,
    throttledMs: (Number.isNaN(throttledMs) ? value('throttled_time') / 1e6 : throttledMs) || 0,
  };
}
