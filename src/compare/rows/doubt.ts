import { plural, share } from '../../format/units.js';
import type {
  AnsweredRequests,
  ComparedRun,
  ComparisonMetric,
  ComparisonSideName,
} from '../result.js';
import type { FigureEstimate } from './estimate.js';

/**
 * Maximum share of a side's runs in which the load generator was the limit, that do not have a figure, or have it of too
 * few responses. One disturbed run of ten does not move the verdict. More of them hide a difference: both sides then are as
 * fast as the generator, and a percentile of which only a bound is known is missing where latency is highest.
 */
const MAX_UNUSABLE_SHARE = 0.1;

/** Metrics that the load generator limits where it is the limit. CPU per request and memory are the server's alone. */
const LIMITED_BY_CLIENT: ReadonlySet<ComparisonMetric> = new Set(['throughput', 'p50Ms', 'p99Ms']);

/** Minimum number of responses of a run that support a figure: below it a percentile is one of the longest times. */
const MIN_RESPONSES: Record<ComparisonMetric, number> = {
  throughput: 10,
  p50Ms: 20,
  p99Ms: 100,
  cpuPerRequestUs: 10,
  memoryMb: 0,
};

/** Difference of the shares of failed requests from which on the sides do not do the same work. */
const MAX_FAILURE_DIFFERENCE = 0.01;

/** Share of failed requests from which on the figures of both sides are those of failures. */
const MAX_FAILED = 0.5;

/** What may speak against all rows. */
export interface GeneralDoubts {
  /** Servers that do different work are compared all the same. */
  allowDifference?: boolean;
  /** Why the comparison as a whole tells nothing; `null`: it may tell something. */
  doubt?: string | null;
}

/** A row, as far as doubts are about it. */
interface DoubtedRow {
  metric: ComparisonMetric;
  name: string | null;
  estimate: FigureEstimate;
}

/**
 * Says why a row tells nothing, however narrow its interval is: the sides did different work, the load generator was the
 * limit, or too few runs or responses support the figure. `null` if nothing speaks against it.
 */
export function describeDoubt(
  runs: readonly ComparedRun[],
  { metric, name, estimate }: DoubtedRow,
  { allowDifference = false, doubt = null }: GeneralDoubts,
): string | null {
  const failures = describeFailures(runs, null) ?? (name && describeFailures(runs, name));
  if (failures && !allowDifference) return failures;
  if (doubt !== null) return doubt;
  const bound = LIMITED_BY_CLIENT.has(metric) ? describeClientBound(runs) : null;
  return bound ?? describeMissing(estimate) ?? describeTooFew(runs, metric, name);
}

/**
 * Says that the requests of a name, or all (`null`), failed on one side more than on the other, or mostly on both; `null`
 * if they did not. A response that is an error may take less or more time than a success.
 */
export function describeFailures(runs: readonly ComparedRun[], name: string | null): string | null {
  const a = computeFailedShare(runs, 'a', name);
  const b = computeFailedShare(runs, 'b', name);
  const differ = Math.abs(a - b) > MAX_FAILURE_DIFFERENCE;
  if (!differ && Math.max(a, b) <= MAX_FAILED) return null;
  const percent = (share: number) => `${Number((share * 100).toFixed(1))} %`;
  const of = name === null ? '' : ` '${name}'`;
  return `${percent(a)} of the requests${of} failed on A, ${percent(b)} on B`;
}

/** Reports whether figures of this metric are of fewer responses than support one. */
export function isOfTooFew(
  runs: readonly ComparedRun[],
  { metric, name }: Pick<DoubtedRow, 'metric' | 'name'>,
): boolean {
  return describeTooFew(runs, metric, name) !== null;
}

function computeFailedShare(
  runs: readonly ComparedRun[],
  side: ComparisonSideName,
  name: string | null,
): number {
  const own = listRequests(runs, side, name);
  const failed = own.reduce((sum, requests) => sum + requests.failed, 0);
  const ended = own.reduce((sum, requests) => sum + requests.ended, 0);
  return ended === 0 ? 0 : failed / ended;
}

function listRequests(
  runs: readonly ComparedRun[],
  side: ComparisonSideName,
  name: string | null,
): AnsweredRequests[] {
  return runs.flatMap((run) => {
    if (run.side !== side) return [];
    return (name === null ? run : run.byName.find((one) => one.name === name))?.requests ?? [];
  });
}

/** Says in how many runs the load generator was the limit, where these are too many of a side; else `null`. */
function describeClientBound(runs: readonly ComparedRun[]): string | null {
  const isTooMany = (['a', 'b'] as const).some((side) => {
    const own = runs.filter((run) => run.side === side);
    const bound = own.filter(({ clientBound }) => clientBound);
    return bound.length > MAX_UNUSABLE_SHARE * own.length;
  });
  if (!isTooMany) return null;
  const bound = runs.filter(({ clientBound }) => clientBound).length;
  return `the load generator was the limit in ${bound} of ${plural(runs.length, 'run')}`;
}

function describeMissing({ a, b, missing }: FigureEstimate): string | null {
  if (a === null || b === null) return `no run of ${a === null ? 'A' : 'B'} has this figure`;
  const side = missing.a > missing.b ? 'a' : 'b';
  if (missing[side] <= MAX_UNUSABLE_SHARE) return null;
  return `${share(missing[side])} of the runs of ${side.toUpperCase()} do not have this figure`;
}

/** Says that too many runs of a side have too few responses for a figure; else `null`. */
function describeTooFew(
  runs: readonly ComparedRun[],
  metric: ComparisonMetric,
  name: string | null,
): string | null {
  const least = MIN_RESPONSES[metric];
  const counts = (['a', 'b'] as const).map((side) =>
    listRequests(runs, side, name).map(({ responses }) => responses),
  );
  const isTooFew = counts.some(
    (own) => own.filter((count) => count < least).length > MAX_UNUSABLE_SHARE * own.length,
  );
  if (!isTooFew) return null;
  const fewest = Math.min(...counts.flat());
  return `runs have as few as ${plural(fewest, 'response')}, and this figure takes ${least}`;
}
