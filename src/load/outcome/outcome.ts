import type { NativeDistribution, NativeOutcome } from '../../native.js';
import { packageVersion } from '../../version.js';
import type { Phases } from '../engine/run-clock.js';
import type { UnreachedTargets } from '../engine/unreached-targets.js';
import type { Plan } from '../plan/plan.js';
import type {
  Distribution,
  ErrorKind,
  LoadResult,
  MachineResult,
  ServerResult,
  Statistic,
} from '../result.js';
import { findClientBoundReasons } from './client-bound.js';
import { buildFailingResponses } from './failing-responses.js';
import { findRedirections } from './redirections.js';
import { findWarnings } from './warnings.js';

/** The parts of a run's result. */
export interface RunData {
  plan: Plan;
  outcome: NativeOutcome;
  phases: Phases;
  server: ServerResult | null;
  machine: MachineResult | null;
  /** Whether the caller's signal ended the run. */
  interrupted: boolean;
  /** How the command's server ended, if that ended the run. */
  serverEnded: string | null;
  /** The condition that could no longer hold, if that ended the run. */
  abortedBy: string | null;
  /** Ports of the command's server that were not loaded. */
  otherPorts: number[];
  /** Targets of servers that were not reached, while others were. */
  unreachedTargets: UnreachedTargets[];
}

/** Builds the public result: the engine's outcome with the plan, the verdict, warnings and the server's series. */
export function buildResult(run: RunData): LoadResult {
  const {
    plan,
    outcome,
    phases,
    server,
    machine,
    interrupted,
    serverEnded,
    abortedBy,
    otherPorts,
    unreachedTargets,
  } = run;
  const measured = convertOutcome(outcome);
  const reasons = findClientBoundReasons(measured.generator, measured.latencyMs);
  const result: LoadResult = {
    schemaVersion: 1,
    tool: { name: 'millrace', version: packageVersion() },
    plan: { ...plan.summary, addresses: outcome.addresses },
    startedAt: phases.startedAt.toISOString(),
    ...measured,
    failingResponses: buildFailingResponses(outcome.kept, plan),
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
  };
  return { ...result, warnings: findWarnings(result, circumstances) };
}

type Added =
  | 'schemaVersion'
  | 'tool'
  | 'plan'
  | 'startedAt'
  | 'interrupted'
  | 'abortedBy'
  | 'warmup'
  | 'server'
  | 'machine'
  | 'warnings'
  | 'failingResponses'
  | 'generator';
type Measured = Omit<LoadResult, Added> & {
  generator: Omit<LoadResult['generator'], 'clientBound' | 'reasons'>;
};

// Each field by name: a field that the addon adds or drops is a compile error until it is mapped.
function convertOutcome(outcome: NativeOutcome): Measured {
  const { generator, throughput, histograms, percentiles } = outcome;
  return {
    durationMs: outcome.durationMs,
    setupMs: outcome.setupMs,
    requests: outcome.requests,
    throughput: { mean: throughput.mean, stdev: throughput.stdev ?? null },
    latencyMs: convertDistribution(outcome.latencyMs),
    serviceTimeMs: convertDistribution(outcome.serviceTimeMs),
    gapMs: convertDistribution(outcome.gapMs),
    connectMs: convertDistribution(outcome.connectMs),
    tlsMs: convertDistribution(outcome.tlsMs),
    connections: outcome.connections,
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
      littleResidual: generator.littleResidual ?? null,
      workers: generator.workers.map((worker) => ({ ...worker, starved: worker.starved ?? null })),
    },
    meanInFlight: outcome.meanInFlight,
    series: outcome.series.map((window) => ({
      ...window,
      p50Ms: window.p50Ms ?? null,
      p99Ms: window.p99Ms ?? null,
    })),
    histograms: { unit: 'ns', ...histograms },
    percentiles: {
      latency: percentiles.latency as [number, number][],
      serviceTime: percentiles.serviceTime as [number, number][],
    },
  };
}

function convertDistribution(native: NativeDistribution): Distribution {
  return {
    count: native.count,
    censored: native.censored,
    atLeast: findBounds(native),
    imprecise: findImprecise(native),
    min: native.min ?? null,
    mean: native.mean ?? null,
    stdev: native.stdev ?? null,
    p50: native.p50 ?? null,
    p75: native.p75 ?? null,
    p90: native.p90 ?? null,
    p95: native.p95 ?? null,
    p99: native.p99 ?? null,
    p99_9: native.p99_9 ?? null,
    p99_99: native.p99_99 ?? null,
    max: native.max ?? null,
  };
}

const PERCENTILES = {
  p50: 0.5,
  p75: 0.75,
  p90: 0.9,
  p95: 0.95,
  p99: 0.99,
  p99_9: 0.999,
  p99_99: 0.9999,
} as const;

/** Tolerance for rounding errors of shares. */
const TOLERANCE = 1e-12;

/** Finds the figures beyond the share up to which times are known: they are lower bounds. */
function findBounds({ count, known }: NativeDistribution): Distribution['atLeast'] {
  if (count === 0 || known === 1) return {};
  return { ...selectPercentilesAbove(known), mean: true, stdev: true, max: true };
}

/** Finds the percentiles that are known, but from too few samples. */
function findImprecise({ count, known, supported }: NativeDistribution): Distribution['imprecise'] {
  if (count === 0) return {};
  const bounds = selectPercentilesAbove(known);
  const names = Object.keys(selectPercentilesAbove(supported)) as Statistic[];
  return markAll(names.filter((name) => !(name in bounds)));
}

function selectPercentilesAbove(share: number): Distribution['atLeast'] {
  const names = Object.keys(PERCENTILES) as (keyof typeof PERCENTILES)[];
  return markAll(names.filter((name) => PERCENTILES[name] > share + TOLERANCE));
}

function markAll(names: Statistic[]): Distribution['atLeast'] {
  return Object.fromEntries(names.map((name) => [name, true]));
}
