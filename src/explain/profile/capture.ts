import { setTimeout as sleep } from 'node:timers/promises';
import type { LimitId } from '../limit-ids.js';
import { LIMITS } from '../limits/limits.js';
import type { LoopTimeBreakdown } from '../metrics/types.js';
import type { ProbeHub } from '../observe/probe/hub.js';
import type { HotFunction } from '../result.js';
import type { BlockLength } from '../target/block-length.js';
import type { ServerUnderTest } from '../target/server-under-test.js';
import { analyzeProfile, findTopOutsideNode, type ProfileView } from './analyze.js';
import { type CpuProfile, computeBusyMs } from './call-tree.js';
import { buildCpuGraph, type CpuGraph } from './cpu-graph.js';

export const PROFILE_MS = 2000;
const PROFILE_LENGTH: BlockLength = { settleMs: 0, measureMs: PROFILE_MS };
/** Minimum length of a long task. The probe's threshold for a stall is 20 ms; a profile sees slightly less of it. */
const LONG_TASK_MS = 15; // Source: the probe: a stall is 20 ms or more
const MIN_ROOT_CAUSE_SHARE = 0.3;

/** The functions that a profile shows. */
export interface ProfiledFunctions {
  /** The most expensive functions under the configured load. */
  hotFunctions: HotFunction[];
  /** The most expensive call of the application, callees included; `null` if there is none. */
  dominantCall: HotFunction | null;
  /** The function that causes the limit, if there is one. */
  rootCause: HotFunction | null;
}

/** Results of the profiles of the loop. */
export interface Profiles extends ProfiledFunctions {
  /** `null` without a profile. */
  loopTime: LoopTimeBreakdown | null;
}

/** The profile of the busiest process. */
export interface ProcessProfile {
  pid: number;
  raw: CpuProfile;
}

/** CPU time of the busiest process. */
export interface ProcessCpu extends CpuGraph {
  pid: number;
}

/** Takes a profile under the configured load; `null` if the probe yields none. */
export function profileLoad(subject: ServerUnderTest): Promise<ProcessProfile | null> {
  return profileWhile(subject, () => subject.runBlock(PROFILE_LENGTH));
}

/** Builds the graph of the CPU time of a process. */
export function buildProcessCpu({ pid, raw }: ProcessProfile): ProcessCpu {
  return { pid, ...buildCpuGraph(raw) };
}

/** Reads what limits need from the profile under load, and takes a second one under less load if that shows the limit better. */
export async function deriveProfiles(
  subject: ServerUnderTest,
  limit: LimitId,
  { raw }: ProcessProfile,
): Promise<Profiles> {
  const underLoad = analyzeProfile(raw);
  const functions = findFunctions(limit, underLoad);
  const { rootCause = functions.rootCause, background = null } = await profileLessLoad(
    subject,
    limit,
    underLoad,
  );
  return { ...functions, rootCause, loopTime: toLoopTime(underLoad, background) };
}

/** Finds the functions that a profile under the configured load shows, for a limit. */
export function findFunctions(
  limit: LimitId,
  { self, dominantCall }: ProfileView,
): ProfiledFunctions {
  const isCause = LIMITS[limit].causingFunction === 'most expensive under load';
  const top = isCause ? findTopOutsideNode(self) : undefined;
  const isEnough = top && top.share >= MIN_ROOT_CAUSE_SHARE;
  return { hotFunctions: self, dominantCall, rootCause: isEnough ? top : null };
}

/**
 * Takes a profile under less load if that shows a limit better. Returns the function that causes the limit, and the share
 * of busy time under load that is not caused by requests.
 */
async function profileLessLoad(
  subject: ServerUnderTest,
  limit: LimitId,
  underLoad: ProfileView,
): Promise<{ rootCause?: HotFunction | null; background?: number | null }> {
  const { causingFunction } = LIMITS[limit];
  if (causingFunction === 'most expensive at rest') {
    const atRest = await viewWhile(subject, () => subject.waitIdle(PROFILE_MS));
    const [rootCause = null] = atRest?.inclusive ?? [];
    return { rootCause, background: computeBackgroundShare(atRest, underLoad) };
  }
  if (causingFunction === 'longest task') {
    // Under full load there is no idle time between two tasks.
    const alone = await viewWhile(subject, () =>
      subject.runBlock(PROFILE_LENGTH, { oneAtATime: true }),
    );
    const longest = alone?.longTasks[0];
    return { rootCause: longest && longest.ms >= LONG_TASK_MS ? longest.mainFunction : null };
  }
  return {};
}

/** Minimum share of the top function's time at which a function counts as all of the background work. */
const MIN_WHOLE_SHARE = 0.9;

/**
 * Computes the share under load of the functions that run at rest. Of those that make up all of it, the smallest share
 * counts: requests may call the others.
 */
function computeBackgroundShare(atRest: ProfileView | null, underLoad: ProfileView): number | null {
  const [top] = atRest?.inclusive ?? [];
  if (!atRest || !top) return null;
  const whole = atRest.inclusive.filter(({ share }) => share >= MIN_WHOLE_SHARE * top.share);
  const shares = whole.flatMap(
    ({ name, place }) =>
      underLoad.inclusive.find((it) => it.name === name && it.place === place)?.share ?? [],
  );
  // A single function may have been inlined into its caller.
  return shares.length === 0 ? 0 : Math.min(...shares);
}

/** Analyzes a profile that is taken while a function runs; `null` without one. */
async function viewWhile(
  subject: ServerUnderTest,
  work: () => Promise<unknown>,
): Promise<ProfileView | null> {
  const profile = await profileWhile(subject, work);
  return profile && analyzeProfile(profile.raw);
}

/** Takes a profile while a function runs, repeatedly if need be. Returns that of the busiest process; `null` without one. */
async function profileWhile(
  { hub }: ServerUnderTest,
  work: () => Promise<unknown>,
): Promise<ProcessProfile | null> {
  if (!hub) {
    await work();
    return null;
  }
  let hasAnswered = false;
  const answer = takeProfile(hub, PROFILE_MS).finally(() => {
    hasAnswered = true;
  });
  for (let count = 0; count < MAX_REPETITIONS && !hasAnswered; count++) {
    await work();
    await Promise.race([answer, sleep(ANSWER_MS, undefined, { ref: false })]);
  }
  return answer;
}

/** How often the work is done until the profile is there: in a large heap the profiler starts late. */
const MAX_REPETITIONS = 3;
/** Time in which the answer follows the end of a profile. */
const ANSWER_MS = 400;

/** Takes a profile of each process that serves. Returns that of the busiest one; `null` without one. */
export async function takeProfile(
  hub: Pick<ProbeHub, 'commandEach'>,
  ms: number,
): Promise<ProcessProfile | null> {
  const answers = await hub.commandEach('profile', { ms });
  const profiles = answers.map(({ pid, profile }) => {
    const raw = profile as CpuProfile;
    return { pid, raw, busyMs: computeBusyMs(raw) };
  });
  const [busiest] = profiles.sort((a, b) => b.busyMs - a.busyMs);
  return busiest ? { pid: busiest.pid, raw: busiest.raw } : null;
}

/** Breaks the loop's busy time down by what a profile shows. */
export function toLoopTime(view: ProfileView, background: number | null): LoopTimeBreakdown {
  const { self, files, printing, printingAtMost, writing, connecting } = view;
  const gc = self.find(({ name }) => name === '(garbage collector)')?.share ?? 0;
  const logs = { logging: printing, maxLogging: printingAtMost };
  return { gc, files, ...logs, writing, connecting, background };
}
