import { cpuMsOf, errorShareOf, type Facts, responseMsOf, working } from './facts.js';
import type { Observation } from './observation.js';

/** What more connections than were asked for gave, where those were too few. */
export interface Beyond {
  connections: number;
  throughput: number;
  responseMs: number;
  /** Requests queue by then: more of them would give no more. */
  queues: boolean;
  /** What the loops could give by their CPU time per request there, where they are warm. */
  loopLimit: number;
}

/** A response time that has grown by so much is queueing. */
const QUEUEING = 1.3;
/** Of what the growing number of connections would give. */
const FULL = 0.75;
/** To be beyond the knee, not just at it. */
const BEYOND_KNEE = 1.2;
/** Steps stay this small: a pool or another service may be full before. */
const MOST_GROWTH = 8;
const LEAST_GROWTH = 1.5;
/** Within what descriptors permit nearly everywhere. */
const MOST_CONNECTIONS = 2000;
const MORE_ERRORS = 0.01;

/**
 * Whether further connections may be tried: nobody elsewhere is asked for more, neither by the calls that the probe sees
 * nor by the sockets that the system sees (of protocols that the probe does not know), and errors are no answer.
 */
export function mayTryMore({ base, model, errorShare, sockets }: Facts): boolean {
  const called = base.inside?.outbound.map(({ origin }) => hostOf(origin)) ?? [];
  const connected = sockets?.outbound.map(({ peer }) => hostOf(peer));
  const onlyHere = connected !== undefined && [...called, ...connected].every(isLoopback);
  return model === 'closed' && errorShare < MORE_ERRORS && onlyHere;
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
export function nextConnections(facts: Facts, before: Beyond | null): number | null {
  const { slots, singleMs, responseMs, base } = facts;
  if (before?.queues) return null;
  const now = before?.connections ?? slots;
  const alone = Math.min(singleMs ?? responseMs, responseMs);
  const limit = before?.loopLimit ?? loopsOf(base);
  const wanted = limit === null ? now * MOST_GROWTH : (BEYOND_KNEE * limit * alone) / 1000;
  const bounded = Math.min(
    MOST_CONNECTIONS,
    now * MOST_GROWTH,
    Math.max(now * LEAST_GROWTH, wanted),
  );
  const next = Math.round(bounded);
  return next > now ? next : null;
}

/** A little more connections than the knee has, where requests were seen to queue. */
export function kneeOf({ singleMs, responseMs }: Facts, { throughput }: Beyond): number {
  const alone = Math.min(singleMs ?? responseMs, responseMs);
  return Math.max(1, Math.round((BEYOND_KNEE * throughput * alone) / 1000));
}

/** What a block with more connections says. `null`: requests failed, which is no throughput. */
export function beyondOf(facts: Facts, block: Observation, before: Beyond | null): Beyond | null {
  if (errorShareOf([block]) > facts.errorShare + MORE_ERRORS) return null;
  const { connections } = block.load.plan;
  const responseMs = responseMsOf(block);
  const from =
    before && !before.queues ? before : { connections: facts.slots, throughput: facts.throughput };
  const gain = block.throughput / from.throughput;
  return {
    connections,
    throughput: block.throughput,
    responseMs,
    queues:
      responseMs > QUEUEING * Math.min(facts.responseMs, facts.singleMs ?? facts.responseMs) ||
      gain < FULL * (connections / from.connections),
    loopLimit: loopsOf(block) ?? block.throughput,
  };
}

/** Responses per second that the loops could give by their CPU time per request in a block. */
function loopsOf(block: Observation): number | null {
  const cpuMs = cpuMsOf(block);
  if (!cpuMs || !block.outside) return null;
  const loops = Math.max(1, working(block).length);
  return (1000 * Math.min(loops, block.outside.cpu.cores)) / cpuMs;
}
