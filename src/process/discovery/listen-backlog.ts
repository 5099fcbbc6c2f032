import { execFile } from 'node:child_process';

const PATIENCE_MS = 2000;

/**
 * How many connections may wait on a listening port of this network namespace. The tables under `/proc` do not tell (the
 * column is 0 for a listening socket), iproute2's `ss` does; `null` where there is none.
 */
export function listenBacklog(port: number): Promise<number | null> {
  const args = ['-Hltn', `sport = :${port}`];
  return new Promise((resolve) => {
    execFile('ss', args, { timeout: PATIENCE_MS }, (_error, output) => {
      // Columns: state, waiting, bound, addresses. Not in every place there is a program of that name.
      const bound = /^LISTEN +\d+ +(\d+) /m.exec(output)?.[1];
      resolve(bound === undefined ? null : Number(bound));
    }).unref();
  });
}
