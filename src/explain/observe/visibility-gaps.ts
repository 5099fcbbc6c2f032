import { existsSync } from 'node:fs';
import { findNetworkFolder } from '../../process/discovery/namespace.js';
import type { Endpoint } from '../../process/listening/types.js';
import { canSeeCgroups } from '../../process/procfs/cgroup.js';
import { countDescriptors, readDescriptorTargets } from '../../process/procfs/descriptors.js';
import { readLinkSpeeds } from '../../process/procfs/network-interfaces.js';
import { hasProcfs, readText } from '../../process/procfs/procfs.js';
import { hasSchedstat } from '../../process/procfs/thread-times.js';

/** Lists what cannot be observed of a server, why, and how to make it visible: a sentence each. */
export function findVisibilityGaps(
  pid: number | null,
  endpoint: Endpoint | null,
  sameHost: boolean,
): string[] {
  if (!sameHost) {
    const link =
      readLinkSpeeds().size === 0
        ? ['utilization of the network: no interface of this machine reports its speed']
        : [];
    return [
      'threads, sockets and memory of the server: it is on another machine; run millrace there',
      ...link,
    ];
  }
  if (!hasProcfs) {
    return [
      `threads and sockets of the server: ${process.platform} does not report them; run on Linux`,
    ];
  }
  if (pid === null) {
    return [
      "the server's process: unknown, it may belong to another user or run in a container; give its --pid, or run as its user or as root",
    ];
  }
  if (readText(`/proc/${pid}/stat`) === null) return [`the server's process: ${pid} has ended`];
  return [...findProcessGaps(pid), ...findSystemGaps(pid, endpoint)];
}

const OTHER_USER = 'it belongs to another user; run as that user or as root';

function findProcessGaps(pid: number): string[] {
  const checks: [boolean, string][] = [
    [
      readText(`/proc/${pid}/environ`) !== null,
      'environment of the server (UV_THREADPOOL_SIZE, NODE_OPTIONS)',
    ],
    [readDescriptorTargets(pid) !== null, 'output and outgoing connections of the server'],
    [countDescriptors(pid) !== null, 'open descriptors of the server'],
    [readText(`/proc/${pid}/task/${pid}/io`) !== null, 'read and write calls of the server'],
  ];
  return checks.filter(([ok]) => !ok).map(([, what]) => `${what}: ${OTHER_USER}`);
}

function findSystemGaps(pid: number, endpoint: Endpoint | null): string[] {
  const checks: [boolean, string][] = [
    [hasSchedstat, 'time that threads wait for a core: this kernel keeps no scheduling statistics'],
    [
      canSeeCgroups(pid),
      "CPU quota: the server's cgroup is not visible; run where it is mounted (outside the container)",
    ],
    [
      existsSync('/proc/pressure/io'),
      'disk pressure: this kernel does not report it (boot with psi=1)',
    ],
    [
      findNetworkFolder(pid) === findNetworkFolder(null),
      'limit of the accept queue: the server has its own network namespace (a container); run there',
    ],
    [
      endpoint !== null,
      'bytes waiting in sockets: the kernel does not report them for Unix sockets; load a TCP port',
    ],
  ];
  return checks.filter(([ok]) => !ok).map(([, what]) => what);
}
