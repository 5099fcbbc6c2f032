// What is special about the machine of a case:
//   clientCores, serverCores   the cores of each, as taskset takes them (default all)
//   quota                      cores that the server may use on average, by a control group
//   neighbours, burstMs        so many processes beside that never sleep, or only after bursts of up to burstMs
//   ports                      the local ports there are, first and last, each taken for a minute after use
//   rate                       of the loopback, as tc takes it
// The last two take a network of the case's own.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { end, start } from '../processes.js';

export const allCores = `0-${availableParallelism() - 1}`;
const neighbour = fileURLToPath(new URL('neighbour.js', import.meta.url));
const PERIOD_US = 100_000;

/** What this machine lacks for the surroundings, in words, or `null`. */
export function findMissing({ quota, ports, rate, clientCores }) {
  if (quota && findGroupFolder() === null) return 'no control group can be made';
  const own = ports || rate;
  if (own && !succeeds(wrapInNetwork({ ports, rate }, ['true']))) {
    return 'no network of its own can be made';
  }
  if (clientCores && availableParallelism() < 2) return 'one core only';
  return null;
}

/**
 * Sets the surroundings up: `client` and `server` give the command line that runs another one in them, `cores` is where
 * the client belongs, and `end()` takes them down when both are gone.
 */
export function createSurroundings({
  clientCores,
  serverCores,
  quota,
  neighbours = 0,
  burstMs,
  ports,
  rate,
}) {
  const group = quota ? createGroup(quota) : null;
  const words = [process.execPath, neighbour, ...(burstMs ? [`${burstMs}`] : [])];
  const beside = Array.from({ length: neighbours }, () => start(words, allCores));
  return {
    cores: clientCores ?? allCores,
    client: (argv) => (ports || rate ? wrapInNetwork({ ports, rate }, argv) : argv),
    server: (argv) => {
      const pinned = clientCores ? ['taskset', '-c', serverCores, ...argv] : argv;
      return group ? wrapInShell(`echo $$ > ${join(group, 'cgroup.procs')}`, pinned) : pinned;
    },
    async end() {
      for (const child of beside) end(child, 'SIGKILL');
      await Promise.all(beside.map(({ exited }) => exited));
      if (group) await removeGroup(group);
    },
  };
}

/** The command line of a shell that becomes `argv` after `script`. */
export function wrapInShell(script, argv) {
  return ['sh', '-c', `${script} && exec "$@"`, 'sh', ...argv];
}

function wrapInNetwork({ ports, rate }, argv) {
  const settings = '/proc/sys/net/ipv4';
  const steps = [
    'ip link set lo up',
    ...(ports ? [`echo ${ports.join(' ')} > ${settings}/ip_local_port_range`] : []),
    // On loopback such ports could else be used again after a second.
    ...(ports ? [`echo 0 > ${settings}/tcp_tw_reuse`] : []),
    // A segment on loopback is up to 64 KiB.
    ...(rate ? [`tc qdisc add dev lo root tbf rate ${rate} burst 256kb latency 100ms`] : []),
  ];
  return ['unshare', '--net', ...wrapInShell(steps.join(' && '), argv)];
}

const succeeds = ([command, ...args]) => spawnSync(command, args, { stdio: 'ignore' }).status === 0;

/** Where control groups for CPU can be made, of either version; `null` if nowhere. */
function findGroupFolder() {
  const folders = ['/sys/fs/cgroup', '/sys/fs/cgroup/cpu'];
  return (
    folders.find((folder) => {
      const group = join(folder, `millrace-bench-${process.pid}-try`);
      try {
        mkdirSync(group);
        const there =
          existsSync(join(group, 'cpu.max')) || existsSync(join(group, 'cpu.cfs_quota_us'));
        rmdirSync(group);
        return there;
      } catch {
        return false;
      }
    }) ?? null
  );
}

function createGroup(quota) {
  const group = join(findGroupFolder(), `millrace-bench-${process.pid}`);
  mkdirSync(group);
  const us = Math.round(quota * PERIOD_US);
  const first = existsSync(join(group, 'cpu.max'));
  if (first) writeFileSync(join(group, 'cpu.max'), `${us} ${PERIOD_US}`);
  else writeFileSync(join(group, 'cpu.cfs_quota_us'), `${us}`);
  return group;
}

/** A group can only be removed when its last process is gone. */
async function removeGroup(group) {
  for (let attempt = 0; attempt < 50; attempt++) {
    try {
      rmdirSync(group);
      return;
    } catch {
      await delay(100);
    }
  }
}
