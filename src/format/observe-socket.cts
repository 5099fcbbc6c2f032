/** A process with `millrace/observe` listens at `millrace-UID/observe-PID.sock` in a folder for temporary files. */
const PATH = /\/millrace-\d+\/observe-(\d+)\.sock$/;

/** Formats the name of the folder, which only its user can enter. */
export function formatObserveFolder(uid: number): string {
  return `millrace-${uid}`;
}

/** Formats the name of the socket of a process, by its id in its own namespace. */
export function formatObserveSocket(pid: number): string {
  return `observe-${pid}.sock`;
}

/** Parses the path of such a socket to the id of its process; `null` for any other path. */
export function parseObserveSocket(path: string): number | null {
  const [, pid] = PATH.exec(path) ?? [];
  return pid === undefined ? null : Number(pid);
}
