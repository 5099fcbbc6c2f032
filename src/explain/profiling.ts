import type { LimitId } from './limits.js';
import { analyseProfile, type CpuProfile, type ProfileView } from './profile.js';
import type { HotFunction } from './result.js';
import type { BlockLength, Subject } from './subject.js';

export const PROFILE_MS = 2000;
const PROFILED: BlockLength = { settleMs: 0, measureMs: PROFILE_MS };
/** What holds the loop so long is a block, as the probe has it; a profile sees a little less of it. */
const LONG_TASK_MS = 15;
/** Limits of the loop that one function may bring about. */
const ONE_TO_BLAME = new Set<LimitId>(['event-loop-sync-wait', 'degrades-over-time']);
const MOST_OF_IT = 0.3;

/** What the profiles of the loop say. */
export interface Profiled {
  /** The functions that cost most under the load as asked for. */
  hot: HotFunction[];
  /** Share of the busy time in the garbage collector. */
  collecting: number;
  /** Share of the busy time in calls of `node:fs`. */
  files: number | null;
  /** The function that brings the limit about, if one does. */
  culprit: HotFunction | null;
}

/** Takes a profile under load, and where the limit shows better with less of it another one. */
export async function takeProfiles(subject: Subject, limit: LimitId): Promise<Profiled> {
  const underLoad = await during(subject, () => subject.block(PROFILED));
  const hot = underLoad?.self ?? [];
  const collecting = hot.find(({ name }) => name === '(garbage collector)')?.share ?? 0;
  const files = underLoad?.files ?? null;
  return { hot, collecting, files, culprit: await culpritOf(subject, limit, underLoad) };
}

async function culpritOf(
  subject: Subject,
  limit: LimitId,
  underLoad: ProfileView | null,
): Promise<HotFunction | null> {
  if (limit === 'idle-work') {
    const atRest = await during(subject, () => subject.rest(PROFILE_MS));
    return atRest?.inclusive[0] ?? null;
  }
  if (limit === 'event-loop-blocked') {
    // Flat out there is no rest between two tasks.
    const alone = await during(subject, () => subject.block(PROFILED, { alone: true }));
    const longest = alone?.longTasks[0];
    return longest && longest.ms >= LONG_TASK_MS ? longest.within : null;
  }
  const top = ONE_TO_BLAME.has(limit) ? underLoad?.self[0] : undefined;
  return top && top.share >= MOST_OF_IT && top.place !== '' ? top : null;
}

/** The profile of the busiest process while something is done. */
async function during({ hub }: Subject, work: () => Promise<unknown>): Promise<ProfileView | null> {
  const profile = hub?.command('profile', { ms: PROFILE_MS }).catch(() => []);
  await work();
  const views = ((await profile) ?? []).map((it) => analyseProfile(it as CpuProfile));
  return views.sort((a, b) => b.busyMs - a.busyMs)[0] ?? null;
}
