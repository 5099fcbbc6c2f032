import { type PoolJobs, sumPoolJobs } from '../observe/probe/pool-jobs.js';
import type { BlockLength } from '../target/block-length.js';
import type { ServerUnderTest } from '../target/server-under-test.js';

const COUNT_MS = 700;
const LENGTH: BlockLength = { settleMs: 0, measureMs: COUNT_MS };

/** Counts the jobs of the server's thread pools under load; `null` without a probe that can. */
export async function countPoolJobs(subject: ServerUnderTest): Promise<PoolJobs | null> {
  const counting = subject.hub?.command('poolJobs', { ms: COUNT_MS }).catch(() => []);
  await subject.runBlock(LENGTH);
  const answers = (await counting) ?? [];
  return answers.length === 0 ? null : sumPoolJobs(answers);
}
