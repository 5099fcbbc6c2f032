import { computeErrorShare, computeLoopLimit, computeResponseMs } from '../metrics/derive.js';
import type { ConnectionRamp, Metrics } from '../metrics/types.js';
import type { Observation } from '../observe/types.js';

/** A response time that has grown by so much is queueing. */
const MIN_QUEUEING_STRETCH = 1.3;
/** Of what the growing number of connections would give. */
const MIN_GAIN_SHARE = 0.75;
/** More than there are, from which on it makes a difference. */
const MIN_KNEE_RATIO = 1.1;
/** To be beyond the knee, not just at it. */
const KNEE_MARGIN = 1.2;
/** Steps stay this small: a pool or another service may be full before. */
const MAX_GROWTH = 8;
const MIN_GROWTH = 1.5;
/** Within what descriptors permit nearly everywhere. */
const MAX_CONNECTIONS = 2000;
/** Share of the requests that fail, from which on more connections are no answer. */
const MAX_FAILURE_SHARE = 0.01;

/**
 * Whether further connections may be tried: nobody elsewhere is asked for more, neither by the calls that the probe sees
 * nor by the sockets that the system sees (of protocols that the probe does not know), and errors are no answer.
 */
export function canTryMore({ base, model, errorShare, sockets }: Metrics): boolean {
  const called = base.inside?.outbound.map(({ origin }) => parseHost(origin)) ?? [];
  const connected = sockets?.outbound.map(({ peer }) => parseHost(peer));
  const isLocal = connected !== undefined && [...called, ...connected].every(isLoopback);
  return model === 'closed' && errorShare < MAX_FAILURE_SHARE && isLocal;
}

/** Of `http://localhost:3001`, `tcp://[::1]:5432`, `127.0.0.1:5432`. */
function parseHost(peer: string): string {
  const [, bracketed, host = ''] = /^(?:[a-z]+:\/\/)?(?:\[(.+)\]|([^:/]+))/.exec(peer) ?? [];
  return bracketed ?? host;
}

function isLoopback(host: string): boolean {
  return /^(?:localhost|(?:::ffff:)?127(?:\.\d+){3}|::1)$/.test(host);
}

/** The next number of connections to try, as far as the knee seems to be; `null` if there is no sense in more. */
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

/** The requests in flight from which on they queue, by what more of them gave: N = X (R + Z). `null`: hardly more than there are. */
export function estimateKnee(metrics: Metrics, { throughput }: ConnectionRamp): number | null {
  const knee = Math.round((throughput * computeCycleMs(metrics)) / 1000);
  return knee > MIN_KNEE_RATIO * metrics.maxConcurrency ? knee : null;
}

/** What a request takes that waits for no other, and what a client thinks before the next. */
function computeCycleMs({ unloadedLatencyMs, responseMs, base }: Metrics): number {
  return Math.min(unloadedLatencyMs ?? responseMs, responseMs) + base.load.plan.thinkTimeMs;
}

/** What is known of more connections after so many as the knee has: the code was compiled by then, so that they may give more than many did. */
export function addKnee(before: ConnectionRamp, knee: ConnectionRamp): ConnectionRamp {
  const best = knee.throughput > before.throughput ? { ...knee, isQueueing: true } : before;
  return { ...best, throughputAtKnee: knee.throughput };
}

/** What a block with more connections says. `null`: requests failed, which is no throughput. */
export function evaluateRampStep(
  metrics: Metrics,
  block: Observation,
  before: ConnectionRamp | null,
): ConnectionRamp | null {
  if (computeErrorShare([block]) > metrics.errorShare + MAX_FAILURE_SHARE) return null;
  const { plan } = block.load;
  const connections = plan.connections * plan.pipelining;
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
