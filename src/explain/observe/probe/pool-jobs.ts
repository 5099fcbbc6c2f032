/** Jobs that began in the thread pool, by kind. */
export interface PoolJobs {
  compression: number;
  cryptography: number;
  files: number;
  lookups: number;
}

/** Names that `async_hooks` gives to the jobs of each kind; all others are cryptography. */
const KINDS: [kind: keyof PoolJobs, names: RegExp][] = [
  ['compression', /^ZLIB/],
  ['files', /^(FSREQ|FILEHANDLE)/],
  ['lookups', /^GET(ADDR|NAME)INFO/],
];

/** Sums counts by the name of the resource to counts by kind. */
export function sumPoolJobs(counts: Record<string, number>[]): PoolJobs {
  const jobs: PoolJobs = { compression: 0, cryptography: 0, files: 0, lookups: 0 };
  for (const [name, count] of counts.flatMap((one) => Object.entries(one))) {
    const kind = KINDS.find(([, names]) => names.test(name))?.[0] ?? 'cryptography';
    jobs[kind] += count;
  }
  return jobs;
}
