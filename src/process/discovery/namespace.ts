import { readlinkSync } from 'node:fs';

/**
 * Finds the folder with the network tables that a process sees: those of this process, unless the other process is
 * known to be in another namespace (a container).
 */
export function findNetworkFolder(pid: number | null): string {
  if (pid === null) return OWN;
  try {
    const [own, other] = ['self', pid].map((process) => readlinkSync(`/proc/${process}/ns/net`));
    return own === other ? OWN : `/proc/${pid}/net`;
  } catch {
    // Another user's process cannot be read; one that has ended has none.
    return OWN;
  }
}

const OWN = '/proc/self/net';
