import { execFile } from 'node:child_process';

const TIMEOUT_MS = 2000;

/**
 * Reads the limit of the accept queue of a listening port in this network namespace. `/proc` does not contain it (the
 * column is 0 for a listening socket), but `ss` of iproute2 reports it; `null` if it is not installed.
 */
export function readListenBacklog(port: number): Promise<number | null> {
  const args = ['-Hltn', `sport = :${port}`];
  return new Promise((resolve) => {
    execFile('ss', args, { timeout: TIMEOUT_MS }, (_error, output) => {
      // Columns: state, waiting, limit, addresses. Another program may have the same name.
      const bound = /^LISTEN +\d+ +(\d+) /m.exec(output)?.[1];
      resolve(bound === undefined ? null : Number(bound));
    }).unref();
  });
}
