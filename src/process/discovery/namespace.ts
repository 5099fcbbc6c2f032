import { readlinkSync } from 'node:fs';

/** The folder with the network tables that a process sees: those of this process, unless it is known to see others (a container). */
export function networkFolder(pid: number | null): string {
  if (pid === null) return OWN;
  try {
    const [own, other] = ['self', pid].map((process) => readlinkSync(`/proc/${process}/ns/net`));
    return own === other ? OWN : `/proc/${pid}/net`;
  } catch {
    // Another user's process does not tell; one that ended has none.
    return OWN;
  }
}

const OWN = '/proc/self/net';
