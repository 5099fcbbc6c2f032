import { errorShareOf, loopLimitOf, responseMsOf } from '../metrics/derive.js';
import type { ConnectionRamp, Metrics } from '../metrics/types.js';
import type { Observation } from '../observe/types.js';

/** A response time that has grown by so much is queueing. */
const QUEUEING = 1.3;
/** Of what the growing number of connections would give. */
const FULL = 0.75;
/** More than there are, from which on it makes a difference. */
const WORTH_TRYING = 1.1;
/** To be beyond the knee, not just at it. */
const BEYOND_KNEE = 1.2;
/** Steps stay this small: a pool or another service may be full before. */
const MOST_GROWTH = 8;
const LEAST_GROWTH = 1.5;
/** Within what descriptors permit nearly everywhere. */
const MOST_CONNECTIONS = 2000;
/** Share of the requests that fail, from which on more connections are no answer. */
const FAILING = 0.01;

/**
 * Whether further connections may be tried: nobody elsewhere is asked for more, neither by the calls that the probe sees
 * nor by the sockets that the system sees (of protocols that the probe does not know), and errors are no answer.
 */
export function mayTryMore({ base, model, errorShare, sockets }: Metrics): boolean {
  const called = base.inside?.outbound.map(({ origin }) => hostOf(origin)) ?? [];
  const connected = sockets?.outbound.map(({ peer }) => hostOf(peer));
  const onlyHere = connected !== undefined && [...called, ...connected].every(isLoopback);
  return model === 'closed' && errorShare < FAILING && onlyHere;
}

/** Of `http://localhost:3001`, `tcp://[::1]:5432`, `127.0.0.1:5432`. */
function hostOf(peer: string): string {
  const [, bracketed, host = ''] = /^(?:[a-z]+:\/\/)?(?:\[(.+)\]|([^:/]+))/.exec(peer) ?? [];
  return bracketed ?? host;
}

function isLoopback(host: string): boolean {
  return /^(?:localhost|(?:::ffff:)?127(?:\.\d+){3}|::1)$/.test(host);
}

/** The next number of connections to try, as far as the knee seems to be; `null` if there is no sense in more. */
export function nextConnections(facts: Metrics, before: ConnectionRamp | null): number | null {
  const { maxConcurrency, base } = facts;
  if (before?.queues) return null;
  const now = before?.connections ?? maxConcurrency;
  const alone = cycleMsOf(facts);
  const limit = before?.loopLimit ?? loopLimitOf(base);
  const wanted = limit === null ? now * MOST_GROWTH : (BEYOND_KNEE * limit * alone) / 1000;
  const bounded = Math.min(
    MOST_CONNECTIONS,
    now * MOST_GROWTH,
    Math.max(now * LEAST_GROWTH, wanted),
  );
  const next = Math.round(bounded);
  return next > now ? next : null;
}

/** The requests in flight from which on they queue, by what more of them gave: N = X (R + Z). `null`: hardly more than there are. */
export function kneeOf(facts: Metrics, { throughput }: ConnectionRamp): number | null {
  const knee = Math.round((throughput * cycleMsOf(facts)) / 1000);
  return knee > WORTH_TRYING * facts.maxConcurrency ? knee : null;
}

/** What a request takes that waits for no other, and what a client thinks before the next. */
function cycleMsOf({ unloadedLatencyMs, responseMs, base }: Metrics): number {
  return Math.min(unloadedLatencyMs ?? responseMs, responseMs) + base.load.plan.thinkTimeMs;
}

/** What is known of more connections after so many as the knee has: the code was compiled by then, so that they may give more than many did. */
export function withKnee(before: ConnectionRamp, knee: ConnectionRamp): ConnectionRamp {
  const best = knee.throughput > before.throughput ? { ...knee, queues: true } : before;
  return { ...best, throughputAtKnee: knee.throughput };
}

/** What a block with more connections says. `null`: requests failed, which is no throughput. */
export function rampStep(
  facts: Metrics,
  block: Observation,
  before: ConnectionRamp | null,
): ConnectionRamp | null {
  if (errorShareOf([block]) > facts.errorShare + FAILING) return null;
  const { plan } = block.load;
  const connections = plan.connections * plan.pipelining;
  const responseMs = responseMsOf(block);
  const from =
    before && !before.queues
      ? before
      : { connections: facts.maxConcurrency, throughput: facts.throughput };
  const gain = block.throughput / from.throughput;
  return {
    connections,
    throughput: block.throughput,
    responseMs,
    queues:
      responseMs >
        QUEUEING * Math.min(facts.responseMs, facts.unloadedLatencyMs ?? facts.responseMs) ||
      gain < FULL * (connections / from.connections),
    loopLimit: loopLimitOf(block) ?? block.throughput,
    throughputAtKnee: null,
  };
}
