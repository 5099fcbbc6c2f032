import { MIN_VERDICT_WEIGHT } from '../conclusion/verdict.js';
import type { ExperimentSetting } from '../experiments/setting.js';
import { LIMITS } from '../limits/limits.js';
import { analyzeProfile } from '../profile/analyze.js';
import { buildProcessCpu, findFunctions, PROFILE_MS, profileLoad } from '../profile/capture.js';
import type { ServerUnderTest } from '../target/server-under-test.js';
import { hidesInlined, WITHOUT_INLINING_MS, withoutInlining } from '../target/without-inlining.js';
import { ALLOCATIONS_MS, sampleAllocations } from './heap/allocations.js';
import { compareNewHeaps, estimateComparisonMs } from './heap/heap-comparison.js';
import { computeGrowthRate } from './heap/heap-growth.js';
import { type InvestigationRecord, NO_TIME } from './investigation-record.js';
import type { InvestigationOptions } from './options.js';
import type { TimeBudget } from './time-budget.js';

/** Time in which a new server receives its first requests, and in which the one before it ends. */
const [FIRST_REQUESTS_MS, STOP_MS] = [400, 500];

/** What the sampling of functions works with. */
export interface FunctionSamplingContext {
  subject: ServerUnderTest;
  record: InvestigationRecord;
  budget: TimeBudget;
  setting: ExperimentSetting;
  options: Pick<InvestigationOptions, 'onStep' | 'onCpuProfile'>;
}

/**
 * What functions run and allocate where V8 hides that by inlining them, and what makes the heap grow. That changes the
 * server's speed, so it comes after everything that compares it.
 */
export class FunctionSampling {
  readonly #subject: ServerUnderTest;
  readonly #record: InvestigationRecord;
  readonly #budget: TimeBudget;
  readonly #setting: ExperimentSetting;
  readonly #options: FunctionSamplingContext['options'];

  constructor({ subject, record, budget, setting, options }: FunctionSamplingContext) {
    this.#subject = subject;
    this.#record = record;
    this.#budget = budget;
    this.#setting = setting;
    this.#options = options;
  }

  /** Time to reserve for allocations and the growth of the heap before the verdict is known: as far as they may be the limit. */
  computeReserveMs(): number {
    if (!this.#subject.hub) return 0;
    const causes = this.#record.state.evaluation.hypotheses.map(({ limit }) => LIMITS[limit]);
    const isPossible = causes.some(({ causedByObjects }) => causedByObjects !== undefined);
    const isKept = causes.some(({ causedByObjects }) => causedByObjects === 'kept');
    const isCompared = isKept && this.#setting.canRestart;
    return (
      (isPossible ? WITHOUT_INLINING_MS + ALLOCATIONS_MS : 0) +
      (isCompared ? estimateComparisonMs(this.#subject) : 0)
    );
  }

  /** Time that `sample` takes, with that of its samples. */
  computeSampleMs(
    samplesMs = (this.#hidesBusyFunctions() ? PROFILE_MS : 0) +
      (this.#isAllocationSampled() ? ALLOCATIONS_MS : 0),
  ): number {
    if (samplesMs === 0) return 0;
    const restartMs =
      this.computeComparisonMs() > 0 ? this.#subject.startMs + STOP_MS + FIRST_REQUESTS_MS : 0;
    return restartMs + WITHOUT_INLINING_MS + samplesMs;
  }

  /** Time that `compareHeaps` takes; 0 if there will be no comparison. */
  computeComparisonMs(): number {
    const isWanted = this.#setting.canRestart && this.#isGrowthPossible();
    return isWanted ? estimateComparisonMs(this.#subject) : 0;
  }

  /** Samples what functions run and allocate. */
  async sample(): Promise<void> {
    const [isProfiled, isSampled] = [this.#hidesBusyFunctions(), this.#isAllocationSampled()];
    const comparisonMs = this.computeComparisonMs();
    const fits = (ms: number) => this.#budget.fits(this.computeSampleMs(ms), comparisonMs);
    const samplingMs = isSampled && fits(ALLOCATIONS_MS) ? ALLOCATIONS_MS : 0;
    const profileMs = isProfiled && fits(samplingMs + PROFILE_MS) ? PROFILE_MS : 0;
    if (isSampled && samplingMs === 0) this.#record.recordSkipped(`allocations: ${NO_TIME}`);
    if (isProfiled && profileMs === 0)
      this.#record.recordSkipped(`the CPU time of inlined functions: ${NO_TIME}`);
    if (samplingMs + profileMs === 0) return;
    // A heap that has grown makes every command slow.
    if (comparisonMs > 0) await this.#startAnew();
    await withoutInlining(this.#subject, async () => {
      if (profileMs > 0) await this.#profile();
      if (samplingMs > 0) await this.#sampleAllocations();
    });
  }

  /** Finds what makes the heap grow, if that is the limit: at the end, as it needs a new server that stands still. */
  async compareHeaps(): Promise<void> {
    const { allocations, history, metrics } = this.#record.state;
    if (!allocations || !this.#isGrowthPossible()) return;
    const why = this.#findComparisonObstacle();
    if (why !== null) {
      this.#record.recordSkipped(`what grows: ${why}`);
      return;
    }
    this.#options.onStep('comparing heap snapshots');
    const compared = await compareNewHeaps(this.#subject, {
      bytesPerSecond: computeGrowthRate(history.retained, metrics.throughput),
      fits: (ms) => this.#budget.fits(ms),
    });
    if (typeof compared === 'string') this.#record.recordSkipped(`what grows: ${compared}`);
    else this.#record.apply({ kind: 'allocations', allocations: { ...allocations, ...compared } });
  }

  #findComparisonObstacle(): string | null {
    if (!this.#setting.canRestart)
      return 'heap snapshots are taken only of servers that millrace starts (-- COMMAND)';
    return this.#budget.fits(this.computeComparisonMs()) ? null : NO_TIME;
  }

  /** Whether the CPU profile of a busy loop counts inlined functions for their callers. */
  #hidesBusyFunctions(): boolean {
    const { state, isLoopBusy } = this.#record;
    return state.cpu !== null && isLoopBusy && hidesInlined(this.#subject);
  }

  /** Whether allocations are sampled: where objects cause the limit, or one beside it. */
  #isAllocationSampled(): boolean {
    if (!this.#setting.hasProbe) return false;
    const { chosen, also } = this.#record.decide();
    const isCollected = [chosen, ...also].some(
      (hypothesis) => hypothesis && LIMITS[hypothesis.limit].causedByObjects === 'collected',
    );
    return isCollected || this.#isGrowthPossible();
  }

  /** Whether objects that stay in memory may be the limit, or one beside it. */
  #isGrowthPossible(): boolean {
    const { excluded } = this.#record.decide();
    return this.#record.state.evaluation.hypotheses.some(
      ({ limit, weight }) =>
        LIMITS[limit].causedByObjects === 'kept' &&
        weight >= MIN_VERDICT_WEIGHT &&
        !excluded.some((one) => one.limit === limit),
    );
  }

  /** Restarts the server. Commands reach a process that has served requests. */
  async #startAnew(): Promise<void> {
    await this.#subject.restart();
    await this.#subject.runBlock({ settleMs: 0, measureMs: FIRST_REQUESTS_MS });
  }

  async #profile(): Promise<void> {
    this.#options.onStep('taking a CPU profile without inlining');
    const profile = await profileLoad(this.#subject);
    if (!profile) return;
    this.#record.apply({ kind: 'cpu', cpu: buildProcessCpu(profile) });
    this.#options.onCpuProfile?.(profile.raw);
    const { chosen } = this.#record.decide();
    if (chosen) {
      const functions = findFunctions(chosen.limit, analyzeProfile(profile.raw));
      this.#record.apply({ kind: 'functions', of: chosen.limit, functions });
    }
  }

  async #sampleAllocations(): Promise<void> {
    this.#options.onStep('sampling allocations');
    const allocations = await sampleAllocations(this.#subject);
    if (typeof allocations === 'string') this.#record.recordSkipped(`allocations: ${allocations}`);
    else this.#record.apply({ kind: 'allocations', allocations });
  }
}
