import type { TestServerOptions } from './testserver/options.js';
import type { TestServer } from './testserver/start.js';

export { type CapacityRun, capacity } from './capacity/capacity.js';
export type { CapacityEstimate } from './capacity/model/fit.js';
export type { CapacityOptions } from './capacity/options.js';
export type {
  CapacityCurve,
  CapacityLevel,
  CapacityProgress,
  CapacityResult,
  CapacitySearch,
  CapacitySearchEnd,
  CapacitySweep,
  CapacitySweepEnd,
  CapacityTrial,
} from './capacity/result.js';
export {
  type BaselineOptions,
  type ComparedLoadResult,
  type ComparedLoadRun,
  load,
} from './compare/baseline.js';
export { type ComparisonRun, compare } from './compare/compare.js';
export type { CompareOptions, CompareSide } from './compare/options.js';
export type {
  ComparedFigures,
  ComparedRun,
  CompareProgress,
  ComparisonMetric,
  ComparisonRatio,
  ComparisonResult,
  ComparisonRow,
  ComparisonSide,
  ComparisonSideName,
  ComparisonStackShare,
  ComparisonVerdict,
  RatioConditionResult,
} from './compare/result.js';
export { type ErrorCode, MillraceError } from './errors/millrace-error.js';
export { type ExplainRun, explain } from './explain/explain.js';
export type { LimitId } from './explain/limit-ids.js';
export type { ExplainOptions } from './explain/options.js';
export type { CpuProfile } from './explain/profile/call-tree.js';
export type {
  Allocations,
  CapacityPoint,
  CpuTimes,
  ExperimentResult,
  ExplainEvidence,
  ExplainProgress,
  ExplainStage,
  ExplainStatus,
  Explanation,
  FlameFrame,
  FlameGraph,
  FrameOrigin,
  GrowingClass,
  HeavyPath,
  HotFunction,
  Waits,
} from './explain/result.js';
export type { WatchOptions } from './explain/watch/options.js';
export type {
  WatchedProcess,
  WatchedRoute,
  WatchedTraffic,
  WatchReason,
  WatchReport,
} from './explain/watch/result.js';
export { watch } from './explain/watch/watch.js';
export { readHistory } from './history/history.js';
export type {
  HistoryFigure,
  HistoryPlan,
  HistoryPoint,
  HistoryResult,
  HistoryRun,
} from './history/result.js';
export { type HostFailure, HostsError } from './hosts/failure.js';
export type { HostsOptions } from './hosts/options.js';
export type { HostState, HostsSnapshot } from './hosts/progress.js';
export { type HostsRun, loadOnHosts } from './hosts/run.js';
export { type LabRun, lab } from './lab/lab.js';
export type { LabOptions } from './lab/options.js';
export type {
  LabCause,
  LabClaim,
  LabFigure,
  LabMachine,
  LabProgress,
  LabResult,
  LabTable,
  StudyName,
  StudyResult,
  StudySummary,
} from './lab/result.js';
export { labStudies } from './lab/summary.js';
export { type DryRun, type DryRunStep, dryRun } from './load/engine/dry-run.js';
export type { LoadRun } from './load/load.js';
export type { LoadOptions, LoadStage, LoadTarget } from './load/options.js';
export type {
  ClockResult,
  Distribution,
  ErrorKind,
  GeneratorResult,
  LoadResult,
  LoadSnapshot,
  LoadWarning,
  LoadWindow,
  MachineResult,
  MergedResult,
  NamedSnapshot,
  PlanDifference,
  PlanShare,
  PlanSummary,
  SegmentSummary,
  ServerResult,
  ServerSample,
  SlowRequest,
  StartResult,
  WindowHistograms,
} from './load/result.js';
export { mergeResults } from './merge/merge.js';
export type { MergeOptions } from './merge/options.js';
export type { Interval, MeasuredRatio } from './statistics/types.js';
export type { RequestHeaders } from './validation/headers.js';
export type { Duration } from './validation/units.js';
export type { TestServer, TestServerOptions };

/**
 * Starts the built-in test server, by default in one process per core.
 *
 * @example
 * const server = await startTestServer({ processes: 1, delay: 50 });
 * await load({ url: server.url });
 * await server.close();
 */
export async function startTestServer(options: TestServerOptions = {}): Promise<TestServer> {
  // Most who load do not serve.
  const { startTestServer } = await import('./testserver/start.js');
  return startTestServer(options);
}
