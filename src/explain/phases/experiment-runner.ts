import { share, time } from '../../format/units.js';
import type { LoadResult } from '../../load/result.js';
import { median } from '../../statistics/median.js';
import { estimateNoiseFloor, limitTolerance } from '../../statistics/noise.js';
import type { MeasuredRatio } from '../../statistics/types.js';
import { buildCapacityCurve } from '../conclusion/capacity-curve.js';
import { findRemedyToRepeat } from '../conclusion/prediction/remedy-experiment.js';
import { exceedsReference } from '../conclusion/prediction/remedy-prediction.js';
import { decideVerdict, isKeepingUp } from '../conclusion/verdict.js';
import {
  EXPERIMENT_LABELS,
  type ExperimentMetric,
  type ExperimentName,
} from '../experiment-names.js';
import { canTryMore } from '../experiments/connection-ramp.js';
import { EXPERIMENTS, type Experiment } from '../experiments/definitions.js';
import { type MeasuredBlocks, measureRatio, runRounds } from '../experiments/interleaved-rounds.js';
import { addPredictions, buildMemoryResult, deriveResults } from '../experiments/predictions.js';
import {
  findSkippedExperiments,
  MIN_WEIGHT,
  needsServer,
  orderByServer,
  rankExperiments,
  selectWithinTime,
} from '../experiments/selection.js';
import type { ExperimentSetting } from '../experiments/setting.js';
import type { Finding, Findings, RepeatedRemedy } from '../findings.js';
import type { CostOverTime, Retained } from '../hypotheses/history.js';
import type { Evaluation, Hypothesis } from '../hypotheses/hypothesis.js';
import type { LimitId } from '../limit-ids.js';
import { evaluateHypotheses } from '../limits/evaluate.js';
import { LIMITS } from '../limits/limits.js';
import { computeCpuMs, computeErrorShare, refineMetrics } from '../metrics/derive.js';
import type { Metrics } from '../metrics/types.js';
import type { Observation } from '../observe/types.js';
import { PROFILE_MS, takeProfiles } from '../profile/capture.js';
import type { ExperimentResult, HotFunction } from '../result.js';
import { type BlockLength, computeBlockLength } from '../target/block-length.js';
import { ProbeFailure, type ServerUnderTest } from '../target/server-under-test.js';
import type { Baseline } from './baseline.js';
import { rampConnections } from './connection-ramp.js';
import { computeRepeatLength, measureProbeCost, repeatChange } from './follow-up-runs.js';
import { HeapGrowth } from './heap-growth.js';
import type { InvestigationOptions } from './options.js';
import { countPoolJobs } from './pool-jobs.js';
import { REFERENCE_RUN_MS } from './reference-server.js';
import { isAfterRestart, runOnNewServers } from './restarts.js';
import { TimeBudget } from './time-budget.js';

/** Maximum number of rounds of live experiments. */
const MAX_ROUNDS = 5;

/** Runs the experiments on one server, and collects their results. */
export class ExperimentRunner {
  readonly skippedExperiments: string[];
  readonly #subject: ServerUnderTest;
  #metrics: Metrics;
  readonly #retained: Retained | null;
  readonly #setting: ExperimentSetting;
  readonly #onStep: (what: string) => void;
  readonly #length: BlockLength;
  readonly #budget: TimeBudget;
  readonly #costHistory: CostOverTime[] = [];
  #costAfterRestart: CostOverTime | null = null;
  /** Blocks with more connections than configured. */
  readonly #rampBlocks: Observation[] = [];
  readonly #experiments: ExperimentResult[] = [];
  #blocks: MeasuredBlocks;
  #evaluation: Evaluation;
  #probeCost: MeasuredRatio | null = null;
  /** Result of the repeated remedy, and the limit that the remedy addresses. */
  #repeatedRemedy: (RepeatedRemedy & { of: LimitId }) | null = null;
  #hotFunctions: HotFunction[] = [];
  #dominantCall: HotFunction | null = null;
  /** The function that causes a limit, and that limit. */
  #rootCause: { of: LimitId; is: HotFunction } | null = null;

  constructor(subject: ServerUnderTest, baseline: Baseline, options: InvestigationOptions) {
    const { metrics, retained } = baseline;
    this.#subject = subject;
    this.#metrics = metrics;
    this.#retained = retained;
    this.#setting = options.setting();
    this.#onStep = options.onStep;
    this.#length = computeBlockLength(metrics.base.load, metrics.responseMs);
    this.#budget = new TimeBudget(options.untilMs, this.#length);
    this.#blocks = { base: [metrics.base], changed: new Map() };
    this.#recordCost(metrics.base);
    this.#evaluation = this.#evaluate();
    this.skippedExperiments = hasEnoughResponses(metrics)
      ? []
      : [
          `too few responses for a verdict: ${countResponses(metrics.base.load)} in ${time(metrics.base.load.durationMs)}; give it more time (--budget, --timeout)`,
        ];
    this.skippedExperiments.push(
      ...findSkippedExperiments(metrics, this.#evaluation.hypotheses, this.#setting),
    );
  }

  /** Counts what the thread pool runs, if it is a possible limit. */
  async countPoolJobs(): Promise<void> {
    if (!this.#evaluation.hypotheses.some(({ limit }) => limit === 'threadpool')) return;
    this.#onStep('counting the jobs of the thread pool');
    const poolJobs = await countPoolJobs(this.#subject);
    this.#metrics = { ...this.#metrics, poolJobs };
    this.#evaluation = this.#evaluate();
  }

  /** Asks for the files that the server writes synchronously, if that is a possible limit. */
  async findWrittenFiles(): Promise<void> {
    const { hub } = this.#subject;
    if (!this.#evaluation.hypotheses.some(({ limit }) => limit === 'synchronous-writes')) return;
    const answers = (await hub?.command('writtenFiles', {}).catch(() => [])) ?? [];
    this.#metrics = { ...this.#metrics, writtenFiles: [...new Set(answers.flat())] };
  }

  /** Runs experiments on the running server, in interleaved rounds. */
  async runLiveExperiments(): Promise<void> {
    if (this.#isQuiet()) return;
    const ranked = this.#rank(this.#evaluation.hypotheses);
    const startsServer = (it: Experiment) => needsServer(it, this.#metrics);
    const reserveMs = this.#computeReserveMs(ranked);
    // A rate that is sustained stays the same whatever changes, so throughput shows nothing.
    const candidates = isKeepingUp(this.#metrics) ? [] : ranked.filter((it) => !startsServer(it));
    const inTime = this.#budget.selectAffordable(candidates, this.#budget.untilMs - reserveMs);
    // With slow responses, one experiment now is worth more than a restart later.
    const [chosen, untilMs] =
      inTime.length > 0
        ? [inTime, this.#budget.untilMs - reserveMs]
        : [this.#budget.selectAffordable(candidates, this.#budget.untilMs), this.#budget.untilMs];
    if (chosen.length === 0 && candidates.length > 0) {
      this.skippedExperiments.push(
        `experiments: no time, since a block takes ${time(this.#budget.blockMs)}; give it more time (--budget)`,
      );
    }
    const growth = new HeapGrowth(this.#subject, this.#retained);
    const isGrowing = this.#evaluation.hypotheses.some(({ limit }) => limit === 'memory-growth');
    if (chosen.length === 0 && !isGrowing) return;
    const blocks: MeasuredBlocks = { base: [], changed: new Map() };
    try {
      await runRounds(this.#subject, this.#metrics, chosen, blocks, {
        length: this.#length,
        rounds: MAX_ROUNDS,
        untilMs,
        onBlock: (what) => this.#onStep(`experiment: ${what}`),
        onFailed: (name, why) => this.#skip(name, `the probe failed: ${why}`),
        onMeasured: (name, block) => {
          if (name === null || SAME_COST.has(name)) this.#recordCost(block);
        },
        ...(isGrowing && { onRound: growth.measureRound }),
      });
    } finally {
      // Complete rounds count, whatever ended the others.
      if (blocks.base.length > 0) this.#blocks = this.#discardIfFailing(blocks);
      this.#metrics = refineMetrics(this.#metrics, this.#blocks.base);
      this.#evaluation = this.#evaluate();
      for (const experiment of chosen) this.#addResult(experiment, this.#blocks);
      this.#experiments.push(
        ...deriveResults(this.#blocks, this.#metrics, this.#evaluation.hypotheses),
      );
      const kept = growth.computeRatio();
      if (kept) this.#experiments.push(buildMemoryResult(kept, this.#evaluation.hypotheses));
    }
  }

  /** Adds connections until requests queue, if there are too few connections. */
  async rampConnections(): Promise<void> {
    if (!this.#canRamp() || this.#decide().chosen?.limit !== 'too-few-connections') return;
    await rampConnections(this.#subject, this.#metrics, {
      budget: this.#budget,
      length: this.#length,
      onStep: this.#onStep,
      onBlock: (connectionRamp, block) => {
        this.#rampBlocks.push(block);
        this.#metrics = { ...this.#metrics, connectionRamp };
        this.#evaluation = this.#evaluate();
      },
      onSkipped: (reason) => this.skippedExperiments.push(reason),
    });
  }

  #canRamp(): boolean {
    return this.#setting.canAddLoad && canTryMore(this.#metrics);
  }

  #computeReserveMs(ranked: Experiment[]): number {
    return this.#budget.computeReserveMs({
      ranked,
      metrics: this.#metrics,
      subject: this.#subject,
      canRestart: this.#setting.canRestart,
      profileMs: this.#computeProfileMs(),
      rampMs: this.#computeRampMs(),
    });
  }

  /** Time for the connection ramp, if there seem to be too few connections. */
  #computeRampMs(): number {
    const [top] = this.#evaluation.hypotheses;
    const applies = top?.limit === 'too-few-connections' && this.#canRamp();
    return applies ? this.#budget.computeRampMs() : 0;
  }

  /**
   * Discards the blocks if the unchanged load began to fail: ratios of errors say nothing about the state before (the
   * window of a rate limiter has ended, a circuit breaker has opened).
   */
  #discardIfFailing(blocks: MeasuredBlocks): MeasuredBlocks {
    const failing = computeErrorShare(blocks.base);
    if (failing <= this.#metrics.errorShare + MAX_ADDED_ERROR_SHARE) return blocks;
    this.skippedExperiments.push(
      `all experiments: ${share(failing)} of the requests under the unchanged load failed meanwhile, at first ${share(this.#metrics.errorShare)}`,
    );
    return { base: [this.#metrics.base], changed: new Map() };
  }

  /** Time for a profile, if one will be taken. */
  #computeProfileMs(): number {
    const { base, loop } = this.#metrics;
    const busy = base.inside?.utilization ?? loop?.run ?? 0;
    return this.#subject.hub && busy > 0.5 ? PROFILE_MS : 0;
  }

  /** Runs experiments that need new servers, only for possible verdicts: each takes seconds. */
  async runRestartExperiments(): Promise<void> {
    const tried = new Set<Experiment>();
    const untried = () => this.#rankRestartExperiments().filter((it) => !tried.has(it));
    for (;;) {
      const leftMs = this.#budget.leftMs - this.#computeReferenceMs();
      const [experiment] = orderByServer(
        selectWithinTime(untried(), leftMs, (it) => this.#estimateRestartsMs([it])),
      );
      if (!experiment) break;
      tried.add(experiment);
      this.#onStep(`experiment: ${EXPERIMENT_LABELS[experiment.name]}`);
      await this.#runRestartExperiment(experiment);
      // The result may make another experiment worthwhile or superfluous.
      this.#evaluation = this.#evaluate();
    }
    for (const { name } of untried()) {
      this.#skip(name, 'no time left; give it more time (--budget)');
    }
  }

  /** Time for the reference server, which runs after the server under test has ended. */
  #computeReferenceMs(): number {
    const { chosen } = this.#decide();
    const isWanted =
      chosen !== null && exceedsReference(chosen, { ...this.result(), interrupted: false });
    return this.#setting.canRestart && isWanted ? REFERENCE_RUN_MS : 0;
  }

  /** The experiments on new servers that test a possible verdict, most informative first. */
  #rankRestartExperiments(): Experiment[] {
    const { chosen, also } = this.#decide();
    const wanted = [chosen, ...also].filter((hypothesis) => hypothesis !== null);
    return this.#rank(wanted).filter((it) => needsServer(it, this.#metrics));
  }

  /** Compares throughput with and without the probe's subscriptions, if there is time. */
  async measureProbeCost(): Promise<void> {
    if (!this.#setting.hasProbe || isKeepingUp(this.#metrics)) return;
    this.#onStep('measuring the cost of the probe');
    const reserveMs = this.#estimateRestartsMs(this.#rankRestartExperiments());
    this.#probeCost = await measureProbeCost(
      this.#subject,
      this.#length,
      this.#budget,
      reserveMs,
      (error) => this.#recordProbeFailure('cost of the probe', error),
    );
  }

  /** Takes a CPU profile, if the event loop is the limit. */
  async takeProfile(): Promise<void> {
    const { chosen } = this.#decide();
    if (!this.#subject.hub || this.#computeProfileMs() === 0 || !chosen) return;
    this.#onStep('taking a CPU profile');
    const { hotFunctions, dominantCall, loopTime, rootCause } = await takeProfiles(
      this.#subject,
      chosen.limit,
    );
    this.#hotFunctions = hotFunctions;
    this.#dominantCall = dominantCall;
    this.#rootCause = rootCause && { of: chosen.limit, is: rootCause };
    this.#metrics = { ...this.#metrics, loopTime };
    this.#evaluation = this.#evaluate();
  }

  /**
   * Repeats an experiment that is the remedy and had a large effect: for longer and without the probe. In the short
   * blocks between unchanged ones the code for the higher throughput is not compiled yet.
   */
  async repeatRemedy(): Promise<void> {
    const { chosen } = this.#decide();
    const name = findRemedyToRepeat({ ...this.result(), interrupted: false });
    const experiment = EXPERIMENTS.find((it) => it.name === name);
    if (!chosen || !experiment || needsServer(experiment, this.#metrics)) return;
    const length = computeRepeatLength(this.#length);
    const reserveMs = this.#estimateRestartsMs(this.#rankRestartExperiments());
    if (!this.#budget.fits(length.settleMs + length.measureMs, reserveMs)) return;
    this.#onStep(`repeating for longer: ${EXPERIMENT_LABELS[experiment.name]}`);
    const change = experiment.change(this.#metrics, this.#subject.options);
    const hub = this.#setting.hasProbe ? this.#subject.hub : null;
    const onFailure = (why: string) => this.skippedExperiments.push(why);
    try {
      const block = await repeatChange(this.#subject, hub, length, change, onFailure);
      this.#recordRepetition(experiment.name, chosen.limit, block);
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
    this.skippedExperiments.push(`${what}: the probe failed: ${error.message}`);
  }

  #recordRepetition(experiment: ExperimentName, of: LimitId, block: Observation): void {
    const failing = computeErrorShare([block]);
    if (failing > this.#metrics.errorShare + MAX_ADDED_ERROR_SHARE) {
      this.skippedExperiments.push(
        `${EXPERIMENT_LABELS[experiment]} for longer: ${share(failing)} of its requests failed`,
      );
      return;
    }
    this.#repeatedRemedy = { of, experiment, throughput: block.throughput };
  }

  result(): Omit<Findings, 'interrupted'> {
    // A process may have ended meanwhile.
    this.#evaluation = this.#evaluate();
    const finding = this.#decide();
    return {
      ...this.#evaluation,
      metrics: this.#metrics,
      finding,
      experiments: this.#experiments,
      noise: this.#computeNoise(),
      probeCost: this.#probeCost,
      hotFunctions: this.#hotFunctions,
      dominantCall: this.#dominantCall,
      rootCauseFunction:
        this.#rootCause?.of === finding.chosen?.limit ? (this.#rootCause?.is ?? null) : null,
      capacityCurve: buildCapacityCurve(this.#metrics, this.#blocks, this.#rampBlocks),
      referenceThroughput: null,
      repeatedRemedy:
        this.#repeatedRemedy?.of === finding.chosen?.limit ? this.#repeatedRemedy : null,
      baselineThroughput: median(
        [this.#metrics.base, ...this.#blocks.base].map(({ throughput }) => throughput),
      ),
      skippedExperiments: this.skippedExperiments,
    };
  }

  #evaluate(): Evaluation {
    const second = this.#experiments.find(({ name }) => name === 'second-process');
    const evaluation = evaluateHypotheses(this.#metrics, {
      retained: this.#retained,
      exhausted: this.#subject.hub?.heapExhaustions ?? [],
      costOverTime: this.#costHistory,
      secondProcess: second?.measured ?? null,
      afterRestart: this.#costAfterRestart,
    });
    return hasEnoughResponses(this.#metrics) ? evaluation : selectSampled(evaluation);
  }

  #decide(): Finding {
    const tolerance = limitTolerance(this.#computeNoise());
    return decideVerdict(
      this.#metrics,
      this.#evaluation.hypotheses,
      this.#experiments,
      tolerance,
      this.#blocks.base.map(({ throughput }) => throughput),
    );
  }

  #computeNoise(): number {
    return estimateNoiseFloor(this.#blocks.base.map(({ throughput }) => throughput));
  }

  #recordCost(block: Observation): void {
    const age = this.#computeCost(block);
    if (age) this.#costHistory.push(age);
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
      isKeepingUp(this.#metrics) &&
      this.#evaluation.hypotheses.every(({ weight }) => weight < MIN_WEIGHT)
    );
  }

  #rank(hypotheses: Hypothesis[]): Experiment[] {
    return rankExperiments(this.#metrics, hypotheses, this.#setting).map(
      ({ experiment }) => experiment,
    );
  }

  #estimateRestartsMs(experiments: Experiment[]): number {
    return this.#budget.estimateRestartsMs(experiments, this.#metrics, this.#subject);
  }

  async #runRestartExperiment(experiment: Experiment): Promise<void> {
    const tried = await runOnNewServers(experiment, this.#metrics, this.#subject, this.#length);
    if (typeof tried === 'string') {
      this.#skip(experiment.name, tried);
      return;
    }
    const { base, changed } = tried;
    if (isAfterRestart(experiment)) this.#costAfterRestart = this.#computeCost(changed.at(-1));
    this.#addResult(experiment, { base, changed: new Map([[experiment.name, changed]]) });
  }

  /** Notes why an experiment has no result. */
  #skip(name: ExperimentName, why: string): void {
    this.skippedExperiments.push(`${EXPERIMENT_LABELS[name]}: ${why}`);
  }

  #addResult(
    { name, describe, metric, tookEffect, noEffectReason }: Experiment,
    { base, changed }: MeasuredBlocks,
  ): void {
    const failing = computeErrorShare(changed.get(name) ?? []);
    if (failing > computeErrorShare(base) + MAX_ADDED_ERROR_SHARE && metric === undefined) {
      this.#skip(name, `${share(failing)} of its requests failed`);
      return;
    }
    const blocks = changed.get(name) ?? [];
    if (blocks.some((block) => tookEffect?.(block, this.#metrics) === false)) {
      this.#skip(name, noEffectReason ?? 'the command overrides the environment variable');
      return;
    }
    const measured = measureRatio(base, blocks, metric?.read);
    if (!measured) {
      if (blocks.length > 0) this.#skip(name, 'too few responses to compare');
      return;
    }
    const compared: ExperimentMetric = metric?.name ?? 'throughput';
    const result = { name, metric: compared, change: describe(this.#metrics) };
    this.#experiments.push(
      addPredictions({ ...result, otherwise: 1, measured }, this.#evaluation.hypotheses),
    );
  }
}

/** Selects what few responses are enough for. */
function selectSampled({ hypotheses }: Evaluation): Evaluation {
  return {
    hypotheses: hypotheses.filter(({ limit }) => LIMITS[limit].needsFewResponses),
    ruledOut: [],
  };
}

/** Experiments that do not change the CPU cost of a request. */
const SAME_COST = new Set<ExperimentName>(['connections-x2', 'connections-half']);

/** Maximum additional share of errors in an experiment: fast errors are no throughput. */
const MAX_ADDED_ERROR_SHARE = 0.05;

/** Number of responses in a block. */
function countResponses({ requests }: LoadResult): number {
  return requests.ok + requests.statusErrors;
}

/** Whether there are enough responses for means. A load that mostly fails is a result, too. */
function hasEnoughResponses({ base, errorShare, maxConcurrency }: Metrics): boolean {
  return errorShare > 0.5 || countResponses(base.load) >= Math.max(5, Math.min(maxConcurrency, 50));
}
