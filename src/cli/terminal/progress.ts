import { count, duration, plural, rate, time } from '../../format/units.js';
import type { CapacityProgress, ExplainProgress, LoadRun, Snapshot } from '../../index.js';

const REDRAW_MS = 200;
const CLEAR_LINE = '\r\x1b[K';

/** Shows the run's progress in one line on stderr until it ends; nothing if that is not a terminal. */
export async function showProgress(run: LoadRun): Promise<void> {
  const { stderr } = process;
  if (!stderr.isTTY) return;
  let drawnAt = Number.NEGATIVE_INFINITY;
  try {
    for await (const snapshot of run) {
      if (performance.now() - drawnAt < REDRAW_MS) continue;
      drawnAt = performance.now();
      stderr.write(`${CLEAR_LINE}${paint(progressLine(snapshot).slice(0, stderr.columns - 1))}`);
    }
  } finally {
    stderr.write(CLEAR_LINE);
  }
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
  const { stderr } = process;
  const isShown = isWanted && stderr.isTTY === true;
  try {
    for await (const progress of run) {
      if (!isShown) continue;
      const { step, elapsedMs, budgetMs } = toStep(progress);
      const line = `${Math.round(elapsedMs / 1000)} of ${Math.round(budgetMs / 1000)} s  ${step}`;
      stderr.write(`${CLEAR_LINE}${paint(line.slice(0, stderr.columns - 1))}`);
    }
    return await run;
  } finally {
    if (isShown) stderr.write(CLEAR_LINE);
  }
}

function progressLine(snapshot: Snapshot): string {
  const { phase, elapsedMs, completed, throughput, p50Ms, p99Ms, inFlight, errors } = snapshot;
  const elapsed = duration(Math.round(elapsedMs / 100) * 100) || '0 s';
  if (phase === 'setup') return `connecting  ${elapsed}`;
  if (phase === 'warmup') return `warm-up  ${elapsed}  ${plural(completed, 'request')}`;
  return [
    `measuring  ${elapsed}`,
    `${rate(throughput)} req/s`,
    `p50 ${time(p50Ms)}`,
    `p99 ${time(p99Ms)}`,
    `${count(inFlight)} in flight`,
    ...(errors > 0 ? [`${count(errors)} errors`] : []),
  ].join('  ');
}

function paint(line: string): string {
  return process.env.NO_COLOR ? line : `\x1b[2m${line}\x1b[22m`;
}
