import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { cpus, loadavg, release, totalmem, type } from 'node:os';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Describes what the results depend on besides the tools. */
export function describeMachine() {
  return {
    cpu: cpus()[0].model.trim(),
    cores: cpus().length,
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    kernel: `${type()} ${release()}`,
    governor: readGovernor(),
    node: process.version,
    loadAverage: loadavg()[0],
    commit: readCommit(),
  };
}

/** Names the machine by its processor, without details of its owner. */
export function nameMachine({ cpu, cores }) {
  const words = cpu.toLowerCase().replaceAll(/\(r\)|\(tm\)|processor|@.*/g, '');
  return `${words.replaceAll(/[^a-z0-9]+/g, '-').replaceAll(/^-|-$/g, '')}-${cores}-cores`;
}

function readGovernor() {
  try {
    return readFileSync('/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor', 'utf8').trim();
  } catch {
    return 'not visible';
  }
}

function readCommit() {
  const git = (...args) =>
    execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
  try {
    // Files written by earlier runs do not affect results.
    const status = git('status', '--porcelain', '--', '.', ':!bench/results');
    const changed = status.trim() ? ', with changes' : '';
    return `${git('rev-parse', '--short=12', 'HEAD').trim()}${changed}`;
  } catch {
    return 'none';
  }
}
