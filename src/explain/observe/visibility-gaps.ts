import { existsSync } from 'node:fs';
import { networkFolder } from '../../process/discovery/namespace.js';
import type { Endpoint } from '../../process/discovery/types.js';
import { seesCgroups } from '../../process/procfs/cgroup.js';
import { countDescriptors, descriptorTargets } from '../../process/procfs/descriptors.js';
import { linkSpeeds } from '../../process/procfs/network-interfaces.js';
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
      linkSpeeds().size === 0
        ? ['how full the network is: no link of this machine tells its speed']
        : [];
    return [
      'threads, sockets and memory of the server: it is on another machine; run millrace there',
      ...link,
    ];
  }
  if (!hasProcfs) {
    return [`threads and sockets of the server: ${process.platform} does not tell; Linux does`];
  }
  if (pid === null) {
    return [
      "the server's process: its owner is not known, it may be another user's or in a container; give its --pid, run as its user, or as root",
    ];
  }
  if (readText(`/proc/${pid}/stat`) === null) return [`the server's process: ${pid} has ended`];
  return [...findProcessGaps(pid), ...findSystemGaps(pid, endpoint)];
}

const OTHER_USER = "it is another user's; run as that user, or as root";

function findProcessGaps(pid: number): string[] {
  const seen: [boolean, string][] = [
    [
      readText(`/proc/${pid}/environ`) !== null,
      'environment of the server (UV_THREADPOOL_SIZE, NODE_OPTIONS)',
    ],
    [descriptorTargets(pid) !== null, 'output and outgoing connections of the server'],
    [countDescriptors(pid) !== null, 'number of descriptors of the server'],
    [readText(`/proc/${pid}/task/${pid}/io`) !== null, 'calls of the server to read and write'],
  ];
  return seen.filter(([ok]) => !ok).map(([, what]) => `${what}: ${OTHER_USER}`);
}

function findSystemGaps(pid: number, endpoint: Endpoint | null): string[] {
  const seen: [boolean, string][] = [
    [hasSchedstat, 'waiting for a core: this kernel keeps no scheduling statistics'],
    [
      seesCgroups(pid),
      "a quota of CPU: the server's cgroup cannot be seen from here; run where it is mounted (outside the container)",
    ],
    [
      existsSync('/proc/pressure/io'),
      'pressure on the disk: this kernel does not tell (psi=1 at boot makes it)',
    ],
    [
      networkFolder(pid) === networkFolder(null),
      'how many connections may wait to be accepted: the server has a network of its own (a container); run there',
    ],
    [
      endpoint !== null,
      'bytes that wait in sockets: the kernel does not tell of Unix sockets; load a TCP port',
    ],
  ];
  return seen.filter(([ok]) => !ok).map(([, what]) => what);
}
