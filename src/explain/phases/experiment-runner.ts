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
/** The most live experiments; each adds a block to every round. */
const MOST_EXPERIMENTS = 4;
const LEAST_RESERVE_MS = 8000;
/** Numbers of connections that are tried, where they are too few. */
const MOST_STEPS = 3;
/** For a remedy that gives much more: what is done more often than before is compiled first. */
const REPEATED: BlockLength = { settleMs: 2000, measureMs: 2000 };

/** The experiments on one server, and what they came to. */
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
  /** With more and more connections. */
  readonly #further: Observation[] = [];
  readonly #experiments: ExperimentResult[] = [];
  #blocks: MeasuredBlocks;
  #judged: Evaluation;
  #probeCost: MeasuredRatio | null = null;
  /** What the remedy gave when it was tried for longer, and the limit whose remedy it is. */
  #remedied: (RepeatedRemedy & { of: LimitId }) | null = null;
  #hot: HotFunction[] = [];
  /** The function to blame, and for what. */
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
          `too few responses to reason with: ${completedOf(metrics.base.load)} in ${time(metrics.base.load.durationMs)} (--budget, --timeout)`,
        ];
    this.skippedExperiments.push(
      ...findSkippedExperiments(metrics, this.#judged.hypotheses, this.#setting),
    );
  }

  /** Experiments on the living server, in rounds. */
  async runLiveExperiments(): Promise<void> {
    if (this.#isQuiet()) return;
    const telling = this.#telling(this.#judged.hypotheses);
    const isNew = (it: Experiment) => needsServer(it, this.#metrics);
    const reserveMs = this.#reserveMs(telling);
    // A rate that is served stays the same whatever is changed: throughput tells nothing then.
    const some = isKeepingUp(this.#metrics) ? [] : telling.filter((it) => !isNew(it));
    const inTime = this.#affordable(some, this.#untilMs - reserveMs);
    // Where responses are slow, one experiment now is worth more than a server later.
    const [chosen, untilMs] =
      inTime.length > 0
        ? [inTime, this.#untilMs - reserveMs]
        : [this.#affordable(some, this.#untilMs), this.#untilMs];
    if (chosen.length === 0 && some.length > 0) {
      this.skippedExperiments.push(
        `experiments: blocks of ${time(this.#blockMs())} leave no time (--budget)`,
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
        onBlock: (what) => this.#onStep(`trying: ${what}`),
        onFailed: (name, why) =>
          this.skippedExperiments.push(`${name}: the probe could not: ${why}`),
        onMeasured: (name, block) => {
          if (name === null || SAME_COST.has(name)) this.#note(block);
        },
        ...(grows && { onRound: growth.measureRound }),
      });
    } finally {
      // The rounds that were complete count, whatever ended the others.
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

  /** Where connections are too few: more of them, until requests queue. */
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
    // What is to be recommended is measured.
    const inFlight = estimateKnee(this.#metrics, before);
    const knee = inFlight === null ? null : await this.#tryConnections(inFlight, before);
    if (knee) this.#continueFrom(addKnee(before, knee));
  }

  #continueFrom(connectionRamp: ConnectionRamp): void {
    this.#metrics = { ...this.#metrics, connectionRamp };
    this.#judged = this.#judge();
  }

  /** What so many requests in flight give; `null` if that cannot be told. */
  async #tryConnections(
    inFlight: number,
    before: ConnectionRamp | null,
  ): Promise<ConnectionRamp | null> {
    if (performance.now() + this.#blockMs() > this.#untilMs) return null;
    const { pipelining } = this.#metrics.base.load.plan;
    const connections = Math.max(1, Math.round(inFlight / pipelining));
    this.#onStep(`trying: ${count(connections)} connections`);
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

  /** Time that is kept for what starts servers, as far as the more telling experiments leave it; the most telling are first. */
  #reserveMs(telling: Experiment[]): number {
    const servers = telling.filter((it) => needsServer(it, this.#metrics));
    const [first] = servers;
    const before = first ? telling.indexOf(first) : telling.length;
    const leftMs = this.#untilMs - performance.now() - this.#profileMs();
    const live = 1 + Math.min(MOST_EXPERIMENTS, before);
    const spareMs = Math.max(0, leftMs - LEAST_ROUNDS * live * this.#blockMs());
    // What the trials show may ask for a new server, too.
    const maybe = this.#setting.canRestart ? LEAST_RESERVE_MS : 0;
    const wanted = Math.max(Math.min(this.#serversMs(servers), leftMs / 2), maybe);
    // More connections need no new server: what limits there is another thing.
    return Math.max(Math.min(wanted, spareMs), this.#beyondMs()) + this.#profileMs();
  }

  /** Time to try more connections, where those asked for seem to be too few. */
  #beyondMs(): number {
    const [top] = this.#judged.hypotheses;
    if (top?.limit !== 'too-few-connections' || !this.#mayGoBeyond()) return 0;
    return Math.min((MOST_STEPS + 1) * this.#blockMs(), (this.#untilMs - performance.now()) / 3);
  }

  /** Ratios of errors tell nothing of what was before: a window of a rate limiter has run out, a breaker has opened. */
  #unlessFailing(blocks: MeasuredBlocks): MeasuredBlocks {
    const failing = computeErrorShare(blocks.base);
    if (failing <= this.#metrics.errorShare + MORE_ERRORS) return blocks;
    this.skippedExperiments.push(
      `all experiments: meanwhile ${share(failing)} of the requests failed as they were asked for, at first ${share(this.#metrics.errorShare)}`,
    );
    return { base: [this.#metrics.base], changed: new Map() };
  }

  /** Time for a profile, where there will be one. */
  #profileMs(): number {
    const { base, loop } = this.#metrics;
    const busy = base.inside?.utilisation ?? loop?.run ?? 0;
    return this.#subject.hub && busy > 0.5 ? PROFILE_MS : 0;
  }

  /** What needs new servers is tried only for what may be the verdict: each costs seconds. */
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
      this.#onStep(`trying: ${experiment.name}`);
      await this.#tryServers(experiment);
      // What it showed may make another one worth while, or none.
      this.#judged = this.#judge();
    }
    for (const { name } of untried()) {
      this.skippedExperiments.push(`${name}: no time was left of the budget (--budget)`);
    }
  }

  /** Time for a server that does nothing, which is measured when this one has ended. */
  #bareMs(): number {
    const { chosen } = this.#finding();
    const isWanted =
      chosen !== null && exceedsReference(chosen, { ...this.result(), interrupted: false });
    return this.#setting.canRestart && isWanted ? REFERENCE_RUN_MS : 0;
  }

  /** The experiments on new servers that tell of what may be the verdict, the most telling first. */
  #onNewServers(): Experiment[] {
    const { chosen, also } = this.#finding();
    const wanted = [chosen, ...also].filter((hypothesis) => hypothesis !== null);
    return this.#telling(wanted).filter((it) => needsServer(it, this.#metrics));
  }

  /** Throughput with the probe's subscriptions against without, if there is time. */
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
      this.#missedByProbe('its own cost', error);
    }
    this.#probeCost = measureRatio(without, on);
  }

  /** The functions that cost most, where the loop is what limits. */
  async takeProfile(): Promise<void> {
    const { chosen } = this.#finding();
    if (!this.#subject.hub || this.#profileMs() === 0 || !chosen) return;
    this.#onStep('taking a profile');
    const { hotFunctions, loopTime, rootCause } = await takeProfiles(this.#subject, chosen.limit);
    this.#hot = hotFunctions;
    this.#culprit = rootCause && { of: chosen.limit, is: rootCause };
    this.#metrics = { ...this.#metrics, loopTime };
    this.#judged = this.#judge();
  }

  /**
   * What the remedy gives, where an experiment was the remedy and gave much more: once more for longer, without the probe. In short blocks
   * among those of the unchanged load the code for so many requests is not compiled yet.
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
    this.#onStep(`trying for longer: ${experiment.name}`);
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

  /** A process may go that was to be told something: what else was found holds. */
  #missedByProbe(what: string, error: unknown): void {
    if (!(error instanceof ProbeFailure)) throw error;
    this.skippedExperiments.push(`${what}: the probe could not: ${error.message}`);
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
    // A process may have ended since.
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

  /** Of the block that was the last: its cost is that of its middle. */
  #ageOf(block: Observation | undefined): CostOverTime | null {
    const cpuMs = block ? computeCpuMs(block) : null;
    if (!block || cpuMs === null) return null;
    return { requests: this.#subject.responseCount - completedOf(block.load) / 2, cpuMs };
  }

  /** All is answered in time, and nothing spoils it. */
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

  /** The first of the experiments, so many that there is time for a few rounds. */
  #affordable(experiments: Experiment[], untilMs: number): Experiment[] {
    const blocks = Math.floor((untilMs - performance.now()) / (LEAST_ROUNDS * this.#blockMs()));
    const few = Math.floor((untilMs - performance.now()) / (2 * this.#blockMs()));
    const count = Math.min(MOST_EXPERIMENTS, Math.max(few >= 2 ? 1 : 0, blocks - 1));
    return experiments.slice(0, count);
  }

  /** Time for the first two of the experiments that start servers. */
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
      this.skippedExperiments.push(`${experiment.name}: the command sets its own environment`);
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
      if (blocks.length > 0) this.skippedExperiments.push(`${name}: it gave too little to compare`);
      return;
    }
    const result = { name, metric: metric?.name ?? 'throughput', change: describe(this.#metrics) };
    this.#experiments.push(
      addPredictions({ ...result, otherwise: 1, measured }, this.#judged.hypotheses),
    );
  }
}

/** Experiments in which a request costs the loop what it costs unchanged. */
const SAME_COST = new Set(['connections x2', 'connections /2']);

/** Fast errors are no throughput: an experiment with so many more than the unchanged load tells nothing. */
const MORE_ERRORS = 0.05;

/** Responses of the block at the load as asked for. */
function completedOf({ requests }: LoadResult): number {
  return requests.ok + requests.statusErrors;
}

/** Enough responses came for means; errors instead of them are an answer too. */
function isAnswered({ base, errorShare, maxConcurrency }: Metrics): boolean {
  return errorShare > 0.5 || completedOf(base.load) >= Math.max(5, Math.min(maxConcurrency, 50));
}
