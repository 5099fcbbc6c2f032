import { count, share, time } from '../../format/units.js';
import type { LoadResult } from '../../load/result.js';
import { median } from '../../statistics/median.js';
import { estimateNoiseFloor, limitTolerance } from '../../statistics/noise.js';
import type { MeasuredRatio } from '../../statistics/types.js';
import { buildCapacityCurve } from '../conclusion/capacity-curve.js';
import { exceedsReference, findRemedyToRepeat } from '../conclusion/remedy-prediction.js';
import { decideVerdict, type Finding, isKeepingUp } from '../conclusion/verdict.js';
import {
  addKnee,
  canTryMore,
  chooseNextConnections,
  estimateKnee,
  evaluateRampStep,
} from '../experiments/connection-ramp.js';
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
import type { Change, ExperimentName, ExperimentSetting } from '../experiments/types.js';
import { type Evaluation, evaluateHypotheses } from '../hypotheses/evaluate.js';
import type { CostOverTime } from '../hypotheses/event-loop/cost-over-time.js';
import type { Hypothesis } from '../hypotheses/hypothesis.js';
import type { Retained } from '../hypotheses/machine/memory.js';
import type { Findings, InvestigationOptions, RepeatedRemedy } from '../investigation-types.js';
import type { LimitId } from '../limits/ids.js';
import { computeCpuMs, computeErrorShare, refineMetrics } from '../metrics/derive.js';
import type { ConnectionRamp, Metrics } from '../metrics/types.js';
import { HeapGrowth } from '../observe/probe/heap-growth.js';
import { withProbePaused } from '../observe/probe/hub.js';
import type { Observation } from '../observe/types.js';
import { PROFILE_MS, takeProfiles } from '../profile/capture.js';
import type { ExperimentResult, HotFunction } from '../result.js';
import { type BlockLength, computeBlockLength } from '../target/block-length.js';
import { REFERENCE_RUN_MS } from '../target/reference-server.js';
import { estimateRestartMs, isAfterRestart, runOnNewServers } from '../target/restarts.js';
import { ProbeFailure, type ServerUnderTest } from '../target/server-under-test.js';
import type { Baseline } from './baseline.js';

const MOST_ROUNDS = 5;
const LEAST_ROUNDS = 3;
/** Maximum number of live experiments; each adds a block to every round. */
const MOST_EXPERIMENTS = 4;
const LEAST_RESERVE_MS = 8000;
/** Maximum number of steps of the connection ramp. */
const MOST_STEPS = 3;
/** Length of a repeated remedy. Code that runs more often than before has to be compiled first. */
const REPEATED: BlockLength = { settleMs: 2000, measureMs: 2000 };

/** Runs the experiments on one server, and collects their results. */
export class ExperimentRunner {
  readonly skippedExperiments: string[];
  readonly #subject: ServerUnderTest;
  #metrics: Metrics;
  readonly #retained: Retained | null;
  readonly #setting: ExperimentSetting;
  readonly #untilMs: number;
  readonly #onStep: (what: string) => void;
  readonly #length: BlockLength;
  readonly #history: CostOverTime[] = [];
  #fresh: CostOverTime | null = null;
  /** Blocks with more connections than configured. */
  readonly #further: Observation[] = [];
  readonly #experiments: ExperimentResult[] = [];
  #blocks: MeasuredBlocks;
  #judged: Evaluation;
  #probeCost: MeasuredRatio | null = null;
  /** Result of the repeated remedy, and the limit that the remedy addresses. */
  #remedied: (RepeatedRemedy & { of: LimitId }) | null = null;
  #hot: HotFunction[] = [];
  /** The function that causes a limit, and that limit. */
  #culprit: { of: LimitId; is: HotFunction } | null = null;

  constructor(subject: ServerUnderTest, looked: Baseline, options: InvestigationOptions) {
    const { metrics, retained } = looked;
    this.#subject = subject;
    this.#metrics = metrics;
    this.#retained = retained;
    this.#setting = options.setting();
    this.#untilMs = options.untilMs;
    this.#onStep = options.onStep;
    this.#length = computeBlockLength(metrics.base.load, metrics.responseMs);
    this.#blocks = { base: [metrics.base], changed: new Map() };
    this.#note(metrics.base);
    this.#judged = this.#judge();
    this.skippedExperiments = isAnswered(metrics)
      ? []
      : [
          `too few responses for a verdict: ${completedOf(metrics.base.load)} in ${time(metrics.base.load.durationMs)}; give it more time (--budget, --timeout)`,
        ];
    this.skippedExperiments.push(
      ...findSkippedExperiments(metrics, this.#judged.hypotheses, this.#setting),
    );
  }

  /** Runs experiments on the running server, in interleaved rounds. */
  async runLiveExperiments(): Promise<void> {
    if (this.#isQuiet()) return;
    const telling = this.#telling(this.#judged.hypotheses);
    const isNew = (it: Experiment) => needsServer(it, this.#metrics);
    const reserveMs = this.#reserveMs(telling);
    // A rate that is sustained stays the same whatever changes, so throughput shows nothing.
    const some = isKeepingUp(this.#metrics) ? [] : telling.filter((it) => !isNew(it));
    const inTime = this.#affordable(some, this.#untilMs - reserveMs);
    // With slow responses, one experiment now is worth more than a restart later.
    const [chosen, untilMs] =
      inTime.length > 0
        ? [inTime, this.#untilMs - reserveMs]
        : [this.#affordable(some, this.#untilMs), this.#untilMs];
    if (chosen.length === 0 && some.length > 0) {
      this.skippedExperiments.push(
        `experiments: no time, since a block takes ${time(this.#blockMs())}; give it more time (--budget)`,
      );
    }
    const growth = new HeapGrowth(this.#subject, this.#retained);
    const grows = this.#judged.hypotheses.some(({ limit }) => limit === 'memory-growth');
    if (chosen.length === 0 && !grows) return;
    const blocks: MeasuredBlocks = { base: [], changed: new Map() };
    try {
      await runRounds(this.#subject, this.#metrics, chosen, blocks, {
        length: this.#length,
        rounds: MOST_ROUNDS,
        untilMs,
        onBlock: (what) => this.#onStep(`experiment: ${what}`),
        onFailed: (name, why) => this.skippedExperiments.push(`${name}: the probe failed: ${why}`),
        onMeasured: (name, block) => {
          if (name === null || SAME_COST.has(name)) this.#note(block);
        },
        ...(grows && { onRound: growth.measureRound }),
      });
    } finally {
      // Complete rounds count, whatever ended the others.
      if (blocks.base.length > 0) this.#blocks = this.#unlessFailing(blocks);
      this.#metrics = refineMetrics(this.#metrics, this.#blocks.base);
      this.#judged = this.#judge();
      for (const experiment of chosen) this.#add(experiment, this.#blocks);
      this.#experiments.push(
        ...deriveResults(this.#blocks, this.#metrics, this.#judged.hypotheses),
      );
      const kept = growth.computeRatio();
      if (kept) this.#experiments.push(buildMemoryResult(kept, this.#judged.hypotheses));
    }
  }

  /** Adds connections until requests queue, if there are too few connections. */
  async rampConnections(): Promise<void> {
    if (!this.#mayGoBeyond() || this.#finding().chosen?.limit !== 'too-few-connections') return;
    let before: ConnectionRamp | null = null;
    for (let step = 0; step < MOST_STEPS; step += 1) {
      const connections = chooseNextConnections(this.#metrics, before);
      if (connections === null) break;
      const seen = await this.#tryConnections(connections, before);
      if (!seen) return;
      this.#continueFrom(seen);
      before = seen;
    }
    if (!before?.isQueueing) return;
    // The recommended number of connections is measured as well.
    const inFlight = estimateKnee(this.#metrics, before);
    const knee = inFlight === null ? null : await this.#tryConnections(inFlight, before);
    if (knee) this.#continueFrom(addKnee(before, knee));
  }

  #continueFrom(connectionRamp: ConnectionRamp): void {
    this.#metrics = { ...this.#metrics, connectionRamp };
    this.#judged = this.#judge();
  }

  /** Measures a number of requests in flight; `null` if the result cannot be used. */
  async #tryConnections(
    inFlight: number,
    before: ConnectionRamp | null,
  ): Promise<ConnectionRamp | null> {
    if (performance.now() + this.#blockMs() > this.#untilMs) return null;
    const { pipelining } = this.#metrics.base.load.plan;
    const connections = Math.max(1, Math.round(inFlight / pipelining));
    this.#onStep(`experiment: ${count(connections)} connections`);
    const block = await this.#subject.runBlock(this.#length, { load: { connections } });
    const seen = evaluateRampStep(this.#metrics, block, before);
    if (!seen) {
      this.skippedExperiments.push(
        `${count(connections)} connections: ${share(computeErrorShare([block]))} of the requests failed`,
      );
      return null;
    }
    this.#further.push(block);
    return seen;
  }

  #mayGoBeyond(): boolean {
    return this.#setting.canAddLoad && canTryMore(this.#metrics);
  }

  /** Time reserved for experiments that start servers, as far as higher-ranked live experiments leave it. */
  #reserveMs(telling: Experiment[]): number {
    const servers = telling.filter((it) => needsServer(it, this.#metrics));
    const [first] = servers;
    const before = first ? telling.indexOf(first) : telling.length;
    const leftMs = this.#untilMs - performance.now() - this.#profileMs();
    const live = 1 + Math.min(MOST_EXPERIMENTS, before);
    const spareMs = Math.max(0, leftMs - LEAST_ROUNDS * live * this.#blockMs());
    // The results may call for a restart later.
    const maybe = this.#setting.canRestart ? LEAST_RESERVE_MS : 0;
    const wanted = Math.max(Math.min(this.#serversMs(servers), leftMs / 2), maybe);
    // The connection ramp needs no new server: if it applies, restarts are not informative.
    return Math.max(Math.min(wanted, spareMs), this.#beyondMs()) + this.#profileMs();
  }

  /** Time for the connection ramp, if there seem to be too few connections. */
  #beyondMs(): number {
    const [top] = this.#judged.hypotheses;
    if (top?.limit !== 'too-few-connections' || !this.#mayGoBeyond()) return 0;
    return Math.min((MOST_STEPS + 1) * this.#blockMs(), (this.#untilMs - performance.now()) / 3);
  }

  /**
   * Discards the blocks if the unchanged load began to fail: ratios of errors say nothing about the state before (the
   * window of a rate limiter has ended, a circuit breaker has opened).
   */
  #unlessFailing(blocks: MeasuredBlocks): MeasuredBlocks {
    const failing = computeErrorShare(blocks.base);
    if (failing <= this.#metrics.errorShare + MORE_ERRORS) return blocks;
    this.skippedExperiments.push(
      `all experiments: ${share(failing)} of the requests under the unchanged load failed meanwhile, at first ${share(this.#metrics.errorShare)}`,
    );
    return { base: [this.#metrics.base], changed: new Map() };
  }

  /** Time for a profile, if one will be taken. */
  #profileMs(): number {
    const { base, loop } = this.#metrics;
    const busy = base.inside?.utilisation ?? loop?.run ?? 0;
    return this.#subject.hub && busy > 0.5 ? PROFILE_MS : 0;
  }

  /** Runs experiments that need new servers, only for possible verdicts: each takes seconds. */
  async runRestartExperiments(): Promise<void> {
    const tried = new Set<Experiment>();
    const untried = () => this.#onNewServers().filter((it) => !tried.has(it));
    for (;;) {
      const leftMs = this.#untilMs - performance.now() - this.#bareMs();
      const [experiment] = orderByServer(
        selectWithinTime(untried(), leftMs, (it) => this.#serversMs([it])),
      );
      if (!experiment) break;
      tried.add(experiment);
      this.#onStep(`experiment: ${experiment.name}`);
      await this.#tryServers(experiment);
      // The result may make another experiment worthwhile or superfluous.
      this.#judged = this.#judge();
    }
    for (const { name } of untried()) {
      this.skippedExperiments.push(`${name}: no time left; give it more time (--budget)`);
    }
  }

  /** Time for the reference server, which runs after the server under test has ended. */
  #bareMs(): number {
    const { chosen } = this.#finding();
    const isWanted =
      chosen !== null && exceedsReference(chosen, { ...this.result(), interrupted: false });
    return this.#setting.canRestart && isWanted ? REFERENCE_RUN_MS : 0;
  }

  /** The experiments on new servers that test a possible verdict, most informative first. */
  #onNewServers(): Experiment[] {
    const { chosen, also } = this.#finding();
    const wanted = [chosen, ...also].filter((hypothesis) => hypothesis !== null);
    return this.#telling(wanted).filter((it) => needsServer(it, this.#metrics));
  }

  /** Compares throughput with and without the probe's subscriptions, if there is time. */
  async measureProbeCost(): Promise<void> {
    if (!this.#setting.hasProbe || isKeepingUp(this.#metrics)) return;
    this.#onStep('measuring the cost of the probe');
    const off: Change = {
      probe: {
        on: { name: 'subscribe', options: { on: false } },
        off: { name: 'subscribe', options: { on: true } },
      },
    };
    const [on, without]: [Observation[], Observation[]] = [[], []];
    const pairMs = 2 * this.#blockMs();
    const reserveMs = this.#serversMs(this.#onNewServers());
    try {
      for (let round = 0; round < MOST_ROUNDS; round += 1) {
        if (performance.now() + pairMs > this.#untilMs - reserveMs) break;
        const order = round % 2 === 0 ? [off, undefined] : [undefined, off];
        for (const change of order) {
          const block = await this.#subject.runBlock(this.#length, change);
          (change ? without : on).push(block);
        }
      }
    } catch (error) {
      this.#missedByProbe('cost of the probe', error);
    }
    this.#probeCost = measureRatio(without, on);
  }

  /** Takes a CPU profile, if the event loop is the limit. */
  async takeProfile(): Promise<void> {
    const { chosen } = this.#finding();
    if (!this.#subject.hub || this.#profileMs() === 0 || !chosen) return;
    this.#onStep('taking a CPU profile');
    const { hotFunctions, loopTime, rootCause } = await takeProfiles(this.#subject, chosen.limit);
    this.#hot = hotFunctions;
    this.#culprit = rootCause && { of: chosen.limit, is: rootCause };
    this.#metrics = { ...this.#metrics, loopTime };
    this.#judged = this.#judge();
  }

  /**
   * Repeats an experiment that is the remedy and had a large effect: for longer and without the probe. In the short
   * blocks between unchanged ones the code for the higher throughput is not compiled yet.
   */
  async repeatRemedy(): Promise<void> {
    const { chosen } = this.#finding();
    const name = findRemedyToRepeat({ ...this.result(), interrupted: false });
    const experiment = EXPERIMENTS.find((it) => it.name === name);
    if (!chosen || !experiment || needsServer(experiment, this.#metrics)) return;
    const settleMs = Math.max(REPEATED.settleMs, this.#length.settleMs);
    const measureMs = Math.max(REPEATED.measureMs, this.#length.measureMs);
    const reserveMs = this.#serversMs(this.#onNewServers());
    if (performance.now() + settleMs + measureMs > this.#untilMs - reserveMs) return;
    this.#onStep(`repeating for longer: ${experiment.name}`);
    const change = experiment.change(this.#metrics, this.#subject.options);
    const hub = this.#setting.hasProbe ? this.#subject.hub : null;
    const repeat = () => this.#subject.runBlock({ settleMs, measureMs }, change);
    try {
      const block = await withProbePaused(hub, repeat, (why) => this.skippedExperiments.push(why));
      this.#repeated(experiment.name, chosen.limit, block);
    } catch (error) {
      this.#missedByProbe(`${experiment.name} for longer`, error);
    }
  }

  /**
   * Records an experiment that the probe could not support, for example because a process has ended. The other findings
   * stay valid.
   */
  #missedByProbe(what: string, error: unknown): void {
    if (!(error instanceof ProbeFailure)) throw error;
    this.skippedExperiments.push(`${what}: the probe failed: ${error.message}`);
  }

  #repeated(experiment: ExperimentName, of: LimitId, block: Observation): void {
    const failing = computeErrorShare([block]);
    if (failing > this.#metrics.errorShare + MORE_ERRORS) {
      this.skippedExperiments.push(
        `${experiment} for longer: ${share(failing)} of its requests failed`,
      );
      return;
    }
    this.#remedied = { of, experiment, throughput: block.throughput };
  }

  result(): Omit<Findings, 'interrupted'> {
    // A process may have ended meanwhile.
    this.#judged = this.#judge();
    const finding = this.#finding();
    return {
      ...this.#judged,
      metrics: this.#metrics,
      finding,
      experiments: this.#experiments,
      noise: this.#noise(),
      probeCost: this.#probeCost,
      hotFunctions: this.#hot,
      rootCauseFunction:
        this.#culprit?.of === finding.chosen?.limit ? (this.#culprit?.is ?? null) : null,
      capacityCurve: buildCapacityCurve(this.#metrics, this.#blocks, this.#further),
      referenceThroughput: null,
      repeatedRemedy: this.#remedied?.of === finding.chosen?.limit ? this.#remedied : null,
      baselineThroughput: median(
        [this.#metrics.base, ...this.#blocks.base].map(({ throughput }) => throughput),
      ),
      skippedExperiments: this.skippedExperiments,
    };
  }

  #judge(): Evaluation {
    if (!isAnswered(this.#metrics)) return { hypotheses: [], ruledOut: [] };
    const second = this.#experiments.find(({ name }) => name === 'second process');
    return evaluateHypotheses(this.#metrics, {
      retained: this.#retained,
      exhausted: this.#subject.hub?.heapExhaustions ?? [],
      costOverTime: this.#history,
      secondProcess: second?.measured ?? null,
      afterRestart: this.#fresh,
    });
  }

  #finding(): Finding {
    const tolerance = limitTolerance(this.#noise());
    return decideVerdict(this.#metrics, this.#judged.hypotheses, this.#experiments, tolerance);
  }

  #noise(): number {
    return estimateNoiseFloor(this.#blocks.base.map(({ throughput }) => throughput));
  }

  #note(block: Observation): void {
    const age = this.#ageOf(block);
    if (age) this.#history.push(age);
  }

  /** CPU time per response of the last block, dated to the middle of the block. */
  #ageOf(block: Observation | undefined): CostOverTime | null {
    const cpuMs = block ? computeCpuMs(block) : null;
    if (!block || cpuMs === null) return null;
    return { requests: this.#subject.responseCount - completedOf(block.load) / 2, cpuMs };
  }

  /** Whether all requests are answered in time and no hypothesis is strong. */
  #isQuiet(): boolean {
    return (
      isKeepingUp(this.#metrics) &&
      this.#judged.hypotheses.every(({ weight }) => weight < MIN_WEIGHT)
    );
  }

  #telling(hypotheses: Hypothesis[]): Experiment[] {
    return rankExperiments(this.#metrics, hypotheses, this.#setting).map(
      ({ experiment }) => experiment,
    );
  }

  #blockMs(): number {
    return this.#length.settleMs + this.#length.measureMs;
  }

  /** Selects the first experiments, as many as fit into a few rounds. */
  #affordable(experiments: Experiment[], untilMs: number): Experiment[] {
    const blocks = Math.floor((untilMs - performance.now()) / (LEAST_ROUNDS * this.#blockMs()));
    const few = Math.floor((untilMs - performance.now()) / (2 * this.#blockMs()));
    const count = Math.min(MOST_EXPERIMENTS, Math.max(few >= 2 ? 1 : 0, blocks - 1));
    return experiments.slice(0, count);
  }

  /** Time for the first two experiments that start servers. */
  #serversMs(experiments: Experiment[]): number {
    const each = experiments.map((it) =>
      estimateRestartMs(it, this.#metrics, this.#subject, this.#blockMs()),
    );
    return each.slice(0, 2).reduce((sum, ms) => sum + ms, 0);
  }

  async #tryServers(experiment: Experiment): Promise<void> {
    const tried = await runOnNewServers(experiment, this.#metrics, this.#subject, this.#length);
    if (typeof tried === 'string') {
      this.skippedExperiments.push(`${experiment.name}: ${tried}`);
      return;
    }
    const { base, changed } = tried;
    if (changed.some((block) => experiment.hasTakenPlace?.(block, this.#metrics) === false)) {
      this.skippedExperiments.push(
        `${experiment.name}: the command overrides the environment variable`,
      );
      return;
    }
    if (isAfterRestart(experiment)) this.#fresh = this.#ageOf(changed.at(-1));
    this.#add(experiment, { base, changed: new Map([[experiment.name, changed]]) });
  }

  #add({ name, describe, metric }: Experiment, { base, changed }: MeasuredBlocks): void {
    const failing = computeErrorShare(changed.get(name) ?? []);
    if (failing > computeErrorShare(base) + MORE_ERRORS && metric === undefined) {
      this.skippedExperiments.push(`${name}: ${share(failing)} of its requests failed`);
      return;
    }
    const blocks = changed.get(name) ?? [];
    const measured = measureRatio(base, blocks, metric?.read);
    if (!measured) {
      if (blocks.length > 0) this.skippedExperiments.push(`${name}: too few responses to compare`);
      return;
    }
    const result = { name, metric: metric?.name ?? 'throughput', change: describe(this.#metrics) };
    this.#experiments.push(
      addPredictions({ ...result, otherwise: 1, measured }, this.#judged.hypotheses),
    );
  }
}

/** Experiments that do not change the CPU cost of a request. */
const SAME_COST = new Set(['connections x2', 'connections /2']);

/** Maximum additional share of errors in an experiment: fast errors are no throughput. */
const MORE_ERRORS = 0.05;

/** Number of responses in a block. */
function completedOf({ requests }: LoadResult): number {
  return requests.ok + requests.statusErrors;
}

/** Whether there are enough responses for means. A load that mostly fails is a result, too. */
function isAnswered({ base, errorShare, maxConcurrency }: Metrics): boolean {
  return errorShare > 0.5 || completedOf(base.load) >= Math.max(5, Math.min(maxConcurrency, 50));
}
