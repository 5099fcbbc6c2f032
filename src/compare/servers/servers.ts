import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { MillraceError } from '../../errors/millrace-error.js';
import { count } from '../../format/units.js';
import { isAnswered } from '../../load/answered.js';
import { runLoad } from '../../load/engine/run.js';
import { formatStatus } from '../../load/grpc-statuses.js';
import { buildPlan, FUTURE_SERVER } from '../../load/plan/plan.js';
import type { LoadResult, LoadWarning } from '../../load/result.js';
import { withTemporaryFolder } from '../../process/temporary-folder.js';
import { chooseMetric, conclude } from '../conclude.js';
import { readRun } from '../figures.js';
import type { CompareOptions } from '../options.js';
import { checkConditionNames } from '../ratio-condition.js';
import type { CompareProgress, ComparisonResult } from '../result.js';
import { type CompareSettings, readSharedLoad } from '../settings.js';
import { measureVerdictRatio, wantsMoreRuns } from '../stopping.js';
import type { SideResult } from '../warnings.js';
import { MAX_ASKED } from './answers.js';
import { checkAnswers } from './check-answers.js';
import { ComparisonProgress } from './progress.js';
import { type LiveSide, readLiveSide, runOnSide } from './sides.js';
import { readStackShare } from './stack.js';

/** Compares two servers by runs that alternate between them. */
export async function compareServers(
  options: CompareOptions,
  settings: CompareSettings,
  onProgress: (progress: CompareProgress) => void,
): Promise<ComparisonResult> {
  if (options.a.stack === undefined && options.b.stack === undefined) {
    return new ServerComparison(options, settings, onProgress, null).run();
  }
  // Only the folder is made there: what fails in it would be tried in another one.
  const folder = await withTemporaryFolder('millrace-compare', async (made) => made);
  try {
    return await new ServerComparison(options, settings, onProgress, folder).run();
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

type Ended = Exclude<ComparisonResult['ended'], 'files'>;

class ServerComparison {
  readonly #settings: CompareSettings;
  readonly #signal: AbortSignal | undefined;
  readonly #sides: { a: LiveSide; b: LiveSide };
  readonly #progress: ComparisonProgress;
  /** Of the side that runs on the stack; `null`: none does. */
  readonly #statsFile: string | null;
  readonly #startedAt = new Date();
  /** Of the schedules: both runs of a pair have the same. */
  readonly #seed: number;
  /** Of complete pairs. */
  #runs: SideResult[] = [];

  constructor(
    options: CompareOptions,
    settings: CompareSettings,
    onProgress: (progress: CompareProgress) => void,
    folder: string | null,
  ) {
    this.#settings = settings;
    this.#signal = options.signal;
    this.#seed = options.seed ?? Math.floor(Math.random() * 2 ** 32);
    const load = readSharedLoad(options);
    const statsFiles = (['a', 'b'] as const).map((side) => join(folder ?? '', `stack-of-${side}`));
    const [ofA = '', ofB = ''] = statsFiles;
    this.#sides = {
      a: readLiveSide('a', options, load, ofA),
      b: readLiveSide('b', options, load, ofB),
    };
    this.#statsFile = options.b.stack ? ofB : options.a.stack ? ofA : null;
    this.#progress = new ComparisonProgress(settings.budgetMs, onProgress);
  }

  async run(): Promise<ComparisonResult> {
    const { a, b } = this.#sides;
    const requests = await this.#checkPlan();
    const differences = await checkAnswers(this.#sides, {
      seed: this.#seed,
      allowDifference: this.#settings.allowDifference,
      onStep: (step) => this.#progress.step(step),
    });
    // The statistics are those of the runs alone.
    if (this.#statsFile !== null) rmSync(this.#statsFile, { force: true });
    const ended = await this.#runPairs();
    return conclude({
      settings: this.#settings,
      startedAt: this.#startedAt,
      sides: { a: a.side, b: b.side },
      runs: this.#runs,
      ended,
      differences,
      warnings: describeSample(requests),
      ...(this.#statsFile !== null && { stack: readStackShare(this.#statsFile) }),
    });
  }

  /** Runs pairs until the interval is narrow enough or the time is over: A B, B A, A B ... */
  async #runPairs(): Promise<Ended> {
    for (let pair = 0; ; pair++) {
      const startedMs = performance.now();
      const order = pair % 2 === 0 ? (['a', 'b'] as const) : (['b', 'a'] as const);
      const runs: SideResult[] = [];
      for (const side of order) {
        this.#progress.run(pair, side);
        const result = await this.#runOnce(this.#sides[side], pair);
        if (result === null) return 'interrupted';
        runs.push({ side, pair, result });
      }
      this.#runs.push(...runs);
      const end = this.#findEnd(performance.now() - startedMs);
      if (end !== null) return end;
    }
  }

  /** Whether to stop after a pair that took as long, and why; by the width of the interval alone. */
  #findEnd(pairMs: number): Ended | null {
    const { width } = this.#settings;
    const [first] = this.#runs;
    if (!first) return null;
    const metric = chooseMetric(first.result.plan);
    const runs = this.#runs.map(readRun);
    this.#progress.ratio(measureVerdictRatio(runs, { metric }));
    if (!wantsMoreRuns(runs, { metric, width })) return 'width';
    return this.#progress.leftMs < pairMs ? 'budget' : null;
  }

  /** Runs the load on a side; `null` if it was interrupted and there are earlier pairs to report. */
  async #runOnce(side: LiveSide, pair: number): Promise<LoadResult | null> {
    const load = { ...side.load, seed: (this.#seed + pair) % Number.MAX_SAFE_INTEGER };
    try {
      const { result } = await runOnSide(side, () => runLoad(load, { adjustEnv: side.adjustEnv }));
      if (!result.interrupted) return checkRun(side, result);
    } catch (error) {
      if (error !== this.#signal?.reason) throw error;
    }
    if (this.#runs.length === 0) throw this.#signal?.reason;
    return null;
  }

  /** Refuses conditions on names that no request has; returns the number of requests. */
  async #checkPlan(): Promise<number> {
    const { load } = this.#sides.a;
    const { names, native } = await buildPlan(load, load.command && FUTURE_SERVER);
    checkConditionNames(this.#settings.conditions, names);
    return native.requests.length;
  }
}

/** Warns where not all requests of a mix were asked for. */
function describeSample(requests: number): LoadWarning[] {
  if (requests <= MAX_ASKED) return [];
  const message = `The answers to ${count(MAX_ASKED)} of the ${count(requests)} requests were compared.`;
  return [{ id: 'answers-sampled', message }];
}

/** Refuses a run that says nothing about the server. */
function checkRun({ name }: LiveSide, result: LoadResult): LoadResult {
  const side = name.toUpperCase();
  const ended = result.warnings.find(({ id }) => id === 'server-ended');
  if (ended) throw new MillraceError('ERR_MILLRACE_COMMAND', `${side}: ${ended.message}`);
  const { sent, ok, inFlightAtEnd } = result.requests;
  if (ok > 0) return result;
  if (sent === inFlightAtEnd) {
    const what = isAnswered(result) ? 'no response ended' : 'no response came';
    throw new MillraceError(
      'ERR_MILLRACE_UNREACHABLE',
      `${side}: ${what} within a run: check the server, or use longer runs (-d)`,
    );
  }
  const statuses = Object.keys(result.statusCodes).map(formatStatus).join(', ');
  const outcome = statuses ? `status ${statuses}` : (result.errors[0]?.kind ?? 'no response');
  throw new MillraceError(
    'ERR_MILLRACE_UNREACHABLE',
    `${side}: all ${sent} requests failed: ${outcome}`,
  );
}
