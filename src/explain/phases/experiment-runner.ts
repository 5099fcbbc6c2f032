import { time } from '../../format/units.js';
import { findRemedyToRepeat } from '../conclusion/prediction/remedy-experiment.js';
import { exceedsReference } from '../conclusion/prediction/remedy-prediction.js';
import { isKeepingUp, MIN_VERDICT_WEIGHT } from '../conclusion/verdict.js';
import { isMostlyWaitingInHandlers, isWaitingInHandlers } from '../conclusion/waits.js';
import { EXPERIMENT_LABELS, type ExperimentName } from '../experiment-names.js';
import { canTryMore } from '../experiments/connection-ramp.js';
import { EXPERIMENTS } from '../experiments/definitions.js';
import type { Experiment } from '../experiments/experiment.js';
import { type MeasuredBlocks, runRounds } from '../experiments/interleaved-rounds.js';
import {
  findSkippedExperiments,
  MIN_TOLD_WORTH,
  MIN_WEIGHT,
  needsServer,
  orderByServer,
  rankExperiments,
  selectWithinTime,
} from '../experiments/selection.js';
import type { ExperimentSetting } from '../experiments/setting.js';
import type { Finding, Findings } from '../findings.js';
import type { CostOverTime } from '../hypotheses/history.js';
import type { Hypothesis } from '../hypotheses/hypothesis.js';
import type { LimitId } from '../limit-ids.js';
import { LIMITS } from '../limits/limits.js';
import { computeCpuMs } from '../metrics/derive.js';
import type { HeapExhaustion } from '../observe/probe/heap-exhaustion.js';
import type { Observation } from '../observe/types.js';
import { analyzeProfile } from '../profile/analyze.js';
import {
  buildProcessCpu,
  deriveProfiles,
  findFunctions,
  PROFILE_MS,
  profileLoad,
} from '../profile/capture.js';
import { type BlockLength, computeBlockLength } from '../target/block-length.js';
import { describeFailure, ProbeFailure } from '../target/probe-effect.js';
import type { ServerUnderTest } from '../target/server-under-test.js';
import { hidesInlined, WITHOUT_INLINING_MS, withoutInlining } from '../target/without-inlining.js';
import { ALLOCATIONS_MS, sampleAllocations } from './allocations.js';
import type { Baseline } from './baseline.js';
import { rampConnections } from './connection-ramp.js';
import { computeRepeatLength, measureProbeCost, repeatChange } from './follow-up-runs.js';
import { compareNewHeaps, estimateComparisonMs } from './heap-comparison.js';
import { computeGrowthRate, HeapGrowth } from './heap-growth.js';
import {
  applyEvent,
  beginState,
  countResponses,
  decide,
  type InvestigationEvent,
  type InvestigationState,
  toFindings,
} from './investigation-state.js';
import type { InvestigationOptions } from './options.js';
import { countPoolJobs } from './pool-jobs.js';
import { REFERENCE_RUN_MS } from './reference-server.js';
import { isAfterRestart, runOnNewServers } from './restarts.js';
import { TimeBudget } from './time-budget.js';
import { computeObservedBlock, observeWaits } from './waits.js';

/** Why an experiment was not made. */
const NO_TIME = 'no time left; give it more time (--budget)';
/** Time in which a new server receives its first requests, and in which the one before it ends. */
const [FIRST_REQUESTS_MS, STOP_MS] = [400, 500];
/** Maximum number of rounds of live experiments. */
const MAX_ROUNDS = 5;

/** Runs the experiments on one server; what they measured is in its state. */
export class ExperimentRunner {
  readonly #subject: ServerUnderTest;
  readonly #setting: ExperimentSetting;
  readonly #onStep: (what: string) => void;
  readonly #onCpuProfile: InvestigationOptions['onCpuProfile'];
  readonly #waitStacks: number;
  readonly #length: BlockLength;
  readonly #budget: TimeBudget;
  #state: InvestigationState;

  constructor(subject: ServerUnderTest, baseline: Baseline, options: InvestigationOptions) {
    const { metrics } = baseline;
    this.#subject = subject;
    this.#setting = options.setting();
    this.#onStep = options.onStep;
    this.#onCpuProfile = options.onCpuProfile;
    this.#waitStacks = options.waitStacks;
    this.#length = computeBlockLength(metrics.base.load, metrics.responseMs);
    this.#budget = new TimeBudget(options.untilMs, this.#length);
    this.#state = beginState(baseline, this.#computeCost(metrics.base), this.#listExhausted());
    const skipped = findSkippedExperiments(
      metrics,
      this.#state.evaluation.hypotheses,
      this.#setting,
    );
    for (const what of skipped) this.recordSkipped(what);
  }

  /** Findings so far. */
  result(): Findings {
    this.#noteEndedProcesses();
    return toFindings(this.#state);
  }

  get skippedExperiments(): readonly string[] {
    return this.#state.skippedExperiments;
  }

  /** Records what is not measured, with the reason. */
  recordSkipped(what: string): void {
    this.#apply({ kind: 'skipped', what });
  }

  #apply(event: InvestigationEvent): void {
    this.#noteEndedProcesses();
    this.#state = applyEvent(this.#state, event);
  }

  /** Notes the processes that have ended meanwhile because their heap was full. */
  #noteEndedProcesses(): void {
    const exhausted = this.#listExhausted();
    this.#state = applyEvent(this.#state, { kind: 'processes-ended', exhausted });
  }

  #listExhausted(): HeapExhaustion[] {
    return this.#subject.hub?.heapExhaustions ?? [];
  }

  #decide(): Finding {
    return decide(this.#state);
  }

  /** Whether a limit is possible by what was measured. */
  #isPossible(id: LimitId): boolean {
    return this.#state.evaluation.hypotheses.some(({ limit }) => limit === id);
  }

  /** Counts what the thread pool runs, if it is a possible limit. */
  async countPoolJobs(): Promise<void> {
    if (!this.#isPossible('threadpool')) return;
    this.#onStep('counting the jobs of the thread pool');
    this.#apply({ kind: 'pool-jobs', poolJobs: await countPoolJobs(this.#subject) });
  }

  /** Asks for the files that the server writes synchronously, if that is a possible limit. */
  async findWrittenFiles(): Promise<void> {
    if (!this.#isPossible('synchronous-writes')) return;
    const answers = await this.#subject.hub?.command('writtenFiles', {}).catch(() => []);
    this.#apply({ kind: 'written-files', writtenFiles: [...new Set((answers ?? []).flat())] });
  }

  /** Runs experiments on the running server, in interleaved rounds. */
  async runLiveExperiments(): Promise<void> {
    const { metrics, history } = this.#state;
    if (this.#isQuiet()) return;
    const { chosen, untilMs } = this.#selectLiveExperiments();
    this.#recordUnmade(chosen);
    const growth = new HeapGrowth(this.#subject, history.retained);
    const isGrowing = this.#isPossible('memory-growth');
    if (chosen.length === 0 && !isGrowing) return;
    const blocks: MeasuredBlocks = { base: [], changed: new Map() };
    try {
      await runRounds(this.#subject, metrics, chosen, blocks, {
        length: this.#length,
        rounds: MAX_ROUNDS,
        untilMs,
        onBlock: (what) => this.#onStep(`experiment: ${what}`),
        onFailed: (name, why) => this.#skip(name, why),
        onMeasured: (experiment, block) => {
          if (experiment !== null && !experiment.keepsCost) return;
          this.#apply({ kind: 'cost', cost: this.#computeCost(block) });
        },
        ...(isGrowing && { onRound: growth.measureRound }),
      });
    } finally {
      // Complete rounds count, whatever ended the others.
      this.#apply({ kind: 'rounds', blocks: blocks.base.length > 0 ? blocks : null });
      for (const experiment of chosen)
        this.#apply({ kind: 'experiment', experiment, blocks: this.#state.blocks });
      this.#apply({ kind: 'derived', kept: growth.computeRatio() });
    }
  }

  /** Selects the live experiments, and the time until which they may run. */
  #selectLiveExperiments(): { chosen: Experiment[]; untilMs: number } {
    const { metrics, evaluation } = this.#state;
    const ranked = this.#rank(evaluation.hypotheses);
    const reserveMs = this.#computeReserveMs(ranked);
    // A rate that is sustained stays the same whatever changes, so throughput shows nothing.
    const candidates = isKeepingUp(metrics) ? [] : ranked.filter((it) => !needsServer(it, metrics));
    const { untilMs, blockMs } = this.#budget;
    const inTime = this.#budget.selectAffordable(candidates, untilMs - reserveMs);
    if (inTime.length > 0) return { chosen: inTime, untilMs: untilMs - reserveMs };
    // With slow responses, one experiment now is worth more than a restart later.
    const chosen = this.#budget.selectAffordable(candidates, untilMs);
    if (chosen.length === 0 && candidates.length > 0) {
      this.recordSkipped(
        `experiments: no time, since a block takes ${time(blockMs)}; give it more time (--budget)`,
      );
    }
    return { chosen, untilMs };
  }

  /** Records the experiments that the user permits and that do not fit into the time. */
  #recordUnmade(chosen: Experiment[]): void {
    const { metrics, evaluation } = this.#state;
    for (const { experiment, worth } of rankExperiments(
      metrics,
      evaluation.hypotheses,
      this.#setting,
    )) {
      const isTold = experiment.changesDependencies && worth > MIN_TOLD_WORTH;
      if (isTold && !chosen.includes(experiment)) this.#skip(experiment.name, NO_TIME);
    }
  }

  /** Adds connections until requests queue, if there are too few connections. */
  async rampConnections(): Promise<void> {
    if (!this.#canRamp() || this.#decide().chosen?.limit !== 'too-few-connections') return;
    await rampConnections(this.#subject, this.#state.metrics, {
      budget: this.#budget,
      length: this.#length,
      onStep: this.#onStep,
      onBlock: (connectionRamp, block) => this.#apply({ kind: 'ramp', connectionRamp, block }),
      onSkipped: (reason) => this.recordSkipped(reason),
    });
  }

  #canRamp(): boolean {
    return this.#setting.canAddLoad && canTryMore(this.#state.metrics);
  }

  #computeReserveMs(ranked: Experiment[]): number {
    return this.#budget.computeReserveMs({
      ranked,
      metrics: this.#state.metrics,
      subject: this.#subject,
      canRestart: this.#setting.canRestart,
      profileMs: this.#computeProfileMs() + this.#computeAllocationsMs() + this.#computeWaitsMs(),
      rampMs: this.#computeRampMs(),
    });
  }

  /** Time for the connection ramp, if there seem to be too few connections. */
  #computeRampMs(): number {
    const [top] = this.#state.evaluation.hypotheses;
    const applies = top?.limit === 'too-few-connections' && this.#canRamp();
    return applies ? this.#budget.computeRampMs() : 0;
  }

  /** Time that is reserved for profiles: where the loop may be the limit, or the caller wants one. */
  #computeProfileMs(): number {
    const isBusy = this.#isLoopBusy();
    if (!this.#subject.hub || !(isBusy || this.#onCpuProfile)) return 0;
    const againMs = isBusy && hidesInlined(this.#subject) ? WITHOUT_INLINING_MS + PROFILE_MS : 0;
    return PROFILE_MS + againMs;
  }

  /** Time that is reserved for observing waits: where most requests wait in handlers. */
  #computeWaitsMs(): number {
    const { metrics } = this.#state;
    const isWanted = this.#setting.hasProbe && isMostlyWaitingInHandlers(metrics);
    if (!isWanted) return 0;
    const { settleMs, measureMs } = computeObservedBlock(metrics.responseMs, this.#length);
    return settleMs + measureMs;
  }

  #isLoopBusy(): boolean {
    const { base, loop } = this.#state.metrics;
    return (base.inside?.utilization ?? loop?.run ?? 0) > 0.5;
  }

  /** Time to observe allocations and the growth of the heap, as far as they may be the limit. */
  #computeAllocationsMs(): number {
    if (!this.#subject.hub) return 0;
    const causes = this.#state.evaluation.hypotheses.map(({ limit }) => LIMITS[limit]);
    const isPossible = causes.some(({ causedByObjects }) => causedByObjects !== undefined);
    const isKept = causes.some(({ causedByObjects }) => causedByObjects === 'kept');
    const isCompared = isKept && this.#setting.canRestart;
    return (
      (isPossible ? WITHOUT_INLINING_MS + ALLOCATIONS_MS : 0) +
      (isCompared ? estimateComparisonMs(this.#subject) : 0)
    );
  }

  /** Whether objects cause the limit, or one beside it; with `kept` those that stay in memory. */
  #isCausedByObjects(kept = false): boolean {
    const { chosen, also } = this.#decide();
    const isCollected = [chosen, ...also].some(
      (hypothesis) => hypothesis && LIMITS[hypothesis.limit].causedByObjects === 'collected',
    );
    return (isCollected && !kept) || this.#isGrowthPossible();
  }

  /** Whether objects that stay in memory may be the limit, or one beside it. */
  #isGrowthPossible(): boolean {
    const { excluded } = this.#decide();
    return this.#state.evaluation.hypotheses.some(
      ({ limit, weight }) =>
        LIMITS[limit].causedByObjects === 'kept' &&
        weight >= MIN_VERDICT_WEIGHT &&
        !excluded.some((one) => one.limit === limit),
    );
  }

  /**
   * Samples what functions run and allocate where V8 hides that by inlining them. That changes the server's speed, so it
   * comes after everything that compares it.
   */
  async sampleFunctions(): Promise<void> {
    const [isProfiled, isSampled] = [this.#hidesBusyFunctions(), this.#isAllocationSampled()];
    const comparisonMs = this.#computeComparisonMs();
    const fits = (ms: number) => this.#budget.fits(this.#computeFunctionsMs(ms), comparisonMs);
    const samplingMs = isSampled && fits(ALLOCATIONS_MS) ? ALLOCATIONS_MS : 0;
    const profileMs = isProfiled && fits(samplingMs + PROFILE_MS) ? PROFILE_MS : 0;
    if (isSampled && samplingMs === 0) this.recordSkipped(`allocations: ${NO_TIME}`);
    if (isProfiled && profileMs === 0)
      this.recordSkipped(`the CPU time of inlined functions: ${NO_TIME}`);
    if (samplingMs + profileMs === 0) return;
    // A heap that has grown makes every command slow.
    if (comparisonMs > 0) await this.#startAnew();
    await withoutInlining(this.#subject, async () => {
      if (profileMs > 0) await this.#profileAgain();
      if (samplingMs > 0) await this.#sampleAllocations();
    });
  }

  /** Restarts the server. Commands reach a process that has served requests. */
  async #startAnew(): Promise<void> {
    await this.#subject.restart();
    await this.#subject.runBlock({ settleMs: 0, measureMs: FIRST_REQUESTS_MS });
  }

  /** Time that `sampleFunctions` takes, with that of its samples. */
  #computeFunctionsMs(
    samplesMs = (this.#hidesBusyFunctions() ? PROFILE_MS : 0) +
      (this.#isAllocationSampled() ? ALLOCATIONS_MS : 0),
  ): number {
    if (samplesMs === 0) return 0;
    const restartMs =
      this.#computeComparisonMs() > 0 ? this.#subject.startMs + STOP_MS + FIRST_REQUESTS_MS : 0;
    return restartMs + WITHOUT_INLINING_MS + samplesMs;
  }

  /** Whether the CPU profile of a busy loop counts inlined functions for their callers. */
  #hidesBusyFunctions(): boolean {
    return this.#state.cpu !== null && this.#isLoopBusy() && hidesInlined(this.#subject);
  }

  /** Whether allocations are sampled: where objects are the limit. */
  #isAllocationSampled(): boolean {
    return this.#setting.hasProbe && this.#isCausedByObjects();
  }

  async #profileAgain(): Promise<void> {
    this.#onStep('taking a CPU profile without inlining');
    const profile = await profileLoad(this.#subject);
    if (!profile) return;
    this.#apply({ kind: 'cpu', cpu: buildProcessCpu(profile) });
    this.#onCpuProfile?.(profile.raw);
    const { chosen } = this.#decide();
    if (chosen) {
      const functions = findFunctions(chosen.limit, analyzeProfile(profile.raw));
      this.#apply({ kind: 'functions', of: chosen.limit, functions });
    }
  }

  async #sampleAllocations(): Promise<void> {
    this.#onStep('sampling allocations');
    const allocations = await sampleAllocations(this.#subject);
    if (typeof allocations === 'string') this.recordSkipped(`allocations: ${allocations}`);
    else this.#apply({ kind: 'allocations', allocations });
  }

  /** Finds what makes the heap grow, if that is the limit: at the end, as it needs a new server that stands still. */
  async compareHeaps(): Promise<void> {
    const { allocations } = this.#state;
    if (!allocations || !this.#isCausedByObjects(true)) return;
    const why = this.#findComparisonObstacle();
    if (why !== null) {
      this.recordSkipped(`what grows: ${why}`);
      return;
    }
    this.#onStep('comparing heap snapshots');
    const { history, metrics } = this.#state;
    const compared = await compareNewHeaps(this.#subject, {
      bytesPerSecond: computeGrowthRate(history.retained, metrics.throughput),
      fits: (ms) => this.#budget.fits(ms),
    });
    if (typeof compared === 'string') this.recordSkipped(`what grows: ${compared}`);
    else this.#apply({ kind: 'allocations', allocations: { ...allocations, ...compared } });
  }

  #findComparisonObstacle(): string | null {
    if (!this.#setting.canRestart)
      return 'heap snapshots are taken only of servers that millrace starts (-- COMMAND)';
    return this.#budget.fits(this.#computeComparisonMs())
      ? null
      : 'no time left; give it more time (--budget)';
  }

  /** Runs experiments that need new servers, only for possible verdicts: each takes seconds. */
  async runRestartExperiments(): Promise<void> {
    const tried = new Set<Experiment>();
    const untried = () => this.#rankRestartExperiments().filter((it) => !tried.has(it));
    for (;;) {
      // A restart confirms that the cost of a request grows; what grows is second to that.
      const isFirst = this.#decide().chosen?.limit === 'degrades-over-time';
      const sampledMs = isFirst ? 0 : this.#computeFunctionsMs() + this.#computeComparisonMs();
      const laterMs = this.#computeReferenceMs() + sampledMs;
      const leftMs = this.#budget.leftMs - laterMs;
      const [experiment] = orderByServer(
        selectWithinTime(untried(), leftMs, (it) => this.#estimateRestartsMs([it])),
      );
      if (!experiment) break;
      tried.add(experiment);
      this.#onStep(`experiment: ${EXPERIMENT_LABELS[experiment.name]}`);
      // The result may make another experiment worthwhile or superfluous.
      await this.#runRestartExperiment(experiment);
    }
    for (const { name } of untried()) {
      this.#skip(name, NO_TIME);
    }
  }

  /** Time for the reference server, which runs after the server under test has ended. */
  #computeReferenceMs(): number {
    const { chosen } = this.#decide();
    const isWanted = chosen !== null && exceedsReference(chosen, this.result());
    return this.#setting.canRestart && isWanted ? REFERENCE_RUN_MS : 0;
  }

  /** Time for what comes after all comparisons on the running server: experiments on new servers, functions, heaps. */
  #computeLaterMs(): number {
    const restartsMs = this.#estimateRestartsMs(this.#rankRestartExperiments());
    return this.#computeFunctionsMs() + restartsMs + this.#computeComparisonMs();
  }

  /** Time for the comparison of heaps, which comes last; 0 if there will be none. */
  #computeComparisonMs(): number {
    const isWanted = this.#setting.canRestart && this.#isGrowthPossible();
    return isWanted ? estimateComparisonMs(this.#subject) : 0;
  }

  /** The experiments on new servers that test a possible verdict, most informative first. */
  #rankRestartExperiments(): Experiment[] {
    const { chosen, also } = this.#decide();
    const wanted = [chosen, ...also].filter((hypothesis) => hypothesis !== null);
    return this.#rank(wanted).filter((it) => needsServer(it, this.#state.metrics));
  }

  /** Compares throughput with and without the probe's subscriptions, if there is time. */
  async measureProbeCost(): Promise<void> {
    if (!this.#setting.hasProbe || isKeepingUp(this.#state.metrics)) return;
    this.#onStep('measuring the cost of the probe');
    const reserveMs = this.#computeLaterMs();
    const probeCost = await measureProbeCost(
      this.#subject,
      this.#length,
      this.#budget,
      reserveMs,
      (error) => this.#recordProbeFailure('cost of the probe', error),
    );
    this.#apply({ kind: 'probe-cost', probeCost });
  }

  /** Observes what the requests wait for that wait in handlers. */
  async observeWaits(): Promise<void> {
    const { metrics } = this.#state;
    if (!this.#setting.hasProbe || !isWaitingInHandlers(metrics)) return;
    const during = computeObservedBlock(metrics.responseMs, this.#length);
    const reserveMs = this.#estimateRestartsMs(this.#rankRestartExperiments());
    if (
      !this.#budget.fits(
        during.settleMs + during.measureMs,
        this.#computeWaitsMs() > 0 ? 0 : reserveMs,
      )
    ) {
      this.recordSkipped(
        'what requests wait for, by code: no time left; give it more time (--budget)',
      );
      return;
    }
    this.#onStep('observing what requests wait for');
    const waits = await observeWaits(this.#subject, {
      ...{ during, depth: this.#waitStacks, length: this.#length, budget: this.#budget },
      reserveMs,
    });
    this.#apply({ kind: 'waits', waits });
  }

  /** Takes a CPU profile of the unchanged load. Where the loop is busy, limits are read from it too. */
  async takeProfile(): Promise<void> {
    if (!this.#setting.hasProbe) return;
    const { chosen } = this.#decide();
    const isReserved = this.#computeProfileMs() > 0;
    const reserveMs = this.#estimateRestartsMs(this.#rankRestartExperiments());
    if (!isReserved && !this.#budget.fits(PROFILE_MS, reserveMs)) {
      this.recordSkipped('the CPU time by function: no time left; give it more time (--budget)');
      return;
    }
    this.#onStep('taking a CPU profile');
    const profile = await profileLoad(this.#subject);
    if (!profile) return;
    this.#apply({ kind: 'cpu', cpu: buildProcessCpu(profile) });
    this.#onCpuProfile?.(profile.raw);
    if (!chosen || !this.#isLoopBusy()) return;
    const profiles = await deriveProfiles(this.#subject, chosen.limit, profile);
    this.#apply({ kind: 'profile', of: chosen.limit, profiles });
  }

  /**
   * Repeats an experiment that is the remedy and had a large effect: for longer and without the probe. In the short
   * blocks between unchanged ones the code for the higher throughput is not compiled yet.
   */
  async repeatRemedy(): Promise<void> {
    const { chosen } = this.#decide();
    const name = findRemedyToRepeat(this.result());
    const experiment = EXPERIMENTS.find((it) => it.name === name);
    if (!chosen || !experiment || needsServer(experiment, this.#state.metrics)) return;
    const length = computeRepeatLength(this.#length);
    const reserveMs = this.#computeLaterMs();
    if (!this.#budget.fits(length.settleMs + length.measureMs, reserveMs)) return;
    this.#onStep(`repeating for longer: ${EXPERIMENT_LABELS[experiment.name]}`);
    const change = experiment.change(this.#state.metrics, this.#subject.options);
    const hub = this.#setting.hasProbe ? this.#subject.hub : null;
    const onFailure = (why: string) => this.recordSkipped(why);
    try {
      const block = await repeatChange(this.#subject, hub, length, change, onFailure);
      this.#apply({
        kind: 'repetition',
        of: chosen.limit,
        experiment: experiment.name,
        block,
      });
    } catch (error) {
      this.#recordProbeFailure(`${EXPERIMENT_LABELS[experiment.name]} for longer`, error);
    }
  }

  /**
   * Records an experiment that the probe could not support, for example because a process has ended. The other findings
   * stay valid.
   */
  #recordProbeFailure(what: string, error: unknown): void {
    if (!(error instanceof ProbeFailure)) throw error;
    this.recordSkipped(`${what}: ${describeFailure(error)}`);
  }

  /** CPU time per response of the last block, dated to the middle of the block. */
  #computeCost(block: Observation | undefined): CostOverTime | null {
    const cpuMs = block ? computeCpuMs(block) : null;
    if (!block || cpuMs === null) return null;
    return { requests: this.#subject.responseCount - countResponses(block.load) / 2, cpuMs };
  }

  /** Whether all requests are answered in time and no hypothesis is strong. */
  #isQuiet(): boolean {
    return (
      isKeepingUp(this.#state.metrics) &&
      this.#state.evaluation.hypotheses.every(({ weight }) => weight < MIN_WEIGHT)
    );
  }

  #rank(hypotheses: Hypothesis[]): Experiment[] {
    return rankExperiments(this.#state.metrics, hypotheses, this.#setting).map(
      ({ experiment }) => experiment,
    );
  }

  #estimateRestartsMs(experiments: Experiment[]): number {
    return this.#budget.estimateRestartsMs(experiments, this.#state.metrics, this.#subject);
  }

  async #runRestartExperiment(experiment: Experiment): Promise<void> {
    const { metrics } = this.#state;
    const tried = await runOnNewServers(experiment, metrics, this.#subject, this.#length);
    if (typeof tried === 'string') {
      this.#skip(experiment.name, tried);
      return;
    }
    const { base, changed } = tried;
    this.#apply({
      kind: 'experiment',
      experiment,
      blocks: { base, changed: new Map([[experiment.name, changed]]) },
      ...(isAfterRestart(experiment) && { costAfterRestart: this.#computeCost(changed.at(-1)) }),
    });
  }

  /** Notes why an experiment has no result. */
  #skip(name: ExperimentName, why: string): void {
    this.recordSkipped(`${EXPERIMENT_LABELS[name]}: ${why}`);
  }
}
