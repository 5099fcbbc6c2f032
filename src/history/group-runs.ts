import { findPlanDifference } from '../compare/differences/plan-difference.js';
import type { PlanSummary } from '../load/result.js';
import { estimateGeometricMean } from '../statistics/geometric-mean.js';
import type { StoredRun } from './read-runs.js';
import type { HistoryFigure, HistoryPlan, HistoryPoint, HistoryRun } from './result.js';

/** Groups runs by their load, and those of a load by commit. */
export function groupRuns(runs: readonly StoredRun[]): HistoryPlan[] {
  const byTime = runs.toSorted((a, b) => Date.parse(a.startedAt) - Date.parse(b.startedAt));
  const groups: StoredRun[][] = [];
  // The newest first, whose settings a group is known by.
  for (const run of byTime.toReversed()) {
    const group = groups.find(([newest]) => newest && isSameLoad(newest.plan, run.plan));
    if (group) group.push(run);
    else groups.push([run]);
  }
  return groups.flatMap((group) => {
    const [newest] = group;
    return newest ? buildPlan(newest, group.toReversed()) : [];
  });
}

/** Whether the results of two plans can be compared: the same load, as `compare` sees it, of the same server. */
function isSameLoad(a: PlanSummary, b: PlanSummary): boolean {
  return findPlanDifference(a, b) === null && nameServers(a) === nameServers(b);
}

/** Names the servers of a plan: by their command, otherwise by their hosts. Ports may differ. */
function nameServers({ command, targets }: PlanSummary): string {
  return JSON.stringify(command ?? targets.map(({ url }) => findHost(url)));
}

/** The host of a URL as it is shown in a plan, or the path of its Unix socket. */
function findHost(url: string): string {
  return /^(?:unix:([^:]*)|\w+:\/\/(\[[^\]]*\]|[^:/]*))/.exec(url)?.[0] ?? url;
}

function buildPlan({ plan, isOfIterations }: StoredRun, runs: readonly StoredRun[]): HistoryPlan {
  const points = new Map<string, StoredRun[]>();
  for (const run of runs) {
    // No commit is named like a file.
    const key = run.commit ?? `${run.file}\0`;
    points.set(key, [...(points.get(key) ?? []), run]);
  }
  return {
    plan,
    ...(isOfIterations && { counted: 'iterations' }),
    points: [...points.values()].flatMap((own) => buildPoint(own)),
  };
}

function buildPoint(all: readonly StoredRun[]): HistoryPoint[] {
  const [first] = all;
  if (!first) return [];
  const sound = all.filter(({ clientBound }) => !clientBound);
  const runs = sound.length > 0 ? sound : all;
  const throughput = estimateFigure(runs, 'throughput');
  if (throughput === null) return [];
  return [
    {
      commit: first.commit,
      startedAt: first.startedAt,
      throughput,
      p99Ms: estimateFigure(runs, 'p99Ms'),
      clientBound: sound.length === 0,
      runs: all.map(toHistoryRun),
    },
  ];
}

/** Estimates a figure of the runs of a point: several show how runs scatter, one only how it varied itself. */
function estimateFigure(
  runs: readonly StoredRun[],
  name: 'throughput' | 'p99Ms',
): HistoryFigure | null {
  const having = runs.filter((run) => run[name] !== null && run[name] > 0);
  const [first, second] = having;
  if (!first) return null;
  if (!second) return { value: first[name] ?? 0, interval: first.intervals[name] };
  const { value, low, high } = estimateGeometricMean(having.map((run) => run[name] ?? 0));
  return { value, interval: { low, high } };
}

function toHistoryRun({ file, startedAt, throughput, p99Ms, clientBound }: StoredRun): HistoryRun {
  return { file, startedAt, throughput, p99Ms, clientBound };
}
