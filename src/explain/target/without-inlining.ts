import type { ServerUnderTest } from './server-under-test.js';

/** Time of load in which V8 compiles the busiest functions again. */
const RECOMPILE_MS = 1000;
/** Time that inlining being off takes, without the work meanwhile. */
export const WITHOUT_INLINING_MS = RECOMPILE_MS + 200;
/** First major version of Node.js whose CPU profiles name functions that V8 has inlined. */
const FIRST_WITH_INLINED = 26;

/** Whether a CPU profile counts an inlined function for its caller in some process that serves. */
export function hidesInlined({ hub }: Pick<ServerUnderTest, 'hub'>): boolean {
  const serving = hub?.processes.filter(({ serving }) => serving) ?? [];
  return serving.some(({ nodeVersion }) => parseMajor(nodeVersion) < FIRST_WITH_INLINED);
}

function parseMajor(version: string): number {
  return Number(/^v(\d+)/.exec(version)?.[1]);
}

/**
 * Runs a function while V8 inlines no function in the processes that serve: samples then count for the function that runs
 * or allocates. Calls cost more meanwhile, and code is compiled again before and after it, so that throughputs before,
 * meanwhile and after cannot be compared.
 */
export async function withoutInlining<Result>(
  subject: ServerUnderTest,
  work: () => Promise<Result>,
): Promise<Result> {
  await setInlining(subject, false);
  try {
    await subject.runBlock({ settleMs: 0, measureMs: RECOMPILE_MS });
    return await work();
  } finally {
    await setInlining(subject, true);
  }
}

/** Switches inlining on or off. Samples are still worth something where it fails. */
export async function setInlining({ hub }: ServerUnderTest, on: boolean): Promise<void> {
  await hub?.command('inlining', { on }).catch(() => []);
}
