import type { NativeNameStats, NativeOutcome } from '../../native/addon.js';
import type { Plan } from '../plan/plan.js';
import type { ErrorKind, NamedResult } from '../result.js';
import { convertDistribution } from './distribution.js';
import { buildFailingResponses } from './failing-responses.js';
import type { Measured } from './measured.js';
import { convertUnfinished } from './unfinished.js';

/** Builds the results by request name, those with the largest share of the time first. */
export function buildNamedResults(
  outcome: NativeOutcome,
  measured: Measured,
  plan: Plan,
): NamedResult[] {
  const { names } = outcome;
  // The engine counts by name only where that differs from the whole run.
  if (names.length === 0) return [describeOnlyName(outcome, measured, plan)];
  const total = names.reduce((sum, { serviceTimeSumMs }) => sum + serviceTimeSumMs, 0);
  return names
    .map((stats, index) => ({ stats, name: plan.names[index] ?? '' }))
    .sort((one, other) => other.stats.serviceTimeSumMs - one.stats.serviceTimeSumMs)
    .map(({ stats, name }) => ({
      name,
      ...convertStats(stats, outcome.durationMs, plan),
      timeShare: total > 0 ? stats.serviceTimeSumMs / total : null,
    }));
}

function convertStats(
  stats: NativeNameStats,
  durationMs: number,
  plan: Plan,
): Omit<NamedResult, 'name' | 'timeShare'> {
  const { sent, ok, statusErrors, transportErrors, timeouts, inFlightAtEnd, notSent } =
    stats.counts;
  const [failingResponse = null] = stats.failing
    ? buildFailingResponses([stats.failing], plan)
    : [];
  return {
    requests: { sent, ok, statusErrors, transportErrors, timeouts, inFlightAtEnd, notSent },
    unfinished: convertUnfinished(stats.unfinished),
    throughput: perSecond(ok + statusErrors, durationMs),
    latencyMs: convertDistribution(stats.latencyMs),
    serviceTimeMs: convertDistribution(stats.serviceTimeMs),
    statusCodes: stats.counts.statusCodes,
    errors: stats.counts.errors
      .map(({ kind, count }) => ({ kind: kind as ErrorKind, count }))
      .sort((one, other) => other.count - one.count),
    bytes: { sent: stats.counts.bytesSent, received: stats.counts.bytesReceived },
    failingResponse,
    histograms: { unit: 'ns', ...stats.histograms },
    sums: { unit: 'ns', ...stats.sums },
  };
}

function describeOnlyName(outcome: NativeOutcome, measured: Measured, plan: Plan): NamedResult {
  const { sent, ok, statusErrors, transportErrors, timeouts, inFlightAtEnd, notSent } =
    measured.requests;
  const { unit, latency, latencyCensored, serviceTime, serviceTimeCensored } = measured.histograms;
  const [failingResponse = null] = buildFailingResponses(outcome.kept, plan);
  return {
    name: plan.names[0] ?? '',
    requests: { sent, ok, statusErrors, transportErrors, timeouts, inFlightAtEnd, notSent },
    unfinished: measured.unfinished,
    throughput: perSecond(ok + statusErrors, measured.durationMs),
    timeShare: sent > 0 ? 1 : null,
    latencyMs: measured.latencyMs,
    serviceTimeMs: measured.serviceTimeMs,
    statusCodes: measured.statusCodes,
    errors: measured.errors.map(({ kind, count }) => ({ kind, count })),
    bytes: measured.bytes,
    failingResponse,
    histograms: { unit, latency, latencyCensored, serviceTime, serviceTimeCensored },
    sums: { unit, latency: measured.sums.latency, serviceTime: measured.sums.serviceTime },
  };
}

function perSecond(responses: number, durationMs: number): number {
  return durationMs > 0 ? (responses * 1000) / durationMs : 0;
}
