import type {
  Distribution,
  GeneratorResult,
  LoadResult,
  LoadWindow,
  PlanShare,
  PlanSummary,
  Stalled,
} from '../load/result.js';
import { readInstant, readNumber } from './counts.js';

/** Most windows of a generator: the page shows it among others. */
const MAX_WINDOWS = 600;

/** Most times in which generators stood still, as in a run. */
const MAX_STALLS = 1000;

/** Returns the generators of a result: those of a merged one, or itself. Throws a RangeError if their times are damaged. */
export function listGenerators(result: LoadResult, name: string | null): GeneratorResult[] {
  const { generators } = result;
  if (generators === undefined) return [describeGenerator(result, name)];
  for (const { startedAtMs, durationMs } of generators) {
    readInstant(startedAtMs);
    readNumber(durationMs);
  }
  // The windows of the sum lie between the first start and the last end.
  if (findSpan(generators).first.startedAtMs === result.startedAtMs) return generators;
  throw new RangeError('its start is not that of its first generator');
}

function describeGenerator(result: LoadResult, name: string | null): GeneratorResult {
  const { plan, generator, latencyMs, metrics, server, machine, abortedBy, start } = result;
  const moments = Object.entries(metrics).map(
    ([metric, { count, sum, mean, stdev }]) => [metric, { count, sum, mean, stdev }] as const,
  );
  return {
    name,
    ...(plan.segment && { segment: plan.segment }),
    version: result.tool.version,
    share: describeShare(plan),
    seed: plan.seed,
    startedAt: result.startedAt,
    startedAtMs: readInstant(result.startedAtMs),
    durationMs: readNumber(result.durationMs),
    ...(start && { start }),
    interrupted: result.interrupted,
    ...(abortedBy !== undefined && { abortedBy }),
    requests: result.requests,
    throughput: { mean: readNumber(result.throughput.mean) },
    latencyMs: selectTimes(latencyMs),
    busy: generator.busy,
    starved: generator.starved,
    clientBound: generator.clientBound,
    reasons: generator.reasons,
    workers: generator.workers,
    stalled: generator.stalled,
    meanInFlight: readNumber(result.meanInFlight),
    ...(moments.length > 0 && { metrics: Object.fromEntries(moments) }),
    ...(server && { server: leaveOutSeries(server) }),
    ...(machine && { machine }),
    warnings: result.warnings,
    ...joinWindows(result),
  };
}

function selectTimes({
  p50,
  p99,
  max,
  atLeast,
  imprecise,
}: Distribution): GeneratorResult['latencyMs'] {
  return { p50, p99, max, atLeast, imprecise };
}

/** The part of a plan that shares divide. */
export function describeShare(plan: PlanSummary): PlanShare {
  return {
    connections: plan.connections,
    initialConnections: plan.initialConnections,
    connectionStages: plan.connectionStages,
    rate: plan.rate,
    stages: plan.stages,
    requests: plan.requests,
    maxPending: plan.maxPending,
    ...(plan.flows && { users: plan.flows.users }),
  };
}

function leaveOutSeries({
  series,
  ...server
}: NonNullable<LoadResult['server']>): NonNullable<GeneratorResult['server']> {
  return server;
}

function joinWindows({
  series,
  windowMs,
}: LoadResult): Pick<GeneratorResult, 'windowMs' | 'series'> {
  const joined = Math.max(1, Math.ceil(series.length / MAX_WINDOWS));
  const windows = Array.from({ length: Math.ceil(series.length / joined) }, (_, index) =>
    joinWindow(series.slice(index * joined, (index + 1) * joined), index * joined * windowMs),
  );
  return { windowMs: windowMs * joined, series: windows };
}

function joinWindow(windows: readonly LoadWindow[], tMs: number): LoadWindow {
  const highest = (values: (number | null)[]) => {
    const known = values.filter((value) => value !== null);
    return known.length === 0 ? null : Math.max(...known);
  };
  return {
    tMs,
    completed: windows.reduce((sum, { completed }) => sum + completed, 0),
    errors: windows.reduce((sum, { errors }) => sum + errors, 0),
    p50Ms: highest(windows.map(({ p50Ms }) => p50Ms)),
    p99Ms: highest(windows.map(({ p99Ms }) => p99Ms)),
  };
}

/** Compares generators by share, start and what else tells them apart: their order in a merged result. */
export function compareGenerators(one: GeneratorResult, other: GeneratorResult): number {
  return (
    (one.segment?.index ?? 0) - (other.segment?.index ?? 0) ||
    one.startedAtMs - other.startedAtMs ||
    one.durationMs - other.durationMs ||
    one.meanInFlight - other.meanInFlight ||
    compareText(one.name ?? '', other.name ?? '') ||
    compareText(JSON.stringify(one.requests), JSON.stringify(other.requests))
  );
}

function compareText(one: string, other: string): number {
  return one < other ? -1 : Number(one > other);
}

/** When the first of the runs began, and for how long there was one. */
export function findSpan(generators: readonly GeneratorResult[]): {
  first: GeneratorResult;
  durationMs: number;
} {
  const [any] = generators;
  if (!any) throw new RangeError('no generators');
  const first = generators.reduce((a, b) => (b.startedAtMs < a.startedAtMs ? b : a), any);
  const ends = generators.map(
    ({ startedAtMs, durationMs }) => startedAtMs - first.startedAtMs + durationMs,
  );
  return { first, durationMs: Math.max(...ends) };
}

/** Returns the generators with their windows as of the start of the merged measurement. */
export function alignSeries(
  generators: readonly GeneratorResult[],
  startedAtMs: number,
): GeneratorResult[] {
  return generators.map((generator) => {
    const { windowMs, series } = generator;
    const offsetMs = generator.startedAtMs - startedAtMs;
    const moved = series.map((window, index) => ({ ...window, tMs: offsetMs + index * windowMs }));
    return { ...generator, series: moved };
  });
}

/** Joins the times in which generators stood still; `null` if none did. */
export function joinStalls(
  generators: readonly GeneratorResult[],
  startedAtMs: number,
): Stalled | null {
  const stalled = generators.flatMap((generator) => generator.stalled ?? []);
  if (stalled.length === 0) return null;
  const times = generators.flatMap((generator) => {
    const offsetMs = generator.startedAtMs - startedAtMs;
    return (generator.stalled?.times ?? []).map(({ atMs, durationMs }) => ({
      atMs: atMs + offsetMs,
      durationMs,
    }));
  });
  times.sort((one, other) => one.atMs - other.atMs || one.durationMs - other.durationMs);
  const joined: Stalled['times'] = [];
  for (const { atMs, durationMs } of times) {
    const last = joined.at(-1);
    if (last && atMs <= last.atMs + last.durationMs) {
      last.durationMs = Math.max(last.durationMs, atMs + durationMs - last.atMs);
    } else joined.push({ atMs, durationMs });
  }
  return {
    times: joined.slice(0, MAX_STALLS),
    samples: stalled.reduce((sum, { samples }) => sum + samples, 0),
    maxMs: Math.max(...stalled.map(({ maxMs }) => maxMs)),
  };
}
