import type { BlockLength } from '../../target/block-length.js';
import type { ServerUnderTest } from '../../target/server-under-test.js';

/** Jobs that began in the thread pool, by kind. */
export interface PoolJobs {
  compression: number;
  cryptography: number;
  files: number;
  lookups: number;
}

const COUNT_MS = 700;
const LENGTH: BlockLength = { settleMs: 0, measureMs: COUNT_MS };

/** Names that `async_hooks` gives to the jobs of each kind; all others are cryptography. */
const KINDS: [kind: keyof PoolJobs, names: RegExp][] = [
  ['compression', /^ZLIB/],
  ['files', /^(FSREQ|FILEHANDLE)/],
  ['lookups', /^GET(ADDR|NAME)INFO/],
];

/** Counts the jobs of the server's thread pools under load; `null` without a probe that can. */
export async function countPoolJobs(subject: ServerUnderTest): Promise<PoolJobs | null> {
  const counting = subject.hub?.command('poolJobs', { ms: COUNT_MS }).catch(() => []);
  await subject.runBlock(LENGTH);
  const answers = (await counting) ?? [];
  return answers.length === 0 ? null : sumPoolJobs(answers);
}

/** Sums counts by the name of the resource to counts by kind. */
export function sumPoolJobs(counts: Record<string, number>[]): PoolJobs {
  const jobs: PoolJobs = { compression: 0, cryptography: 0, files: 0, lookups: 0 };
  for (const [name, count] of counts.flatMap((one) => Object.entries(one))) {
    const kind = KINDS.find(([, names]) => names.test(name))?.[0] ?? 'cryptography';
    jobs[kind] += count;
  }
  return jobs;
}
