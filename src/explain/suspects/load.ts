import { count, plural, rate, share, time } from '../../report/units.js';
import { cpuMsOf, eachMsOf, type Facts, mainDependency, openingShare, working } from '../facts.js';
import type { Evidence, Range } from '../result.js';
import { about, type Judge, type Suspect } from '../suspect.js';

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
  const stretch = singleMs ? responseMs / singleMs : 1;
  if (stretch > 2) {
    return {
      limit,
      why: `a request takes ${time(responseMs)} among ${plural(slots, 'other')}, alone ${time(singleMs)}: it queues`,
    };
  }
  // A client that thinks between two requests holds its slot meanwhile: N = X (R + Z).
  const thinkMs = facts.base.load.plan.thinkTimeMs;
  const cycleMs = responseMs + thinkMs;
  const unaccounted = Math.abs(slots - throughput * (cycleMs / 1000)) / slots;
  const thinks = thinkMs > 0 ? ` and thinks ${time(thinkMs)}` : '';
  const most = loopLimit(facts);
  const alone = singleMs ?? responseMs;
  const knee = most
    ? Math.max(slots, Math.round((most * (Math.min(alone, responseMs) + thinkMs)) / 1000))
    : null;
  // The bound is not reached: queues form before it.
  const reached = most ? { low: 0.7 * most, high: 1.1 * most } : null;
  const wait = waitOf(facts);
  return {
    limit,
    weight: stretch <= SAME ? 0.9 : 0.5,
    sentence: `too few connections: each request waits ${time(responseMs)}${wait}${thinks}, and only ${count(slots)} can wait at once.`,
    arithmetic: [
      `${count(slots)} in flight / ${time(cycleMs)} = ${rate(slots / (cycleMs / 1000))} req/s, measured ${rate(throughput)} (Little's law closes to ${share(unaccounted)})`,
      ...(singleMs ? [`alone a request takes ${time(singleMs)}: it does not queue`] : []),
      ...(knee && most && loop
        ? [
            `the loop needs ${time(loop.cpuMs)} of CPU per request: ${rate(most)} req/s at most, reached by ${rate(most)}/s x ${time(alone + thinkMs)} = ${count(knee)} connections`,
          ]
        : []),
    ],
    evidence: loopEvidence(facts),
    otherwise: 'unchanged',
    predictions: {
      'connections x2': withMore(facts, 2),
      'connections /2': { low: 0.47, high: 0.56 },
      'keep-alive': about(1 / (1 - openingShare(facts)), 0.15),
      'tls kept': about(1 / (1 - openingShare(facts)), 0.15),
      ...(loop && { 'cpu injection': slowed(cycleMs, injectedMs(facts)) }),
    },
    remedy: {
      change: knee
        ? `about ${count(knee)} connections (or requests in flight); beyond that they only wait`
        : 'more connections, until the response time grows',
      predictedThroughput: reached,
      nextLimit: 'event-loop-cpu',
      ...(knee && { settings: { connections: knee } }),
    },
  };
};

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
export function slowed(responseMs: number, addedMs: number): Range {
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

export const generatorSaturated: Judge = (facts) => {
  const { base, loop, sockets } = facts;
  const { generator } = base.load;
  const limit = 'generator-saturated';
  const unread = sockets?.client.unread ?? 0;
  const server = loop ? `; the server's loop only ${share(loop.busy)}` : '';
  const isBound = generator.busy >= 0.85 && (generator.starved ?? 0) < 0.2;
  if (!isBound) return { limit, why: `the generator's busiest thread ${share(generator.busy)}` };
  if (loop && loop.busy >= 0.95) {
    return { limit, why: `the server's loop is as busy (${share(loop.busy)})` };
  }
  const threads = base.load.plan.threads;
  return {
    limit,
    weight: loop && loop.busy > 0.8 ? 0.5 : 0.95,
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
    predictions: { 'two generators': { low: 1.12, high: 2.05 }, 'connections x2': about(1, 0.12) },
    remedy: {
      change: `more threads (-t ${threads * 2}), on cores that the server does not use`,
      predictedThroughput: {
        low: facts.throughput * 1.1,
        high: Math.min(2 * facts.throughput, loopLimit(facts) ?? Number.POSITIVE_INFINITY),
      },
      nextLimit: 'event-loop-cpu',
    },
  } satisfies Suspect;
};

export const errors: Judge = ({ base, errorShare, goodput, throughput }) => {
  const limit = 'errors';
  const { requests, statusCodes, errors } = base.load;
  if (errorShare < 0.01) return { limit, why: `${share(errorShare)} of the requests failed` };
  const codes = Object.entries(statusCodes)
    .filter(([code]) => Number(code) >= 400)
    .sort(([, a], [, b]) => b - a);
  const kinds = [
    ...codes.map(([code, number]) => `status ${code} (${count(number)})`),
    ...errors.map(({ kind, count: number }) => `${kind} (${count(number)})`),
  ];
  const limited = (statusCodes['429'] ?? 0) > requests.statusErrors / 2;
  return {
    limit,
    weight: Math.min(1, 0.4 + errorShare * 3),
    sentence: limited
      ? `a rate limiter: ${share(errorShare)} of the requests are answered by 429; ${rate(goodput)} a second are served.`
      : `errors: ${share(errorShare)} of the requests fail, ${kinds.slice(0, 3).join(', ')}; only ${rate(goodput)} a second are served.`,
    arithmetic: [
      `${rate(throughput)} responses a second, of which good: ${rate(goodput)} (goodput)`,
    ],
    evidence: [{ what: 'requests that failed', value: errorShare, unit: '1', source: 'load' }],
    otherwise: 'unknown',
    predictions: {},
    remedy: {
      change: limited
        ? 'raise the limiter, or load below it: fast refusals are no throughput'
        : 'mend what fails first: errors are faster or slower than the work they replace',
      predictedThroughput: null,
      nextLimit: null,
    },
  };
};
