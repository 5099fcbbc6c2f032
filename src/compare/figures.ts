import { readActiveTimes, readRate } from '../load/arrivals.js';
import {
  type ConditionSubject,
  countUnsuccessful,
  selectSubject,
} from '../load/plan/condition-subject.js';
import type { Distribution, LoadResult } from '../load/result.js';
import type { AnsweredRequests, ComparedFigures, ComparedRun } from './result.js';
import type { SideResult } from './warnings.js';

/** Takes from the result of a run what is compared of it. */
export function readRun({ result, side, pair }: SideResult): ComparedRun {
  const { startedAt, durationMs, generator } = result;
  const { latency, latencyCensored } = readActiveTimes(result).histograms;
  return {
    side,
    pair,
    startedAt,
    durationMs,
    ...(result.iterations && { counted: 'iterations' as const }),
    figures: readFigures(result),
    requests: countAnswered(result),
    byName: (result.byName ?? []).map(({ name, throughput, latencyMs }) => ({
      name,
      figures: {
        throughput,
        p50Ms: readPercentile(latencyMs, 'p50'),
        p99Ms: readPercentile(latencyMs, 'p99'),
        cpuPerRequestUs: null,
        memoryMb: null,
      },
      requests: countAnswered(selectSubject(result, name)),
    })),
    clientBound: generator.clientBound,
    histograms: { unit: 'ns', latency, latencyCensored },
  };
}

/** Reads the figures of a whole run: of its requests, or of the iterations of its scenarios. */
function readFigures(result: LoadResult): ComparedFigures {
  const { throughput, server } = result;
  const { ms: latencyMs } = readActiveTimes(result);
  const { mean } = throughput;
  return {
    throughput: readRate(result),
    p50Ms: readPercentile(latencyMs, 'p50'),
    p99Ms: readPercentile(latencyMs, 'p99'),
    cpuPerRequestUs: server && mean > 0 ? (server.cpuMean * 1e6) / mean : null,
    memoryMb: server?.rssMaxMb ?? null,
  };
}

/** Reads a percentile; one of which only a bound is known is no figure. */
function readPercentile(times: Distribution, name: 'p50' | 'p99'): number | null {
  return times.atLeast[name] ? null : times[name];
}

function countAnswered({ requests }: Pick<ConditionSubject, 'requests'>): AnsweredRequests {
  const failed = countUnsuccessful({ requests }) + requests.notSent.overflow;
  const { ok, statusErrors } = requests;
  return { ended: ok + failed, responses: ok + statusErrors, failed };
}
