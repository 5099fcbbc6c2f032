import { time } from '../../format/units.js';
import { findRemedyToRepeat } from '../conclusion/prediction/remedy-experiment.js';
import { exceedsReference } from '../conclusion/prediction/remedy-prediction.js';
import { isKeepingUp } from '../conclusion/verdict.js';
import { isMostlyWaitingInHandlers, isWaitingInHandlers } from '../conclusion/waits.js';
import { EXPERIMENT_LABELS } from '../experiment-names.js';
import { canTryMore } from '../experiments/connection-ramp.js';
import { EXPERIMENTS } from '../experiments/definitions.js';
import type { Experiment } from '../experiments/experiment.js';
import { type MeasuredBlocks, runRounds } from '../experiments/interleaved-rounds.js';
import {
  findSkippedExperiments,
  MIN_REPORTED_WORTH,
  MIN_WEIGHT,
  needsServer,
  orderByServer,
  rankExperiments,
  selectWithinTime,
} from '../experiments/selection.js';
import type { ExperimentSetting } from '../experiments/setting.js';
import type { Findings } from '../findings.js';
import type { Hypothesis } from '../hypotheses/hypothesis.js';
import { buildProcessCpu, deriveProfiles, PROFILE_MS, profileLoad } from '../profile/capture.js';
import { type BlockLength, computeBlockLength } from '../target/block-length.js';
import { describeFailure, ProbeFailure } from '../target/probe-effect.js';
import type { ServerUnderTest } from '../target/server-under-test.js';
import { hidesInlined, WITHOUT_INLINING_MS } from '../target/without-inlining.js';
import type { Baseline } from './baseline.js';
import { rampConnections } from './connection-ramp.js';
import { computeRepeatLength, measureProbeCost, repeatChange } from './follow-up-runs.js';
import { FunctionSampling } from './function-sampling.js';
import { HeapGrowth } from './heap/heap-growth.js';
import { InvestigationRecord, NO_TIME } from './investigation-record.js';
import type { InvestigationOptions } from './options.js';
import { countPoolJobs } from './pool-jobs.js';
import { REFERENCE_RUN_MS } from './reference-server.js';
import { isAfterRestart, runOnNewServers } from './restarts.js';
import { TimeBudget } from './time-budget.js';
import { computeObservedBlock, observeWaits } from './waits.js';

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
  /** The last phases: they change the server. */
  readonly functions: FunctionSampling;
  readonly #record: InvestigationRecord;

  constructor(subject: ServerUnderTest, baseline: Baseline, options: InvestigationOptions) {
    const { metrics } = baseline;
    this.#subject = subject;
    this.#setting = options.setting();
    this.#onStep = options.onStep;
    this.#onCpuProfile = options.onCpuProfile;
    this.#waitStacks = options.waitStacks;
    this.#length = computeBlockLength(metrics.base.load, metrics.responseMs);
    this.#budget = new TimeBudget(options.untilMs, this.#length);
    this.#record = new InvestigationRecord(subject, baseline);
    this.functions = new FunctionSampling({
      ...{ subject, options, record: this.#record, budget: this.#budget },
      setting: this.#setting,
    });
    const skipped = findSkippedExperiments(
      metrics,
      this.#record.state.evaluation.hypotheses,
      this.#setting,
    );
    for (const what of skipped) this.#record.recordSkipped(what);
  }

  /** Findings so far. */
  result(): Findings {
    return this.#record.conclude();
  }

  get skippedExperiments(): readonly string[] {
    return this.#record.state.skippedExperiments;
  }

  /** Records what is not measured, with the reason. */
  recordSkipped(what: string): void {
    this.#record.recordSkipped(what);
  }

  /** Counts what the thread pool runs, if it is a possible limit. */
  async countPoolJobs(): Promise<void> {
    if (!this.#record.isPossible('threadpool')) return;
    this.#onStep('counting the jobs of the thread pool');
    this.#record.apply({ kind: 'pool-jobs', poolJobs: await countPoolJobs(this.#subject) });
  }

  /** Asks for the files that the server writes synchronously, if that is a possible limit. */
  async findWrittenFiles(): Promise<void> {
    if (!this.#record.isPossible('synchronous-writes')) return;
    const answers = await this.#subject.hub?.command('writtenFiles', {}).catch(() => []);
    this.#record.apply({
      kind: 'written-files',
      writtenFiles: [...new Set((answers ?? []).flat())],
    });
  }

  /** Runs experiments on the running server, in interleaved rounds. */
  async runLiveExperiments(): Promise<void> {
    const { metrics, history } = this.#record.state;
    if (this.#isQuiet()) return;
    const { chosen, untilMs } = this.#selectLiveExperiments();
    this.#recordUnmade(chosen);
    const growth = new HeapGrowth(this.#subject, history.retained);
    const isGrowing = this.#record.isPossible('memory-growth');
    if (chosen.length === 0 && !isGrowing) return;
    const blocks: MeasuredBlocks = { base: [], changed: new Map() };
    try {
      await runRounds(this.#subject, metrics, chosen, blocks, {
        length: this.#length,
        rounds: MAX_ROUNDS,
        untilMs,
        onBlock: (what) => this.#onStep(`experiment: ${what}`),
        onFailed: (name, why) => this.#record.recordUnmade(name, why),
        onMeasured: (experiment, block) => {
          if (experiment !== null && !experiment.keepsCost) return;
          this.#record.apply({ kind: 'cost', cost: this.#record.computeCost(block) });
        },
        ...(isGrowing && { onRound: growth.measureRound }),
      });
    } finally {
      // Complete rounds count, whatever ended the others.
      this.#record.apply({ kind: 'rounds', blocks: blocks.base.length > 0 ? blocks : null });
      for (const experiment of chosen)
        this.#record.apply({ kind: 'experiment', experiment, blocks: this.#record.state.blocks });
      this.#record.apply({ kind: 'derived', kept: growth.computeRatio() });
    }
  }

  /** Selects the live experiments, and the time until which they may run. */
  #selectLiveExperiments(): { chosen: Experiment[]; untilMs: number } {
    const { metrics, evaluation } = this.#record.state;
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
      this.#record.recordSkipped(
        `experiments: no time, since a block takes ${time(blockMs)}; give it more time (--budget)`,
      );
    }
    return { chosen, untilMs };
  }

  /** Records the experiments that the user permits and that do not fit into the time. */
  #recordUnmade(chosen: Experiment[]): void {
    const { metrics, evaluation } = this.#record.state;
    for (const { experiment, worth } of rankExperiments(
      metrics,
      evaluation.hypotheses,
      this.#setting,
    )) {
      const isReported = experiment.changesDependencies && worth > MIN_REPORTED_WORTH;
      if (isReported && !chosen.includes(experiment))
        this.#record.recordUnmade(experiment.name, NO_TIME);
    }
  }

  /** Adds connections until requests queue, if there are too few connections. */
  async rampConnections(): Promise<void> {
    if (!this.#canRamp() || this.#record.decide().chosen?.limit !== 'too-few-connections') return;
    await rampConnections(this.#subject, this.#record.state.metrics, {
      budget: this.#budget,
      length: this.#length,
      onStep: this.#onStep,
      onBlock: (connectionRamp, block) =>
        this.#record.apply({ kind: 'ramp', connectionRamp, block }),
      onSkipped: (reason) => this.#record.recordSkipped(reason),
    });
  }

  #canRamp(): boolean {
    return this.#setting.canAddLoad && canTryMore(this.#record.state.metrics);
  }

  #computeReserveMs(ranked: Experiment[]): number {
    return this.#budget.computeReserveMs({
      ranked,
      metrics: this.#record.state.metrics,
      subject: this.#subject,
      canRestart: this.#setting.canRestart,
      profileMs:
        this.#computeProfileMs() + this.functions.computeReserveMs() + this.#computeWaitsMs(),
      rampMs: this.#computeRampMs(),
    });
  }

  /** Time for the connection ramp, if there seem to be too few connections. */
  #computeRampMs(): number {
    const [top] = this.#record.state.evaluation.hypotheses;
    const applies = top?.limit === 'too-few-connections' && this.#canRamp();
    return applies ? this.#budget.computeRampMs() : 0;
  }

  /** Time that is reserved for profiles: where the loop may be the limit, or the caller wants one. */
  #computeProfileMs(): number {
    const isBusy = this.#record.isLoopBusy;
    if (!this.#subject.hub || !(isBusy || this.#onCpuProfile)) return 0;
    const againMs = isBusy && hidesInlined(this.#subject) ? WITHOUT_INLINING_MS + PROFILE_MS : 0;
    return PROFILE_MS + againMs;
  }

  /** Time that is reserved for observing waits: where most requests wait in handlers. */
  #computeWaitsMs(): number {
    const { metrics } = this.#record.state;
    const isWanted = this.#setting.hasProbe && isMostlyWaitingInHandlers(metrics);
    if (!isWanted) return 0;
    const { settleMs, measureMs } = computeObservedBlock(metrics.responseMs, this.#length);
    return settleMs + measureMs;
  }

  /** Runs experiments that need new servers, only for possible verdicts: each takes seconds. */
  async runRestartExperiments(): Promise<void> {
    const tried = new Set<Experiment>();
    const untried = () => this.#rankRestartExperiments().filter((it) => !tried.has(it));
    for (;;) {
      // A restart confirms that the cost of a request grows; what grows is second to that.
      const isFirst = this.#record.decide().chosen?.limit === 'degrades-over-time';
      const sampledMs = isFirst
        ? 0
        : this.functions.computeSampleMs() + this.functions.computeComparisonMs();
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
      this.#record.recordUnmade(name, NO_TIME);
    }
  }

  /** Time for the reference server, which runs after the server under test has ended. */
  #computeReferenceMs(): number {
    const { chosen } = this.#record.decide();
    const isWanted = chosen !== null && exceedsReference(chosen, this.#record.conclude());
    return this.#setting.canRestart && isWanted ? REFERENCE_RUN_MS : 0;
  }

  /** Time for what comes after all comparisons on the running server: experiments on new servers, functions, heaps. */
  #computeLaterMs(): number {
    const restartsMs = this.#estimateRestartsMs(this.#rankRestartExperiments());
    return this.functions.computeSampleMs() + restartsMs + this.functions.computeComparisonMs();
  }

  /** The experiments on new servers that test a possible verdict, most informative first. */
  #rankRestartExperiments(): Experiment[] {
    const { chosen, also } = this.#record.decide();
    const wanted = [chosen, ...also].filter((hypothesis) => hypothesis !== null);
    return this.#rank(wanted).filter((it) => needsServer(it, this.#record.state.metrics));
  }

  /** Compares throughput with and without the probe's subscriptions, if there is time. */
  async measureProbeCost(): Promise<void> {
    if (!this.#setting.hasProbe || isKeepingUp(this.#record.state.metrics)) return;
    this.#onStep('measuring the cost of the probe');
    const reserveMs = this.#computeLaterMs();
    const probeCost = await measureProbeCost(
      this.#subject,
      this.#length,
      this.#budget,
      reserveMs,
      (error) => this.#recordProbeFailure('cost of the probe', error),
    );
    this.#record.apply({ kind: 'probe-cost', probeCost });
  }

  /** Observes what the requests wait for that wait in handlers. */
  async observeWaits(): Promise<void> {
    const { metrics } = this.#record.state;
    if (!this.#setting.hasProbe || !isWaitingInHandlers(metrics)) return;
    const during = computeObservedBlock(metrics.responseMs, this.#length);
    const reserveMs = this.#estimateRestartsMs(this.#rankRestartExperiments());
    if (
      !this.#budget.fits(
        during.settleMs + during.measureMs,
        this.#computeWaitsMs() > 0 ? 0 : reserveMs,
      )
    ) {
      this.#record.recordSkipped(`what requests wait for, by code: ${NO_TIME}`);
      return;
    }
    this.#onStep('observing what requests wait for');
    const waits = await observeWaits(this.#subject, {
      ...{ during, depth: this.#waitStacks, length: this.#length, budget: this.#budget },
      reserveMs,
    });
    this.#record.apply({ kind: 'waits', waits });
  }

  /** Takes a CPU profile of the unchanged load. Where the loop is busy, limits are read from it too. */
  async takeProfile(): Promise<void> {
    if (!this.#setting.hasProbe) return;
    const { chosen } = this.#record.decide();
    const isReserved = this.#computeProfileMs() > 0;
    const reserveMs = this.#estimateRestartsMs(this.#rankRestartExperiments());
    if (!isReserved && !this.#budget.fits(PROFILE_MS, reserveMs)) {
      this.#record.recordSkipped(`the CPU time by function: ${NO_TIME}`);
      return;
    }
    this.#onStep('taking a CPU profile');
    const profile = await profileLoad(this.#subject);
    if (!profile) return;
    this.#record.apply({ kind: 'cpu', cpu: buildProcessCpu(profile) });
    this.#onCpuProfile?.(profile.raw);
    if (!chosen || !this.#record.isLoopBusy) return;
    const profiles = await deriveProfiles(this.#subject, chosen.limit, profile);
    this.#record.apply({ kind: 'profile', of: chosen.limit, profiles });
  }

  /**
   * Repeats an experiment that is the remedy and had a large effect: for longer and without the probe. In the short
   * blocks between unchanged ones the code for the higher throughput is not compiled yet.
   */
  async repeatRemedy(): Promise<void> {
    const { chosen } = this.#record.decide();
    const name = findRemedyToRepeat(this.#record.conclude());
    const experiment = EXPERIMENTS.find((it) => it.name === name);
    if (!chosen || !experiment || needsServer(experiment, this.#record.state.metrics)) return;
    const length = computeRepeatLength(this.#length);
    const reserveMs = this.#computeLaterMs();
    if (!this.#budget.fits(length.settleMs + length.measureMs, reserveMs)) return;
    this.#onStep(`repeating for longer: ${EXPERIMENT_LABELS[experiment.name]}`);
    const change = experiment.change(this.#record.state.metrics, this.#subject.options);
    const hub = this.#setting.hasProbe ? this.#subject.hub : null;
    const onFailure = (why: string) => this.#record.recordSkipped(why);
    try {
      const block = await repeatChange(this.#subject, hub, length, change, onFailure);
      this.#record.apply({
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
    this.#record.recordSkipped(`${what}: ${describeFailure(error)}`);
  }

  /** Whether all requests are answered in time and no hypothesis is strong. */
  #isQuiet(): boolean {
    return (
      isKeepingUp(this.#record.state.metrics) &&
      this.#record.state.evaluation.hypotheses.every(({ weight }) => weight < MIN_WEIGHT)
    );
  }

  #rank(hypotheses: Hypothesis[]): Experiment[] {
    return rankExperiments(this.#record.state.metrics, hypotheses, this.#setting).map(
      ({ experiment }) => experiment,
    );
  }

  #estimateRestartsMs(experiments: Experiment[]): number {
    return this.#budget.estimateRestartsMs(experiments, this.#record.state.metrics, this.#subject);
  }

  async #runRestartExperiment(experiment: Experiment): Promise<void> {
    const { metrics } = this.#record.state;
    const tried = await runOnNewServers(experiment, metrics, this.#subject, this.#length);
    if (typeof tried === 'string') {
      this.#record.recordUnmade(experiment.name, tried);
      return;
    }
    const { base, changed } = tried;
    this.#record.apply({
      kind: 'experiment',
      experiment,
      blocks: { base, changed: new Map([[experiment.name, changed]]) },
      ...(isAfterRestart(experiment) && {
        costAfterRestart: this.#record.computeCost(changed.at(-1)),
      }),
    });
  }
}
