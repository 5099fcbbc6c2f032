import type { LimitId } from '../limits/ids.js';
import type { LoopTimeBreakdown } from '../metrics/types.js';
import type { HotFunction } from '../result.js';
import type { BlockLength } from '../target/block-length.js';
import type { ServerUnderTest } from '../target/server-under-test.js';
import {
  analyseProfile,
  type CpuProfile,
  findTopOutsideNode,
  type ProfileView,
} from './analyze.js';

export const PROFILE_MS = 2000;
const PROFILE_LENGTH: BlockLength = { settleMs: 0, measureMs: PROFILE_MS };
/** What holds the loop so long is a block, as the probe has it; a profile sees a little less of it. */
const LONG_TASK_MS = 15;
/** Limits of the loop that one function may bring about. */
const SINGLE_FUNCTION_LIMITS = new Set<LimitId>(['event-loop-sync-wait', 'degrades-over-time']);
const MIN_ROOT_CAUSE_SHARE = 0.3;

/** What the profiles of the loop say. */
export interface Profiles {
  /** The functions that cost most under the load as asked for. */
  hotFunctions: HotFunction[];
  /** `null`: there was no profile. */
  loopTime: LoopTimeBreakdown | null;
  /** The function that brings the limit about, if one does. */
  rootCause: HotFunction | null;
}

/** Takes a profile under load, and where the limit shows better with less of it another one. */
export async function takeProfiles(subject: ServerUnderTest, limit: LimitId): Promise<Profiles> {
  const underLoad = await profileWhile(subject, () => subject.runBlock(PROFILE_LENGTH));
  if (!underLoad) return { hotFunctions: [], loopTime: null, rootCause: null };
  const { self: hotFunctions, files, printing, printingAtMost, writing, connecting } = underLoad;
  const gc = hotFunctions.find(({ name }) => name === '(garbage collector)')?.share ?? 0;
  const { rootCause, background } = await findRootCause(subject, limit, underLoad);
  const logs = { logging: printing, maxLogging: printingAtMost };
  return {
    hotFunctions,
    loopTime: { gc, files, ...logs, writing, connecting, background },
    rootCause,
  };
}

/** The function that brings a limit about, and the share of the busy time under load in what no request asks for. */
async function findRootCause(
  subject: ServerUnderTest,
  limit: LimitId,
  underLoad: ProfileView,
): Promise<{ rootCause: HotFunction | null; background: number | null }> {
  if (limit === 'idle-work') {
    const atRest = await profileWhile(subject, () => subject.waitIdle(PROFILE_MS));
    const [rootCause = null] = atRest?.inclusive ?? [];
    return { rootCause, background: computeBackgroundShare(atRest, underLoad) };
  }
  if (limit === 'event-loop-blocked') {
    // Flat out there is no rest between two tasks.
    const alone = await profileWhile(subject, () =>
      subject.runBlock(PROFILE_LENGTH, { oneAtATime: true }),
    );
    const longest = alone?.longTasks[0];
    return {
      rootCause: longest && longest.ms >= LONG_TASK_MS ? longest.mainFunction : null,
      background: null,
    };
  }
  const top = SINGLE_FUNCTION_LIMITS.has(limit) ? findTopOutsideNode(underLoad.self) : undefined;
  const blamed = top && top.share >= MIN_ROOT_CAUSE_SHARE;
  return { rootCause: blamed ? top : null, background: null };
}

/** A function is the whole of what runs at rest if it has nearly all of its time. */
const MIN_WHOLE_SHARE = 0.9;

/** Under load, the share of what runs at rest: of the functions that are the whole of it the one with least, as requests may call the others. */
function computeBackgroundShare(atRest: ProfileView | null, underLoad: ProfileView): number | null {
  const [top] = atRest?.inclusive ?? [];
  if (!atRest || !top) return null;
  const whole = atRest.inclusive.filter(({ share }) => share >= MIN_WHOLE_SHARE * top.share);
  const shares = whole.flatMap(
    ({ name, place }) =>
      underLoad.inclusive.find((it) => it.name === name && it.place === place)?.share ?? [],
  );
  // One of them alone may be a part of its caller by then.
  return shares.length === 0 ? 0 : Math.min(...shares);
}

/** The profile of the busiest process while something is done. */
async function profileWhile(
  { hub }: ServerUnderTest,
  work: () => Promise<unknown>,
): Promise<ProfileView | null> {
  const profile = hub?.command('profile', { ms: PROFILE_MS }).catch(() => []);
  await work();
  const views = ((await profile) ?? []).map((it) => analyseProfile(it as CpuProfile));
  return views.sort((a, b) => b.busyMs - a.busyMs)[0] ?? null;
}
