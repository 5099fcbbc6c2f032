import { count, plural, share, time } from '../../format/units.js';
import type { LoadResult, PlanSummary, Stalled } from '../result.js';
import type { Measured } from './measured.js';
import { countTried, isBelowRate } from './planned-rate.js';

type Plan = Omit<PlanSummary, 'addresses'>;

/** The smallest share of busy time at which the generator counts as the limit. */
export const MIN_BUSY = 0.9;
const MIN_STARVED = 0.2;

/** The share of a run from which on standing still makes its throughput that of the generator. */
const MIN_STALLED = 0.1;

/** Requests sent later than this are late, if it is a part of their latency that matters. */
const MIN_LATENESS_MS = 1;

/** A generator that did not run enough and was later than this was behind its schedule: it read responses late as well. */
const MIN_LATENESS_BEHIND_MS = 10;

/** The share of the latency from which on lateness is worth a note, and that from which on the latency is the generator's. */
const NOTED_SHARE = 0.1;
const BOUND_SHARE = 0.5;

/** Number of samples from which on a percentile of the latency supports a verdict. */
const MIN_SAMPLES = { p50: 20, p99: 100 } as const;

/** The beginning of the reason of a run whose hooks were the limit. */
export const BUSY_HOOKS = "the scenario's hooks";

/** The beginning of the reason of a run that had too few descriptors. */
export const FEW_FILES = 'the limit of open files';

/**
 * Finds why the generator was the limit, in words; empty if it was not. The rule of CLIENT-BOUND:
 *
 * - a connection was not opened for want of descriptors; or
 * - it did not run enough: the busiest worker was busy at least 90 % of the time, the most starved worker was ready and had
 *   no core at least 20 % of the time, it stood still at least 10 % of the time, or the hooks of scenarios kept their thread
 *   busy at least 90 % of the time. In an open run only if the rate was not reached, or requests were sent more than 10 ms
 *   late and this was at least a tenth of the latency; or
 * - requests that a schedule made due were sent more than 1 ms late and this was at least half of the latency, at the median
 *   or at p99.
 */
export function findClientBoundReasons(run: Measured, plan: Plan): string[] {
  const reasons = explainFewFiles(run, plan);
  const isOpen = plan.model === 'open';
  const isBehind = findLateness(run, NOTED_SHARE, MIN_LATENESS_BEHIND_MS) !== null;
  if (!isOpen || isBehind || isBelowRate(plan, run.durationMs, countTried(run))) {
    reasons.push(...findCauses(run, [MIN_BUSY, MIN_STARVED, MIN_STALLED]));
  }
  const late = findLateness(run, BOUND_SHARE, MIN_LATENESS_MS);
  if (late === null) return reasons;
  const { percentile, ms, ofMs } = late;
  // Lateness counts requests that have no latency yet, too.
  const ofAll = ms < ofMs ? `${time(ms)} of the` : 'all of the';
  const part = `requests were sent late: ${ofAll} ${percentile} of ${time(ofMs)} is lateness`;
  // The cause as far as it was measured, and is not among the reasons.
  const [cause] = reasons.length > 0 ? [] : findCauses(run, MIN_CAUSE);
  return [...reasons, cause === undefined ? part : `${part}, as ${cause}`];
}

/** Shares of time above which busy, starved and stalled threads explain lateness. */
const MIN_CAUSE = [0.5, 0.05, 0] as const;

/** Finds why the generator did not run when it should, by the shares of time from which on each cause counts. */
function findCauses(
  { generator: { busy, starved, stalled }, hooks = null, durationMs }: Measured,
  [minBusy, minStarved, minStalled]: readonly [number, number, number],
): string[] {
  const stalledMs = sumStalled(stalled);
  const hooksBusy = hooks === null || durationMs === 0 ? 0 : hooks.busyMs / durationMs;
  return [
    hooksBusy >= minBusy &&
      `${BUSY_HOOKS} kept JavaScript's thread busy ${share(Math.min(1, hooksBusy))} of the time (${plural(hooks?.calls ?? 0, 'call')} of ${time((hooks?.busyMs ?? 0) / Math.max(1, hooks?.calls ?? 0))} each)`,
    busy >= minBusy && `a thread of the generator was busy ${share(busy)} of the time`,
    starved !== null &&
      starved >= minStarved &&
      `a thread of the generator waited for a core ${share(starved)} of the time`,
    stalledMs > 0 &&
      stalledMs >= minStalled * durationMs &&
      `the generator stood still for ${time(stalledMs)}`,
  ].filter((cause) => cause !== false);
}

/** Sums up the times in which the generator stood still. */
export function sumStalled(stalled: Stalled | null): number {
  return stalled?.times.reduce((sum, { durationMs }) => sum + durationMs, 0) ?? 0;
}

function explainFewFiles({ errors, connections }: Measured, plan: Plan): string[] {
  if (!errors.some(({ kind }) => kind === 'fd-limit')) return [];
  const opened = `${count(connections.opened)} connections were opened of up to ${count(plan.connections)}`;
  return [`${FEW_FILES} was reached: ${opened}`];
}

/** Lateness at a percentile, and the latency that it is part of. */
interface Lateness {
  percentile: 'p50' | 'p99';
  ms: number;
  ofMs: number;
}

type Times = Pick<LoadResult, 'latencyMs'> & {
  generator: Pick<LoadResult['generator'], 'latenessMs'>;
};

/** Finds lateness of more than 1 ms that is worth a note; `null` if there is none. */
export function findNotedLateness(times: Times): Lateness | null {
  return findLateness(times, NOTED_SHARE, MIN_LATENESS_MS);
}

/** Finds the first percentile at which lateness is more than a time and at least a share of the latency. */
function findLateness(
  { generator, latencyMs }: Times,
  minShare: number,
  minMs: number,
): Lateness | null {
  for (const percentile of ['p50', 'p99'] as const) {
    const ms = generator.latenessMs?.[percentile] ?? 0;
    const ofMs = latencyMs[percentile] ?? 0;
    const isSupported = latencyMs.count >= MIN_SAMPLES[percentile];
    if (isSupported && ms > minMs && ms >= minShare * ofMs) {
      return { percentile, ms, ofMs };
    }
  }
  return null;
}
