import { usageError } from '../../errors/millrace-error.js';
import { parseCount, parseDuration, parseRate } from '../../validation/units.js';
import { DEFAULTS, LIMITS } from '../defaults.js';
import type { LoadOptions } from '../options.js';
import type { PlanSummary } from '../result.js';

/** The times at which requests are due, and the end of the run. */
export type Schedule = Pick<
  PlanSummary,
  | 'model'
  | 'rate'
  | 'arrivals'
  | 'stages'
  | 'maxPending'
  | 'durationMs'
  | 'requests'
  | 'warmupMs'
  | 'thinkTimeMs'
>;

/** Reads the schedule from the options; a rate or stages make the run open. */
export function readSchedule(options: LoadOptions): Schedule {
  const warmupMs = parseDuration(options.warmup ?? DEFAULTS.warmupMs, 'warmup');
  const requests =
    options.requests === undefined
      ? null
      : parseCount(options.requests, 'requests', LIMITS.requests);
  const model =
    options.rate !== undefined || options.stages ? readOpen(options) : readClosed(options);
  if (model.rate === 0 && warmupMs > 0) {
    throw usageError('warmup needs a rate (-R) to warm up at: the stages start from a rate of 0');
  }
  const stagesMs = model.stages.reduce((sum, { durationMs }) => sum + durationMs, 0);
  const connectionsMs = (options.connectionStages ?? []).reduce(
    (sum, { duration }, index) =>
      sum + parseDuration(duration, `connectionStages[${index}].duration`),
    0,
  );
  return {
    ...model,
    requests,
    warmupMs,
    durationMs: readDuration(options, stagesMs + connectionsMs, requests),
  };
}

/**
 * Counts the arrivals that are due within the first `ms` of an open run's measurement: the area under the rate.
 * The rate of the last stage continues after its end.
 */
export function countArrivals(
  { rate, stages }: Pick<Schedule, 'rate' | 'stages'>,
  ms: number,
): number {
  let from = rate ?? 0;
  let left = ms;
  let arrivals = 0;
  for (const { durationMs, rate: to } of stages) {
    const part = Math.min(durationMs, left);
    const reached = durationMs === 0 ? to : from + (to - from) * (part / durationMs);
    arrivals += (((from + reached) / 2) * part) / 1000;
    left -= part;
    from = to;
  }
  return arrivals + (from * left) / 1000;
}

type Model = Pick<
  Schedule,
  'model' | 'rate' | 'arrivals' | 'stages' | 'maxPending' | 'thinkTimeMs'
>;

function readOpen(options: LoadOptions): Model {
  const { arrivals = DEFAULTS.arrivals } = options;
  if (options.thinkTime !== undefined) {
    throw usageError('thinkTime cannot be combined with a rate: it is for closed runs');
  }
  const stages = (options.stages ?? []).map(({ duration, rate }, index) => ({
    durationMs: parseDuration(duration, `stages[${index}].duration`),
    rate: parseRate(rate, `stages[${index}].rate`, LIMITS.rate),
  }));
  const rate = parseRate(options.rate ?? 0, 'rate', LIMITS.rate);
  if (rate === 0 && stages.every((stage) => stage.rate === 0)) {
    throw usageError('rate must be above 0 (got 0)');
  }
  const maxPending = parseCount(
    options.maxPending ?? DEFAULTS.maxPending,
    'maxPending',
    LIMITS.maxPending,
  );
  return { model: 'open', rate, arrivals, stages, maxPending, thinkTimeMs: DEFAULTS.thinkTimeMs };
}

function readClosed(options: LoadOptions): Model {
  for (const option of ['arrivals', 'maxPending'] as const) {
    if (options[option] !== undefined) throw usageError(`${option} needs a rate or stages`);
  }
  const thinkTimeMs = parseDuration(options.thinkTime ?? DEFAULTS.thinkTimeMs, 'thinkTime');
  return { model: 'closed', rate: null, arrivals: null, stages: [], maxPending: null, thinkTimeMs };
}

function readDuration(
  { duration, warmup }: LoadOptions,
  stagesMs: number,
  requests: number | null,
): number | null {
  if (duration !== undefined) {
    const ms = parseDuration(duration, 'duration');
    if (ms === 0 && warmup !== undefined) {
      throw usageError(
        'duration must be above 0 (got 0): there is nothing to measure after the warm-up',
      );
    }
    return requirePositive(ms, 'duration');
  }
  if (stagesMs > 0) return stagesMs;
  return requests === null ? DEFAULTS.durationMs : null;
}

/** Refuses a time of 0. */
export function requirePositive(ms: number, name: string): number {
  if (ms > 0) return ms;
  throw usageError(`${name} must be above 0 (got 0)`);
}
