import { packageVersion } from '../../environment/version.js';
import type { NativeOutcome } from '../../native/addon.js';
import type { Condition } from '../plan/condition.js';
import type { OpenFiles } from '../plan/open-files.js';
import type { Plan } from '../plan/plan.js';
import type {
  ConditionResult,
  ErrorKind,
  LoadResult,
  MachineResult,
  ScenarioFigures,
  ServerResult,
  Stalled,
} from '../result.js';
import { buildNamedResults } from './by-name.js';
import { findClientBoundReasons } from './client-bound.js';
import { convertDistribution } from './distribution.js';
import { buildFailingResponses, collectSecrets } from './failing-responses.js';
import type { Measured } from './measured.js';
import type { Phases } from './phases.js';
import { findRedirections } from './redirections.js';
import { buildScenarioFigures, type HookFigures, NO_SCENARIOS } from './scenarios/figures.js';
import { convertUnfinished } from './unfinished.js';
import type { UnreachedTargets } from './unreached-targets.js';
import { findWarnings } from './warnings.js';

/** The parts of a run's result. */
export interface RunData {
  plan: Plan;
  outcome: NativeOutcome;
  phases: Phases;
  server: ServerResult | null;
  machine: MachineResult | null;
  /** The commit that was checked out at the start. */
  commit: string | null;
  /** Whether the caller's signal ended the run. */
  interrupted: boolean;
  /** How the command's server ended, if that ended the run. */
  serverEnded: string | null;
  /** The condition that could no longer hold, if that ended the run. */
  abortedBy: string | null;
  /** By how much the load began later than planned. */
  startLatenessMs: number;
  /** Ports of the command's server that were not loaded. */
  otherPorts: number[];
  /** Targets of servers that were not reached, while others were. */
  unreachedTargets: UnreachedTargets[];
  /** Files that the run needs open at most, and the limit; `null` where the limit is not known. */
  files: OpenFiles | null;
  /** What JavaScript measured of the scenarios' hooks. */
  hookFigures: HookFigures;
}

/** Builds the public result: the engine's outcome with the plan, the verdict, warnings and the server's series. */
export function buildResult(run: RunData): LoadResult {
  const {
    plan,
    outcome,
    phases,
    server,
    machine,
    commit,
    interrupted,
    serverEnded,
    abortedBy,
    otherPorts,
    unreachedTargets,
    files,
    startLatenessMs,
  } = run;
  const measured = { ...convertOutcome(outcome), ...describeScenarios(run) };
  const reasons = findClientBoundReasons(measured, plan.summary);
  const startedAtMs =
    plan.startAtMs === null
      ? phases.startedAtMs
      : plan.startAtMs + startLatenessMs + phases.warmupMs;
  const result: LoadResult = {
    schemaVersion: 2,
    tool: { name: 'millrace', version: packageVersion() },
    plan: { ...plan.summary, addresses: outcome.addresses },
    startedAt: new Date(startedAtMs).toISOString(),
    startedAtMs,
    ...(commit !== null && { commit }),
    ...(plan.startAtMs !== null && {
      start: { at: new Date(plan.startAtMs).toISOString(), lateMs: startLatenessMs },
    }),
    ...measured,
    byName: buildNamedResults(outcome, measured, plan),
    failingResponses: buildFailingResponses(outcome.kept, plan),
    ...(plan.native.traced !== undefined && { slowest: nameSlowest(outcome.slowest, plan) }),
    interrupted,
    ...(abortedBy !== null && { abortedBy }),
    warmup: {
      durationMs: phases.warmupMs,
      requests: outcome.warmup.requests,
      completedLater: outcome.warmup.completedLater,
    },
    generator: { ...measured.generator, clientBound: reasons.length > 0, reasons },
    ...(server && { server }),
    ...(machine && { machine }),
    warnings: [],
  };
  const { refusedAddresses } = outcome;
  const redirections = findRedirections(outcome.kept, plan);
  const circumstances = {
    ...{ refusedAddresses, serverEnded, otherPorts, unreachedTargets, redirections },
    ...{ files, extraAuthoritiesError: plan.extraAuthoritiesError ?? null },
  };
  const conditions = plan.conditions.map((condition) => evaluateCondition(condition, result));
  return {
    ...result,
    ...(conditions.length > 0 && { conditions }),
    warnings: findWarnings(result, circumstances),
  };
}

function describeScenarios({ plan, outcome, hookFigures }: RunData): ScenarioFigures {
  const { flows, durationMs } = outcome;
  if (flows === undefined || plan.summary.flows === undefined) return NO_SCENARIOS;
  const secrets = collectSecrets(plan.native);
  return buildScenarioFigures(flows, plan.summary.flows, hookFigures, { durationMs, secrets });
}

/** Names the slowest requests with a trace context. */
function nameSlowest(
  slowest: NativeOutcome['slowest'],
  { native, names }: Plan,
): NonNullable<LoadResult['slowest']> {
  return slowest.map(({ traceId, latencyMs, request, status, error }) => ({
    ...{ traceId, latencyMs },
    name: names[native.requests[request]?.name ?? 0] ?? '',
    status: status ?? null,
    error: (error ?? null) as ErrorKind | null,
  }));
}

function convertStalled({
  stalls,
  stalledSamples,
  stalledMaxMs,
}: NativeOutcome['generator']): Stalled | null {
  if (stalls.length === 0) return null;
  return { times: stalls, samples: stalledSamples, maxMs: stalledMaxMs };
}

/** Judges a condition of a result. */
export function evaluateCondition(condition: Condition, result: LoadResult): ConditionResult {
  const { text } = condition;
  const holds = condition.failure(result) === null && text !== result.abortedBy;
  return { condition: text, value: condition.measured(result), holds };
}

// Each field by name: a field that the addon adds or drops is a compile error until it is mapped.
function convertOutcome(outcome: NativeOutcome): Omit<Measured, keyof ScenarioFigures> {
  const { generator, throughput, histograms, percentiles } = outcome;
  return {
    durationMs: outcome.durationMs,
    setupMs: outcome.setupMs,
    requests: outcome.requests,
    unfinished: convertUnfinished(outcome.unfinished),
    throughput: { mean: throughput.mean, stdev: throughput.stdev ?? null },
    latencyMs: convertDistribution(outcome.latencyMs),
    serviceTimeMs: convertDistribution(outcome.serviceTimeMs),
    gapMs: convertDistribution(outcome.gapMs),
    connectMs: convertDistribution(outcome.connectMs),
    tlsMs: convertDistribution(outcome.tlsMs),
    connections: {
      ...outcome.connections,
      maxConcurrentStreams: outcome.connections.maxConcurrentStreams ?? null,
    },
    windowWaits: outcome.windowWaits,
    messages: outcome.messages,
    statusCodes: outcome.statusCodes,
    errors: outcome.errors
      .map(({ kind, count, example }) => ({
        kind: kind as ErrorKind,
        count,
        example: example ?? null,
      }))
      .sort((a, b) => b.count - a.count),
    bytes: outcome.bytes,
    generator: {
      busy: generator.busy,
      starved: generator.starved ?? null,
      latenessMs: generator.latenessMs ?? null,
      stalled: convertStalled(generator),
      littleResidual: generator.littleResidual ?? null,
      workers: generator.workers.map((worker) => ({ ...worker, starved: worker.starved ?? null })),
    },
    meanInFlight: outcome.meanInFlight,
    windowMs: outcome.windowMs,
    series: outcome.series.map((window) => ({
      ...window,
      p50Ms: window.p50Ms ?? null,
      p99Ms: window.p99Ms ?? null,
    })),
    ...(outcome.windowLatencies.length > 0 && {
      windowHistograms: {
        unit: 'ns' as const,
        latency: outcome.windowLatencies.map(({ all }) => all ?? null),
        latencyCensored: outcome.windowLatencies.map(({ censored }) => censored ?? null),
      },
    }),
    histograms: { unit: 'ns', ...histograms, lateness: histograms.lateness ?? null },
    sums: { unit: 'ns', ...outcome.sums },
    percentiles: {
      latency: percentiles.latency as [number, number][],
      serviceTime: percentiles.serviceTime as [number, number][],
    },
  };
}
