import { computeMaxInFlight } from '../../load/streams.js';
import { computeErrorShare, computeLoopLimit, computeResponseMs } from '../metrics/derive.js';
import type { ConnectionRamp, Metrics } from '../metrics/types.js';
import type { Observation } from '../observe/types.js';

/** Minimum growth of the response time at which requests queue. */
const MIN_QUEUEING_STRETCH = 1.3;
/** Minimum gain in throughput, as a share of the gain in connections, at which requests do not queue. */
const MIN_GAIN_SHARE = 0.75;
/** Minimum ratio of the knee to the present connections at which it makes a difference. */
const MIN_KNEE_RATIO = 1.1;
/** Factor by which a step goes beyond the estimated knee. */
const KNEE_MARGIN = 1.2;
/** Maximum and minimum growth per step: a pool or another service may be full before the loop is. */
const MAX_GROWTH = 8;
const MIN_GROWTH = 1.5;
/** Maximum of the connections: limits of open files permit that many nearly everywhere. */
const MAX_CONNECTIONS = 2000;
/** Maximum share of failed requests at which more connections are tried. */
const MAX_FAILURE_SHARE = 0.01;

/**
 * Whether more connections may be tried: requests do not fail, and the service calls no other machine, neither in the
 * calls that the probe sees nor over the sockets that the system sees (protocols that the probe does not know).
 */
export function canTryMore({ base, model, errorShare, sockets }: Metrics): boolean {
  const called = base.inside?.outbound.map(({ origin }) => parseHost(origin)) ?? [];
  const connected = sockets?.outbound.map(({ peer }) => parseHost(peer));
  const isLocal = connected !== undefined && [...called, ...connected].every(isLoopback);
  return model === 'closed' && errorShare < MAX_FAILURE_SHARE && isLocal;
}

/** Parses the host of `http://localhost:3001`, `tcp://[::1]:5432` or `127.0.0.1:5432`. */
function parseHost(peer: string): string {
  const [, bracketed, host = ''] = /^(?:[a-z]+:\/\/)?(?:\[(.+)\]|([^:/]+))/.exec(peer) ?? [];
  return bracketed ?? host;
}

function isLoopback(host: string): boolean {
  return /^(?:localhost|(?:::ffff:)?127(?:\.\d+){3}|::1)$/.test(host);
}

/** Chooses the next number of connections to try, beyond the estimated knee; `null` if more cannot help. */
export function chooseNextConnections(
  metrics: Metrics,
  before: ConnectionRamp | null,
): number | null {
  const { maxConcurrency, base } = metrics;
  if (before?.isQueueing) return null;
  const now = before?.connections ?? maxConcurrency;
  const alone = computeCycleMs(metrics);
  const limit = before?.loopLimit ?? computeLoopLimit(base);
  const wanted = limit === null ? now * MAX_GROWTH : (KNEE_MARGIN * limit * alone) / 1000;
  const bounded = Math.min(MAX_CONNECTIONS, now * MAX_GROWTH, Math.max(now * MIN_GROWTH, wanted));
  const next = Math.round(bounded);
  return next > now ? next : null;
}

/** Estimates the knee, the requests in flight at which they begin to queue: N = X (R + Z). `null` if it is reached. */
export function estimateKnee(metrics: Metrics, { throughput }: ConnectionRamp): number | null {
  const knee = Math.round((throughput * computeCycleMs(metrics)) / 1000);
  return knee > MIN_KNEE_RATIO * metrics.maxConcurrency ? knee : null;
}

/** Computes the time of a cycle without queueing: the response time and the think time after it. */
function computeCycleMs({ unloadedLatencyMs, responseMs, base }: Metrics): number {
  return Math.min(unloadedLatencyMs ?? responseMs, responseMs) + base.load.plan.thinkTimeMs;
}

/** Adds the measurement at the knee. It may exceed that with more connections, as code was compiled meanwhile. */
export function addKnee(before: ConnectionRamp, knee: ConnectionRamp): ConnectionRamp {
  const best = knee.throughput > before.throughput ? { ...knee, isQueueing: true } : before;
  return { ...best, throughputAtKnee: knee.throughput };
}

/** Evaluates a block with more connections; `null` if more requests failed than before. */
export function evaluateRampStep(
  metrics: Metrics,
  block: Observation,
  before: ConnectionRamp | null,
): ConnectionRamp | null {
  if (computeErrorShare([block]) > metrics.errorShare + MAX_FAILURE_SHARE) return null;
  const connections = computeMaxInFlight(block.load);
  const responseMs = computeResponseMs(block);
  const from =
    before && !before.isQueueing
      ? before
      : { connections: metrics.maxConcurrency, throughput: metrics.throughput };
  const gain = block.throughput / from.throughput;
  return {
    connections,
    throughput: block.throughput,
    responseMs,
    isQueueing:
      responseMs >
        MIN_QUEUEING_STRETCH *
          Math.min(metrics.responseMs, metrics.unloadedLatencyMs ?? metrics.responseMs) ||
      gain < MIN_GAIN_SHARE * (connections / from.connections),
    loopLimit: computeLoopLimit(block) ?? block.throughput,
    throughputAtKnee: null,
  };
}
