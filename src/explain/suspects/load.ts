import { count, plural, rate, share, time } from '../../report/units.js';
import type { Beyond } from '../beyond.js';
import {
  cpuMsOf,
  eachMsOf,
  type Facts,
  halved,
  mainDependency,
  mayBeKept,
  openingShare,
  working,
} from '../facts.js';
import type { Evidence, Range } from '../result.js';
import { about, type Judge, type Suspect, times } from '../suspect.js';
import { slowedByDelay } from './calls.js';
import { refusedConnections } from './failures.js';

/** Busy from which on a loop gives no more, by its own account or the system's. */
export const SATURATED = 0.85;
/** Response times that differ by less are the same. */
const SAME = 1.35;

/** Responses per second that the loops can give at most, by the utilisation law X = U / D. */
export function loopLimit(facts: Facts): number | null {
  const cpuMs = cpuMsOf(facts.base);
  if (cpuMs === null || cpuMs === 0 || !facts.base.outside) return null;
  const loops = Math.max(1, working(facts.base).length);
  return (1000 * Math.min(loops, facts.base.outside.cpu.cores)) / cpuMs;
}

/**
 * The same for a loop that is busy, which takes less time for a request than one that mostly sleeps: wake-ups are shared, and
 * what it needs stays at hand. Measured: 1.3 to 3.7 times as much from below a third, up to 1.9 from a third.
 */
export function warmLimit(facts: Facts): Range | null {
  const cold = loopLimit(facts);
  const { run, stolen } = facts.loop ?? { run: 1, stolen: 0 };
  if (cold === null) return null;
  if (run + stolen < 0.3) return times({ low: 1.3, high: 4 }, cold);
  return times(run + stolen < 0.6 ? { low: 1, high: 2 } : { low: 0.9, high: 1 }, cold);
}

/** What the server can give by all that was seen of it: its loops, its CPU on all threads, its bounded pools of sockets. */
export function serverLimit(facts: Facts): number | null {
  const loops = loopLimit(facts);
  const { outside, inside } = facts.base;
  if (loops === null || !outside) return null;
  const byCores = (outside.cpu.cores * facts.throughput) / Math.max(0.01, outside.cpu.server);
  const byPools = (inside?.outbound ?? []).flatMap(({ maxSockets, answerMs, rate: calls }) =>
    maxSockets && answerMs && calls > 0
      ? [((maxSockets * 1000) / answerMs) * (facts.throughput / calls)]
      : [],
  );
  return Math.min(loops, byCores, ...byPools);
}

/** Throughput with `factor` times the connections, if the requests wait only for what does not queue: bounded by the loop. */
function withMore(facts: Facts, factor: number): Range {
  const headroom = facts.loop ? 1 / Math.max(0.01, facts.loop.busy) : factor;
  const gain = Math.min(factor, headroom);
  // A busier loop takes more events per turn: its time per request falls.
  return { low: gain * 0.9, high: Math.min(factor, gain * 1.4) * 1.05 };
}

export const tooFewConnections: Judge = (facts) => {
  const { loop, slots, responseMs, singleMs, throughput, model } = facts;
  const limit = 'too-few-connections';
  if (model === 'open') return { limit, why: 'the load is a rate: it does not wait for responses' };
  if (loop && loop.busy >= SATURATED) {
    return { limit, why: `the event loop is ${share(loop.busy)} busy` };
  }
  const refused = refusedConnections(facts);
  if (refused > 0) {
    const all = facts.base.load.plan.connections;
    return {
      limit,
      why: `the server does not let ${count(refused)} of ${count(all)} connections stay open`,
    };
  }
  const stretch = singleMs ? responseMs / singleMs : 1;
  if (stretch > 2) {
    return {
      limit,
      why: `a request takes ${time(responseMs)} among ${plural(Math.max(1, slots - 1), 'other')}, alone ${time(singleMs)}: it queues`,
    };
  }
  // A client that thinks between two requests holds its slot meanwhile: N = X (R + Z).
  const thinkMs = facts.base.load.plan.thinkTimeMs;
  const cycleMs = responseMs + thinkMs;
  const ownMs = facts.latencyMs;
  const thinks = thinkMs > 0 ? ` and thinks ${time(thinkMs)}` : '';
  const { beyond } = facts;
  const most = mostThroughput(facts);
  const alone = singleMs ?? responseMs;
  const bothMeet = most
    ? Math.round((most * (Math.min(alone, responseMs) + thinkMs)) / 1000)
    : null;
  // Closer than this it makes no difference.
  const knee = bothMeet !== null && bothMeet > 1.1 * slots ? bothMeet : null;
  const farthest = knee ? farthestOf(facts, knee) : null;
  const reached = most ? reachable(facts, most, { knee, farthest }) : null;
  const wait = waitOf(facts);
  return {
    limit,
    weight: stretch <= SAME ? 0.9 : 0.5,
    sentence: `too few connections: each request waits ${time(responseMs)}${wait}${thinks}, and only ${count(slots)} can wait at once.`,
    arithmetic: [
      `${count(slots)} in flight / ${time(ownMs + thinkMs)} = ${rate((slots * 1000) / (ownMs + thinkMs))} req/s, measured ${rate(throughput)}`,
      ...(singleMs ? [`alone a request takes ${time(singleMs)}: it does not queue`] : []),
      ...(beyond
        ? [
            `tried: ${count(beyond.connections)} connections give ${rate(beyond.throughput)} req/s in ${time(beyond.responseMs)} each${tellsOf(beyond)}`,
          ]
        : []),
      ...(knee && most && loop && !beyond
        ? [
            `the loop needs ${time(loop.cpuMs)} of CPU per request: ${rate(most)} req/s at most, reached by ${rate(most)}/s x ${time(alone + thinkMs)} = ${count(knee)} connections, unless a pool or another service is full before (tried: up to ${count(2 * slots)})`,
          ]
        : []),
    ],
    evidence: loopEvidence(facts),
    otherwise: 'unchanged',
    predictions: {
      'connections x2': withMore(facts, 2),
      'connections /2': halved(facts, { low: 0.94, high: 1.12 }),
      'keep-alive': about(1 / (1 - openingShare(facts)), 0.15),
      'tls kept': about(1 / (1 - openingShare(facts)), 0.15),
      ...(loop && { 'cpu injection': slowed(cycleMs, injectedMs(facts)) }),
      ...slowedByDelay(facts),
    },
    remedy: {
      change: moreConnections(knee, farthest),
      predictedThroughput: reached,
      nextLimit: farthest ? limit : 'event-loop-cpu',
      ...(knee && { settings: { connections: farthest ?? knee } }),
    },
  };
};

function tellsOf({ queues, throughput, atKnee }: Beyond): string {
  if (!queues) return ', and do not queue yet';
  return throughput === atKnee ? ', and more of them no more' : ': there they queue';
}

/** What more connections gave where they queued, else what the loops can give: by what was tried, where they are warmer than at the load as asked for. */
export function mostThroughput(facts: Facts): number | null {
  const { beyond } = facts;
  if (!beyond) return serverLimit(facts);
  return beyond.queues ? beyond.throughput : Math.max(beyond.throughput, beyond.loopLimit);
}

/** What is said goes no further than twice what was tried: a pool or another service may be full before the loop is. */
const EXTRAPOLATED = 2;

/** The most connections that a prediction is made for, where the knee lies beyond them; `null`: it does not. */
function farthestOf({ beyond, slots }: Facts, knee: number): number | null {
  const farthest = EXTRAPOLATED * (beyond?.connections ?? 2 * slots);
  return !beyond?.queues && knee > farthest ? farthest : null;
}

function moreConnections(knee: number | null, farthest: number | null): string {
  if (knee === null) return 'more connections, until the response time grows';
  return farthest === null
    ? `about ${count(knee)} connections (or requests in flight); beyond that they only wait`
    : `more connections, ${count(farthest)} to begin with: twice what was tried; by the loop's time alone ${count(knee)} were worth having`;
}

/** What a service gives at its knee, as a share of what it gives where requests queue: some do already. */
const AT_KNEE: Range = { low: 0.75, high: 1 };

/** By so much a block may differ from another. */
const NOISE = 0.05;

/** What more connections reach: what so many did, or, where that was not tried, near a bound before which queues form. */
function reachable(
  { beyond, slots, throughput }: Facts,
  most: number,
  { knee, farthest }: { knee: number | null; farthest: number | null },
): Range {
  if (beyond && !beyond.queues && knee !== null && knee <= beyond.connections) {
    // Fewer connections give no more than many did, and each of them no less, but for noise.
    const low = (1 - NOISE) * ((beyond.throughput * knee) / beyond.connections);
    const high = (1 + NOISE) * beyond.throughput;
    return { low: Math.max(throughput, low), high: Math.max(throughput, high) };
  }
  if (beyond?.queues) {
    const { atKnee } = beyond;
    const { low, high } = atKnee === null ? times(AT_KNEE, most) : about(atKnee, 0.1);
    return { low: Math.max(throughput, low), high: Math.max(throughput, high) };
  }
  // The bound of the loop, and as much of each connection as of fewer: X(N) is concave.
  const asked = farthest ?? knee;
  const each = beyond ? beyond.throughput / beyond.connections : throughput / slots;
  const byEach = asked === null ? Number.POSITIVE_INFINITY : (1 + NOISE) * each * asked;
  const high = Math.max(throughput, Math.min(1.1 * most, byEach));
  return { low: Math.max(beyond?.throughput ?? throughput, 0.7 * high), high };
}

/** What the requests wait for, as far as the probe saw it. */
function waitOf(facts: Facts): string {
  const dependency = mainDependency(facts);
  const inFlight = facts.base.inside?.inFlight ?? 0;
  if (dependency && dependency.answering > inFlight / 2) return ` for ${dependency.origin}`;
  const timers = facts.base.inside?.resources.Timeout ?? 0;
  return timers > inFlight / 2 && inFlight > 0.5 ? ' for a timer' : '';
}

/** Busy time that the probe adds per request in the experiment, ms: enough to show, little enough to bear. */
export function injectedMs({ base }: Facts): number {
  const busy = base.inside?.utilisation ?? 0;
  const each = (busy >= SATURATED ? eachMsOf(base) : cpuMsOf(base)) ?? 0.1;
  return Math.min(20, Math.max(0.02, each * 0.6));
}

/** Throughput after `addedMs` in series with a response time. */
function slowed(responseMs: number, addedMs: number): Range {
  return about(responseMs / (responseMs + addedMs), 0.06);
}

export function loopEvidence({ loop, base }: Facts): Evidence[] {
  if (!loop) return [];
  const source = loop.seenInside ? 'probe' : 'proc';
  const inside = base.inside;
  return [
    { what: 'event loop busy', value: loop.busy, unit: '1', source },
    { what: 'main thread on a core', value: loop.run, unit: '1', source: 'proc' },
    { what: 'CPU time of the loop per response', value: loop.cpuMs, unit: 'ms', source: 'proc' },
    ...(inside ? [{ what: 'in handlers', value: inside.inFlight, unit: 'requests', source }] : []),
  ];
}

/** Busy from which on a generator's thread may be the limit, and from which on it is one. */
const [BOUND, SURE] = [0.75, 0.85];

/** Part of the time without a core that is more than a neighbour now and then. */
const STARVED = 0.2;

/** A generator that is busy, but for want of a core: what it could do with one is not known. `null`: it is not so. */
export function starvedGenerator({ base }: Facts): string | null {
  const { busy, starved } = base.load.generator;
  if (busy < BOUND || starved === null || starved < STARVED) return null;
  const others = base.outside ? ` (others use ${base.outside.cpu.others.toFixed(2)} cores)` : '';
  return `the generator's busiest thread ${share(busy)}, a thread of it ${share(starved)} of the time without a core${others}`;
}

/** Throughput with a second generator, which needs a core of its own: without one the two take it from the server and each other. */
function withTwo(facts: Facts): Range {
  const room = roomFor(facts);
  if (room > ROOM && !mayBeKept(facts.machine)) return { low: 1.12, high: 2.05 };
  return { low: 0.7, high: Math.min(2.05, Math.max(1.1, 1.1 * room)) };
}

/** How many times as much as server and generator use now there is for them. */
function roomFor({ base: { outside } }: Facts): number {
  if (!outside) return Number.POSITIVE_INFINITY;
  const { cores, others, self, server } = outside.cpu;
  return (cores - others) / Math.max(0.01, self + server);
}

/** So much of what both use now there has to be for a second generator to give more for sure. */
const ROOM = 1.5;

export const generatorSaturated: Judge = (facts) => {
  const { base, loop, sockets } = facts;
  const { generator } = base.load;
  const limit = 'generator-saturated';
  const unread = sockets?.client.unread ?? 0;
  const server = loop ? `; the server's loop only ${share(loop.busy)}` : '';
  const starving = starvedGenerator(facts);
  if (starving) return { limit, why: starving };
  if (generator.busy < BOUND) {
    return { limit, why: `the generator's busiest thread ${share(generator.busy)}` };
  }
  if (loop && loop.busy >= 0.95) {
    return { limit, why: `the server's loop is as busy (${share(loop.busy)})` };
  }
  const threads = base.load.plan.threads;
  return {
    limit,
    weight: loop && loop.busy > 0.8 ? 0.5 : generator.busy >= SURE ? 0.95 : 0.6,
    sentence: `the load generator: its ${threads === 1 ? 'thread is' : 'threads are'} ${share(generator.busy)} busy${server}.`,
    arithmetic: [
      `one thread of the generator needs ${time((generator.busy * 1000 * threads) / facts.throughput)} per request: ${rate(facts.throughput / generator.busy)} req/s at most`,
      ...(sockets ? [`${share(unread)} of its sockets hold bytes that it has not read`] : []),
    ],
    evidence: [
      { what: 'generator busy', value: generator.busy, unit: '1', source: 'load' },
      { what: 'sockets unread by the generator', value: unread, unit: '1', source: 'sockets' },
    ],
    otherwise: 'unchanged',
    predictions: {
      'two generators': withTwo(facts),
      'connections x2': about(1, 0.12),
      // It limits before any route is chosen: of another path only the answer may be shorter.
      'unknown path': { low: 0.85, high: 1.7 },
    },
    remedy: {
      change:
        roomFor(facts) > ROOM
          ? `more threads (-t ${threads * 2}), on cores that the server does not use`
          : 'another machine for the load: here is no core for more threads of it',
      predictedThroughput: {
        low: facts.throughput * 1.1,
        high: Math.min(2 * facts.throughput, loopLimit(facts) ?? Number.POSITIVE_INFINITY),
      },
      nextLimit: 'event-loop-cpu',
    },
  } satisfies Suspect;
};
