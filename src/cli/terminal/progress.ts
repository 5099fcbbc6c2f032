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
import { printMessage, showLine } from './print.js';

const REDRAW_MS = 200;

/** Shows the run's progress in one line on stderr until it ends; nothing if that is not a terminal. */
export async function showProgress(run: LoadRun): Promise<void> {
  if (!process.stderr.isTTY) return;
  let drawnAt = Number.NEGATIVE_INFINITY;
  try {
    for await (const snapshot of run) {
      if (performance.now() - drawnAt < REDRAW_MS) continue;
      drawnAt = performance.now();
      showLine(progressLine(snapshot));
    }
  } finally {
    showLine('');
  }
}

/**
 * Shows the progress of a run on several hosts in one line, if `isWanted` and stderr is a terminal, and names each host that
 * fails when it does.
 */
export async function showHostsProgress(run: HostsRun, isWanted: boolean): Promise<void> {
  const isShown = isWanted && process.stderr.isTTY === true;
  const named = new Set<string>();
  let drawnAt = Number.NEGATIVE_INFINITY;
  try {
    for await (const snapshot of run) {
      for (const { host, failure } of snapshot.hosts) {
        if (!failure || named.has(host)) continue;
        named.add(host);
        if (isShown) showLine('');
        printMessage(`${host}: ${failure.message}`);
      }
      if (!isShown || performance.now() - drawnAt < REDRAW_MS) continue;
      drawnAt = performance.now();
      showLine(hostsLine(snapshot));
    }
  } finally {
    if (isShown) showLine('');
  }
}

function hostsLine(snapshot: HostsSnapshot): string {
  const { hosts } = snapshot;
  const waiting = hosts.filter(({ phase }) => phase === 'connect');
  const all = plural(hosts.length, 'host');
  if (waiting.length > 0) {
    return `${all}  preparing ${waiting.map(({ host }) => host).join(', ')}`;
  }
  const behind = findBehind(hosts);
  return [
    `${plural(hosts.filter(({ phase }) => phase !== 'failed').length, 'host')}`,
    progressLine(snapshot),
    ...(behind === null ? [] : [`${behind} is behind`]),
  ].join('  ');
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
