import type { MachineUse, Metrics } from '../../metrics/types.js';
import type { OutsideView } from '../../observe/types.js';

/**
 * Whether the loop is ready to run but has no core for a good part of the time. Loops that mostly wait do not count.
 */
export function isStarved({ run, queued }: MachineUse['loop']): boolean {
  return queued > 0.15 && run + queued > 0.6;
}

/** Describes why cores are available, even if a quota keeps the server from them; `null` if none is. */
export function describeFreeCores({ base }: Metrics, idle: number): string | null {
  if (base.outside && isThrottled(base.outside)) {
    return 'the CPU quota keeps the server from a core';
  }
  return idle > 0.5 ? `${idle.toFixed(2)} cores are idle` : null;
}

/** Whether a quota stops the server in a good part of its periods. */
export function isThrottled({ quota }: OutsideView): boolean {
  return (
    quota !== null &&
    quota.throttledPeriods >= MIN_THROTTLED_PERIODS &&
    quota.throttledShare >= MIN_THROTTLED_SHARE
  );
}

/** Minimum shares of the periods and of the time in which a quota stops the server: brief stops are not a limit. */
const MIN_THROTTLED_PERIODS = 0.1;

const MIN_THROTTLED_SHARE = 0.05;

/** Predictions for a loop without a core, which serves no more requests when there are more. */
export const NO_CORE_PREDICTIONS = {
  'connections-x2': { low: 0.5, high: 1.35 },
  'connections-half': { low: 0.7, high: 1.5 },
  'second-process': { low: 0.5, high: 1.35 },
};
