import type { LimitId } from '../limits/ids.js';
import type { LoopTimeBreakdown } from '../metrics/types.js';
import type { HotFunction } from '../result.js';
import type { BlockLength } from '../target/block-length.js';
import type { ServerUnderTest } from '../target/server-under-test.js';
import { analyseProfile, type CpuProfile, type ProfileView, topOutsideNode } from './analyze.js';

export const PROFILE_MS = 2000;
const PROFILED: BlockLength = { settleMs: 0, measureMs: PROFILE_MS };
/** What holds the loop so long is a block, as the probe has it; a profile sees a little less of it. */
const LONG_TASK_MS = 15;
/** Limits of the loop that one function may bring about. */
const ONE_TO_BLAME = new Set<LimitId>(['event-loop-sync-wait', 'degrades-over-time']);
const MOST_OF_IT = 0.3;

/** What the profiles of the loop say. */
export interface Profiles {
  /** The functions that cost most under the load as asked for. */
  hot: HotFunction[];
  /** `null`: there was no profile. */
  loopTime: LoopTimeBreakdown | null;
  /** The function that brings the limit about, if one does. */
  culprit: HotFunction | null;
}

/** Takes a profile under load, and where the limit shows better with less of it another one. */
export async function takeProfiles(subject: ServerUnderTest, limit: LimitId): Promise<Profiles> {
  const underLoad = await during(subject, () => subject.block(PROFILED));
  if (!underLoad) return { hot: [], loopTime: null, culprit: null };
  const { self: hot, files, printing, printingAtMost, writing, connecting } = underLoad;
  const gc = hot.find(({ name }) => name === '(garbage collector)')?.share ?? 0;
  const { culprit, background } = await culpritOf(subject, limit, underLoad);
  const logs = { logging: printing, maxLogging: printingAtMost };
  return { hot, loopTime: { gc, files, ...logs, writing, connecting, background }, culprit };
}

/** The function that brings a limit about, and the share of the busy time under load in what no request asks for. */
async function culpritOf(
  subject: ServerUnderTest,
  limit: LimitId,
  underLoad: ProfileView,
): Promise<{ culprit: HotFunction | null; background: number | null }> {
  if (limit === 'idle-work') {
    const atRest = await during(subject, () => subject.rest(PROFILE_MS));
    const [culprit = null] = atRest?.inclusive ?? [];
    return { culprit, background: computeBackgroundShare(atRest, underLoad) };
  }
  if (limit === 'event-loop-blocked') {
    // Flat out there is no rest between two tasks.
    const alone = await during(subject, () => subject.block(PROFILED, { oneAtATime: true }));
    const longest = alone?.longTasks[0];
    return {
      culprit: longest && longest.ms >= LONG_TASK_MS ? longest.within : null,
      background: null,
    };
  }
  const top = ONE_TO_BLAME.has(limit) ? topOutsideNode(underLoad.self) : undefined;
  const blamed = top && top.share >= MOST_OF_IT;
  return { culprit: blamed ? top : null, background: null };
}

/** A function is the whole of what runs at rest if it has nearly all of its time. */
const NEARLY_ALL = 0.9;

/** Under load, the share of what runs at rest: of the functions that are the whole of it the one with least, as requests may call the others. */
function computeBackgroundShare(atRest: ProfileView | null, underLoad: ProfileView): number | null {
  const [top] = atRest?.inclusive ?? [];
  if (!atRest || !top) return null;
  const whole = atRest.inclusive.filter(({ share }) => share >= NEARLY_ALL * top.share);
  const shares = whole.flatMap(
    ({ name, place }) =>
      underLoad.inclusive.find((it) => it.name === name && it.place === place)?.share ?? [],
  );
  // One of them alone may be a part of its caller by then.
  return shares.length === 0 ? 0 : Math.min(...shares);
}

/** The profile of the busiest process while something is done. */
async function during(
  { hub }: ServerUnderTest,
  work: () => Promise<unknown>,
): Promise<ProfileView | null> {
  const profile = hub?.command('profile', { ms: PROFILE_MS }).catch(() => []);
  await work();
  const views = ((await profile) ?? []).map((it) => analyseProfile(it as CpuProfile));
  return views.sort((a, b) => b.busyMs - a.busyMs)[0] ?? null;
}
