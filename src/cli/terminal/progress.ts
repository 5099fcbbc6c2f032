import { count, duration, plural, rate, time } from '../../format/units.js';
import type {
  CapacityProgress,
  ExplainProgress,
  HostState,
  HostsRun,
  HostsSnapshot,
  LoadRun,
  LoadSnapshot,
} from '../../index.js';
import { showLine } from './print.js';

const REDRAW_MS = 200;

/** Shows the run's progress in one line on stderr until it ends; nothing if that is not a terminal. */
export function showProgress(run: LoadRun): Promise<void> {
  return showLines(run, progressLine);
}

async function showLines<Snapshot>(
  run: AsyncIterable<Snapshot>,
  format: (snapshot: Snapshot) => string,
): Promise<void> {
  if (!process.stderr.isTTY) return;
  let drawnAt = Number.NEGATIVE_INFINITY;
  try {
    for await (const snapshot of run) {
      if (performance.now() - drawnAt < REDRAW_MS) continue;
      drawnAt = performance.now();
      showLine(format(snapshot));
    }
  } finally {
    showLine('');
  }
}

/** Shows the progress of a run on several hosts in the same way. */
export function showHostsProgress(run: HostsRun): Promise<void> {
  return showLines(run, hostsLine);
}

function hostsLine(snapshot: HostsSnapshot): string {
  const { hosts } = snapshot;
  const preparing = namesIn(hosts, 'connect');
  if (preparing !== null) return `${plural(hosts.length, 'host')}  preparing ${preparing}`;
  const [failed, behind] = [namesIn(hosts, 'failed'), findBehind(hosts)];
  return [
    plural(hosts.filter(({ phase }) => phase !== 'failed').length, 'host'),
    progressLine(snapshot),
    ...(failed === null ? [] : [`failed: ${failed}`]),
    ...(behind === null ? [] : [`behind: ${behind}`]),
  ].join('  ');
}

function namesIn(hosts: readonly HostState[], phase: HostState['phase']): string | null {
  const found = hosts.filter((state) => state.phase === phase);
  return found.length === 0 ? null : found.map(({ host }) => host).join(', ');
}

/** The share of the median of all hosts below which one is behind. */
const BEHIND = 0.8;

/** Finds the host that has done much less than the others. */
function findBehind(hosts: readonly HostState[]): string | null {
  const running = hosts.filter(({ phase }) => phase !== 'failed');
  const sorted = running.toSorted((one, other) => one.completed - other.completed);
  const median = sorted[Math.floor(sorted.length / 2)]?.completed ?? 0;
  const [last] = sorted;
  return last && last.completed < BEHIND * median ? last.host : null;
}

/** A step of a run that takes many, as the progress line shows it. */
export type Step = ExplainProgress | CapacityProgress;

/**
 * Shows the steps of a run in one line on stderr, if that is a terminal, until the run ends. Resolves with its result.
 */
export async function showSteps<Progress, Result>(
  run: AsyncIterable<Progress> & PromiseLike<Result>,
  isWanted: boolean,
  toStep: (progress: Progress) => Step,
): Promise<Result> {
  const isShown = isWanted && process.stderr.isTTY === true;
  try {
    for await (const progress of run) {
      if (!isShown) continue;
      const { step, elapsedMs, budgetMs } = toStep(progress);
      const line = `${Math.round(elapsedMs / 1000)} of ${Math.round(budgetMs / 1000)} s  ${step}`;
      showLine(line);
    }
    return await run;
  } finally {
    if (isShown) showLine('');
  }
}

function progressLine(snapshot: LoadSnapshot): string {
  const { phase, elapsedMs, completed, throughput, p50Ms, p99Ms, inFlight, errors } = snapshot;
  const elapsed = duration(Math.round(elapsedMs / 100) * 100) || '0 s';
  if (phase === 'wait') return `waiting  starts in ${elapsed}`;
  if (phase === 'setup') return `connecting  ${elapsed}`;
  if (phase === 'warmup') return `warm-up  ${elapsed}  ${plural(completed, 'request')}`;
  if (snapshot.iterations) return iterationLine(elapsed, snapshot, snapshot.iterations);
  return [
    `measuring  ${elapsed}`,
    `${rate(throughput)} req/s`,
    `p50 ${time(p50Ms)}`,
    `p99 ${time(p99Ms)}`,
    `${count(inFlight)} in flight`,
    ...(errors > 0 ? [`${count(errors)} errors`] : []),
  ].join('  ');
}

/** The line of a run of scenarios. */
function iterationLine(
  elapsed: string,
  { throughput, p99Ms }: LoadSnapshot,
  iterations: NonNullable<LoadSnapshot['iterations']>,
): string {
  const { inProgress, failed, notStarted } = iterations;
  return [
    `measuring  ${elapsed}`,
    plural(inProgress, 'user'),
    `${rate(iterations.rate)} iterations/s`,
    `${rate(throughput)} req/s`,
    ...(failed > 0 ? [`${count(failed)} failed`] : []),
    ...(notStarted > 0 ? [`${count(notStarted)} not started`] : []),
    `p99 ${time(p99Ms)}`,
  ].join('  ');
}
