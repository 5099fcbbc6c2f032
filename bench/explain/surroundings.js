// Restricts the machine of a case:
//   clientCores, serverCores   the cores of each, as taskset takes them (default all)
//   quota                      cores that the server may use on average, by a control group
//   neighbors, burstMs        number of other processes that never sleep, or only after bursts of up to burstMs
//   ports                      the first and last local port; each is in use for a minute after its connection
//   rate                       the rate of the loopback interface, in the syntax of tc
//   resolverMs                 the time that the resolver's name server takes for an answer
// `ports` and `rate` need a network namespace for the case, `resolverMs` a mount namespace.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { end, start } from '../harness/processes.js';

export const allCores = `0-${availableParallelism() - 1}`;
const neighbor = fileURLToPath(new URL('neighbor.js', import.meta.url));
const nameServer = fileURLToPath(new URL('name-server.js', import.meta.url));
const PERIOD_US = 100_000;

/** Describes what this machine lacks for the surroundings; `null` if nothing. */
export function findMissing({ quota, ports, rate, clientCores, resolverMs }) {
  if (resolverMs && !succeeds(wrapInResolver(['true']))) return 'no mounts of its own can be made';
  if (quota && findGroupFolder() === null) return 'no control group can be made';
  const own = ports || rate;
  if (own && !succeeds(wrapInNetwork({ ports, rate }, ['true']))) {
    return 'no network of its own can be made';
  }
  if (clientCores && availableParallelism() < 2) return 'one core only';
  return null;
}

/**
 * Sets the surroundings up. `client` and `server` return the command line that runs another one in them, `cores` are the cores
 * of the client, and `end()` removes the surroundings after both have ended.
 */
export function createSurroundings({
  clientCores,
  serverCores,
  quota,
  neighbors = 0,
  burstMs,
  ports,
  rate,
  resolverMs,
}) {
  const group = quota ? createGroup(quota) : null;
  const words = [process.execPath, neighbor, ...(burstMs ? [`${burstMs}`] : [])];
  const beside = Array.from({ length: neighbors }, () => start(words, allCores));
  if (resolverMs) beside.push(start([process.execPath, nameServer, `${resolverMs}`], allCores));
  return {
    cores: clientCores ?? allCores,
    client: (argv) => (ports || rate ? wrapInNetwork({ ports, rate }, argv) : argv),
    server: (argv) => {
      const pinned = clientCores ? ['taskset', '-c', serverCores, ...argv] : argv;
      if (resolverMs) return wrapInResolver(pinned);
      return group ? wrapInShell(`echo $$ > ${join(group, 'cgroup.procs')}`, pinned) : pinned;
    },
    async end() {
      for (const child of beside) end(child, 'SIGKILL');
      await Promise.all(beside.map(({ exited }) => exited));
      if (group) await removeGroup(group);
    },
  };
}

/** Builds the command line that runs `argv` with the resolver set to the name server of `resolverMs`. */
function wrapInResolver(argv) {
  const settings =
    'f=$(mktemp) && echo nameserver 127.0.0.9 > $f && mount --bind $f /etc/resolv.conf';
  return ['unshare', '--mount', ...wrapInShell(`${settings} && rm $f`, argv)];
}

/** Builds the command line of a shell that runs `script` and then becomes `argv`. */
export function wrapInShell(script, argv) {
  return ['sh', '-c', `${script} && exec "$@"`, 'sh', ...argv];
}

function wrapInNetwork({ ports, rate }, argv) {
  const settings = '/proc/sys/net/ipv4';
  const steps = [
    'ip link set lo up',
    ...(ports ? [`echo ${ports.join(' ')} > ${settings}/ip_local_port_range`] : []),
    // Otherwise such ports could be used again after a second on the loopback interface.
    ...(ports ? [`echo 0 > ${settings}/tcp_tw_reuse`] : []),
    // A segment on the loopback interface has up to 64 KiB.
    ...(rate ? [`tc qdisc add dev lo root tbf rate ${rate} burst 256kb latency 100ms`] : []),
  ];
  return ['unshare', '--net', ...wrapInShell(steps.join(' && '), argv)];
}

const succeeds = ([command, ...args]) => spawnSync(command, args, { stdio: 'ignore' }).status === 0;

/** Finds the folder in which CPU control groups of either version can be created; `null` if there is none. */
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

/** Removes a group, which is possible only after its last process has ended. */
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
