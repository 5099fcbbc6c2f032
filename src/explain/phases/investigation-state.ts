import { share, time } from '../../format/units.js';
import type { LoadResult } from '../../load/result.js';
import { median } from '../../statistics/median.js';
import { estimateNoiseFloor, limitTolerance } from '../../statistics/noise.js';
import type { MeasuredRatio } from '../../statistics/types.js';
import { buildCapacityCurve } from '../conclusion/capacity-curve.js';
import { decideVerdict } from '../conclusion/verdict.js';
import {
  EXPERIMENT_LABELS,
  type ExperimentMetric,
  type ExperimentName,
} from '../experiment-names.js';
import type { Experiment } from '../experiments/experiment.js';
import { type MeasuredBlocks, measureRatio } from '../experiments/interleaved-rounds.js';
import { addPredictions, buildMemoryResult, deriveResults } from '../experiments/predictions.js';
import type { Finding, Findings, RepeatedRemedy } from '../findings.js';
import type { CostOverTime, History } from '../hypotheses/history.js';
import type { Evaluation } from '../hypotheses/hypothesis.js';
import type { LimitId } from '../limit-ids.js';
import { evaluateHypotheses } from '../limits/evaluate.js';
import { LIMITS } from '../limits/limits.js';
import { computeErrorShare, refineMetrics } from '../metrics/derive.js';
import type { ConnectionRamp, Metrics } from '../metrics/types.js';
import type { PoolJobs } from '../observe/probe/pool-jobs.js';
import type { Observation } from '../observe/types.js';
import type { ProcessCpu, ProfiledFunctions, Profiles } from '../profile/capture.js';
import type { Allocations, ExperimentResult, HotFunction } from '../result.js';
import type { ObservedWaits } from '../waits/waits-graph.js';
import type { Baseline } from './baseline.js';

/** All that an investigation has measured so far, and what follows from it. */
export interface InvestigationState {
  metrics: Metrics;
  history: Omit<History, 'secondProcess'>;
  /** Of the unchanged load, and of each live experiment. */
  blocks: MeasuredBlocks;
  /** Blocks with more connections than configured. */
  rampBlocks: Observation[];
  experiments: ExperimentResult[];
  probeCost: MeasuredRatio | null;
  /** Result of the repeated remedy, and the limit that the remedy addresses. */
  repeatedRemedy: (RepeatedRemedy & { of: LimitId }) | null;
  hotFunctions: HotFunction[];
  dominantCall: HotFunction | null;
  /** The function that causes a limit, and that limit. */
  rootCause: { of: LimitId; is: HotFunction } | null;
  cpu: ProcessCpu | null;
  waits: ObservedWaits | null;
  allocations: Allocations | null;
  /** What was not measured, each with the reason. */
  skippedExperiments: string[];
  /** Follows from all others. */
  evaluation: Evaluation;
}

/** What a phase has measured. */
export type InvestigationEvent =
  | { kind: 'cost'; cost: CostOverTime | null }
  | { kind: 'pool-jobs'; poolJobs: PoolJobs | null }
  | { kind: 'written-files'; writtenFiles: string[] }
  /** The rounds of the live experiments; `null` if none was completed. */
  | { kind: 'rounds'; blocks: MeasuredBlocks | null }
  /** An experiment; one that restarted the server also has the cost of a response after that. */
  | {
      kind: 'experiment';
      experiment: Experiment;
      blocks: MeasuredBlocks;
      costAfterRestart?: CostOverTime | null;
    }
  /** Further results of the rounds; `kept` is the growth of memory per request. */
  | { kind: 'derived'; kept: MeasuredRatio | null }
  | { kind: 'ramp'; connectionRamp: ConnectionRamp; block: Observation }
  | { kind: 'cpu'; cpu: ProcessCpu }
  /** What limits need from profiles of a busy loop. */
  | { kind: 'profile'; of: LimitId; profiles: Profiles }
  /** The functions of another profile. */
  | { kind: 'functions'; of: LimitId; functions: ProfiledFunctions }
  | { kind: 'waits'; waits: ObservedWaits | null }
  | { kind: 'allocations'; allocations: Allocations | null }
  | { kind: 'repetition'; of: LimitId; experiment: ExperimentName; block: Observation }
  | { kind: 'probe-cost'; probeCost: MeasuredRatio | null }
  | { kind: 'processes-ended'; exhausted: History['exhausted'] }
  | { kind: 'skipped'; what: string };

/** Returns the state after the baseline. `cost` is that of its block. */
export function beginState(
  { metrics, retained }: Baseline,
  cost: CostOverTime | null,
  exhausted: History['exhausted'],
): InvestigationState {
  return evaluate({
    metrics,
    history: { retained, exhausted, costOverTime: cost ? [cost] : [], afterRestart: null },
    blocks: { base: [metrics.base], changed: new Map() },
    rampBlocks: [],
    experiments: [],
    probeCost: null,
    repeatedRemedy: null,
    hotFunctions: [],
    dominantCall: null,
    ...{ rootCause: null, cpu: null, waits: null, allocations: null },
    skippedExperiments: hasEnoughResponses(metrics)
      ? []
      : [
          `too few responses for a verdict: ${countResponses(metrics.base.load)} in ${time(metrics.base.load.durationMs)}; give it more time (--budget, --timeout)`,
        ],
  });
}

/** Returns the state after an event, evaluated again. */
export function applyEvent(
  state: InvestigationState,
  event: InvestigationEvent,
): InvestigationState {
  return evaluate(reduce(state, event));
}

function reduce(state: InvestigationState, event: InvestigationEvent): InvestigationState {
  const { metrics, history, experiments, rampBlocks } = state;
  switch (event.kind) {
    case 'cost':
      return event.cost
        ? { ...state, history: { ...history, costOverTime: [...history.costOverTime, event.cost] } }
        : state;
    case 'pool-jobs':
      return { ...state, metrics: { ...metrics, poolJobs: event.poolJobs } };
    case 'written-files':
      return { ...state, metrics: { ...metrics, writtenFiles: event.writtenFiles } };
    case 'rounds':
      return addRounds(state, event.blocks);
    case 'experiment': {
      const { experiment, blocks, costAfterRestart: afterRestart = history.afterRestart } = event;
      return { ...addExperiment(state, experiment, blocks), history: { ...history, afterRestart } };
    }
    case 'derived':
      return { ...state, experiments: [...experiments, ...deriveFromRounds(state, event.kept)] };
    case 'ramp': {
      const { connectionRamp, block } = event;
      return {
        ...state,
        metrics: { ...metrics, connectionRamp },
        rampBlocks: [...rampBlocks, block],
      };
    }
    case 'cpu':
      return { ...state, cpu: event.cpu };
    case 'profile': {
      const { loopTime, ...functions } = event.profiles;
      const added = { ...state, metrics: { ...metrics, loopTime }, rootCause: null };
      return addFunctions(added, event.of, functions);
    }
    case 'functions':
      return addFunctions(state, event.of, event.functions);
    case 'waits':
      return { ...state, waits: event.waits };
    case 'allocations':
      return { ...state, allocations: event.allocations };
    case 'repetition':
      return addRepetition(state, event);
    case 'probe-cost':
      return { ...state, probeCost: event.probeCost };
    case 'processes-ended':
      return { ...state, history: { ...history, exhausted: event.exhausted } };
    case 'skipped':
      return skip(state, event.what);
  }
}

/** Adds the functions of a profile. The cause of a limit stays known where this profile shows none. */
function addFunctions(
  state: InvestigationState,
  of: LimitId,
  { hotFunctions, dominantCall, rootCause }: ProfiledFunctions,
): InvestigationState {
  const cause = rootCause ? { of, is: rootCause } : state.rootCause;
  return { ...state, hotFunctions, dominantCall, rootCause: cause };
}

/** Evaluates the hypotheses. */
function evaluate(state: Omit<InvestigationState, 'evaluation'>): InvestigationState {
  const { metrics, history, experiments } = state;
  const second = experiments.find(({ name }) => name === 'second-process');
  const all = evaluateHypotheses(metrics, { ...history, secondProcess: second?.measured ?? null });
  return { ...state, evaluation: hasEnoughResponses(metrics) ? all : selectSampled(all) };
}

/** Selects what few responses are enough for. */
function selectSampled({ hypotheses }: Evaluation): Evaluation {
  return {
    hypotheses: hypotheses.filter(({ limit }) => LIMITS[limit].needsFewResponses),
    ruledOut: [],
  };
}

function skip(state: InvestigationState, what: string): InvestigationState {
  return { ...state, skippedExperiments: [...state.skippedExperiments, what] };
}

/**
 * Adds the rounds, unless the unchanged load began to fail: ratios of errors say nothing about the state before (the
 * window of a rate limiter has ended, a circuit breaker has opened).
 */
function addRounds(state: InvestigationState, rounds: MeasuredBlocks | null): InvestigationState {
  const { metrics } = state;
  const failing = computeErrorShare(rounds?.base ?? []);
  const isFailing = failing > metrics.errorShare + MAX_ADDED_ERROR_SHARE;
  const none: MeasuredBlocks = { base: [metrics.base], changed: new Map() };
  const blocks = isFailing ? none : (rounds ?? state.blocks);
  const added = { ...state, blocks, metrics: refineMetrics(metrics, blocks.base) };
  if (!isFailing) return added;
  return skip(
    added,
    `all experiments: ${share(failing)} of the requests under the unchanged load failed meanwhile, at first ${share(metrics.errorShare)}`,
  );
}

/** Maximum additional share of errors in an experiment: fast errors are no throughput. */
const MAX_ADDED_ERROR_SHARE = 0.05;

/** Adds the result of an experiment, with what the hypotheses predicted before it; or why it has none. */
function addExperiment(
  state: InvestigationState,
  { name, describe, metric, tookEffect, noEffectReason }: Experiment,
  { base, changed }: MeasuredBlocks,
): InvestigationState {
  const { metrics, evaluation, experiments } = state;
  const without = (why: string) => skip(state, `${EXPERIMENT_LABELS[name]}: ${why}`);
  const blocks = changed.get(name) ?? [];
  const failing = computeErrorShare(blocks);
  if (failing > computeErrorShare(base) + MAX_ADDED_ERROR_SHARE && metric === undefined) {
    return without(`${share(failing)} of its requests failed`);
  }
  if (blocks.some((block) => tookEffect?.(block, metrics) === false)) {
    return without(noEffectReason ?? 'the command overrides the environment variable');
  }
  const measured = measureRatio(base, blocks, metric?.read);
  if (!measured) return blocks.length > 0 ? without('too few responses to compare') : state;
  const compared: ExperimentMetric = metric?.name ?? 'throughput';
  const result = { name, metric: compared, change: describe(metrics), otherwise: 1, measured };
  return { ...state, experiments: [...experiments, addPredictions(result, evaluation.hypotheses)] };
}

function deriveFromRounds(
  { blocks, metrics, evaluation }: InvestigationState,
  kept: MeasuredRatio | null,
): ExperimentResult[] {
  const { hypotheses } = evaluation;
  return [
    ...deriveResults(blocks, metrics, hypotheses),
    ...(kept ? [buildMemoryResult(kept, hypotheses)] : []),
  ];
}

function addRepetition(
  state: InvestigationState,
  { experiment, of, block }: Extract<InvestigationEvent, { kind: 'repetition' }>,
): InvestigationState {
  const failing = computeErrorShare([block]);
  if (failing > state.metrics.errorShare + MAX_ADDED_ERROR_SHARE) {
    const what = `${EXPERIMENT_LABELS[experiment]} for longer: ${share(failing)} of its requests failed`;
    return skip(state, what);
  }
  return { ...state, repeatedRemedy: { of, experiment, throughput: block.throughput } };
}

/** Decides the verdict of a state. */
export function decide(state: InvestigationState): Finding {
  const { metrics, evaluation, experiments, blocks } = state;
  const unchanged = blocks.base.map(({ throughput }) => throughput);
  const tolerance = limitTolerance(estimateNoiseFloor(unchanged));
  return decideVerdict(metrics, evaluation.hypotheses, experiments, tolerance, unchanged);
}

/** Returns the findings of a state, which nothing has interrupted. */
export function toFindings(state: InvestigationState): Findings {
  const { metrics, blocks, rampBlocks, repeatedRemedy, rootCause } = state;
  const finding = decide(state);
  const isOfChosen = (of: LimitId | undefined) => of === finding.chosen?.limit;
  return {
    ...state.evaluation,
    metrics,
    finding,
    experiments: state.experiments,
    noise: estimateNoiseFloor(blocks.base.map(({ throughput }) => throughput)),
    probeCost: state.probeCost,
    hotFunctions: state.hotFunctions,
    dominantCall: state.dominantCall,
    ...{ cpu: state.cpu, waits: state.waits, allocations: state.allocations },
    rootCauseFunction: rootCause && isOfChosen(rootCause.of) ? rootCause.is : null,
    capacityCurve: buildCapacityCurve(metrics, blocks, rampBlocks),
    referenceThroughput: null,
    repeatedRemedy: repeatedRemedy && isOfChosen(repeatedRemedy.of) ? repeatedRemedy : null,
    baselineThroughput: median([metrics.base, ...blocks.base].map(({ throughput }) => throughput)),
    skippedExperiments: state.skippedExperiments,
    interrupted: false,
  };
}

/** Number of responses in a block. */
export function countResponses({ requests }: LoadResult): number {
  return requests.ok + requests.statusErrors;
}

/** Whether there are enough responses for means. A load that mostly fails is a result, too. */
function hasEnoughResponses({ base, errorShare, maxConcurrency }: Metrics): boolean {
  return errorShare > 0.5 || countResponses(base.load) >= Math.max(5, Math.min(maxConcurrency, 50));
}
