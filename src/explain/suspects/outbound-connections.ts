import { count, rate, share, time } from '../../report/units.js';
import { type Facts, halved } from '../facts.js';
import type { LimitId } from '../limits.js';
import type { OutboundView } from '../observation.js';
import type { Range } from '../result.js';
import { freed, type Judge, type Suspect, times } from '../suspect.js';
import { isDelayedAck } from './connections.js';
import { loopEvidence, loopLimit, SATURATED } from './load.js';
import { busyLoop } from './loop.js';
import { idleLoop } from './queue.js';

/** What a connection that the service opens costs its loop, ms: of TCP, and with a full handshake of TLS and its trust store. */
const OPENING_MS = { tcp: { low: 0.05, high: 0.3 }, tls: { low: 0.3, high: 4 } };
/** Part of the loop's time from which on it matters. */
const MATTERS = 0.12;

/** The calls that have a connection each, where most requests make some. */
function unkept({ base, throughput }: Facts): OutboundView | null {
  const calls = base.inside?.outbound ?? [];
  const each = calls.filter(
    (call) => call.opened >= 0.5 * call.rate && call.rate >= 0.3 * throughput,
  );
  return each.reduce<OutboundView | null>(
    (most, call) => (most && most.opened >= call.opened ? most : call),
    null,
  );
}

/** Connections that the service opens, one for each call: its loop is busy with that, and with their handshakes. */
export const outboundChurn: Judge = (facts) => {
  const { base, loop, throughput, spent } = facts;
  const call = unkept(facts);
  if (!call || !loop || loop.busy < SATURATED) return null;
  const isSecure = call.origin.startsWith('https:');
  const limit: LimitId = isSecure ? 'tls-handshake' : 'connection-churn';
  const each = call.opened / throughput;
  const cost = OPENING_MS[isSecure ? 'tls' : 'tcp'];
  const about = {
    low: Math.min(0.5, (each * cost.low) / loop.eachMs),
    high: Math.min(0.95, (each * cost.high) / loop.eachMs),
  };
  // Of a server that speaks TLS itself the profile shows both.
  const connecting = base.load.plan.tls === null ? (spent?.connecting ?? null) : null;
  const part = connecting ?? about.high;
  if (part < MATTERS) return null;
  const gain: Range =
    connecting !== null
      ? freed(part, 0.8, 1.2)
      : { low: freed(about.low, 1, 1).low, high: freed(about.high, 1, 1).high };
  return {
    limit,
    within: 'event-loop-cpu',
    ...(connecting !== null && { part }),
    // A small part of a busy loop is no cause of it, and without a profile nothing is known.
    weight: connecting === null ? 0.5 : Math.min(0.96, 0.3 + 1.2 * part),
    sentence: `connections to ${call.origin}: each call opens one of its own${isSecure ? ', with a handshake of TLS' : ''}${connecting === null ? '' : `; that takes ${share(part)} of the loop's time`}.`,
    arithmetic: [
      `${rate(call.opened)} connections a second for ${rate(call.rate)} calls: ${each.toFixed(1)} for each request, which takes the loop ${time(loop.eachMs)}`,
    ],
    evidence: [
      {
        what: 'connections opened per call',
        value: call.opened / call.rate,
        unit: '1',
        source: 'probe',
      },
      ...(connecting !== null
        ? [{ what: 'opening connections', value: part, unit: '1', source: 'profile' as const }]
        : []),
      ...loopEvidence(facts),
    ],
    otherwise: 'unknown',
    predictions: busyLoop(facts),
    remedy: {
      change:
        'one agent or client for all calls that keeps its connections (new Agent({ keepAlive: true }) once, not for each call; fetch keeps them by itself), and answers that are read to their end',
      predictedThroughput: times(gain, throughput),
      nextLimit: 'event-loop-cpu',
    },
  };
};

/** Half of the calls have to wait for the timer, with a single request as well, and the connection is one that holds back. */
function waitsForTimer(
  { single }: Facts,
  { origin, answerP50Ms, holdsBack }: OutboundView,
): boolean {
  if (!holdsBack) return false;
  const alone = single?.inside?.outbound.find((one) => one.origin === origin)?.answerP50Ms;
  return Boolean(answerP50Ms && alone && isDelayedAck(answerP50Ms) && isDelayedAck(alone));
}

/**
 * The same timer of TCP as of responses, on what the service asks: a question in two writes, of which the second is held back until
 * the first is acknowledged. A dependency that takes so long by itself looks alike, until the connection is told not to wait.
 */
export const outboundDelayedAck: Judge = (facts) => {
  const limit = 'nagle-delayed-ack';
  const { base, slots, throughput, responseMs, inFlight, model } = facts;
  if (idleLoop(facts)) return null;
  const call = base.inside?.outbound.find(
    (one) => waitsForTimer(facts, one) && one.answering >= 0.3 * inFlight,
  );
  if (!call?.answerP50Ms) return null;
  const calls = Math.max(1, Math.round(call.rate / throughput));
  const without = Math.max(0.2, responseMs - calls * call.answerP50Ms);
  const then = Math.min((slots * 1000) / without, loopLimit(facts) ?? Number.POSITIVE_INFINITY);
  return {
    limit,
    // Where nothing is tried it is a coincidence of times.
    weight: model === 'open' ? 0.4 : 0.7,
    sentence: `a timer of TCP: an answer of ${call.origin} takes ${time(call.answerP50Ms)}, as the second part of the question is held back (Nagle) until the first is acknowledged, which the other side delays.`,
    arithmetic: [
      `${time(call.answerP50Ms)} with ${count(slots)} in flight and with one: the delayed acknowledgement, no queue`,
      `${count(slots)} / ${time(responseMs)} = ${rate((slots * 1000) / responseMs)} req/s, measured ${rate(throughput)}`,
    ],
    evidence: [
      { what: 'answer time, median', value: call.answerP50Ms, unit: 'ms', source: 'probe' },
      ...loopEvidence(facts),
    ],
    otherwise: 'unchanged',
    predictions: {
      'connections x2': { low: 1.6, high: 2.1 },
      'connections /2': halved(facts, { low: 0.84, high: 1.24 }),
      'questions at once': {
        low: Math.max(1.3, (0.3 * then) / throughput),
        high: (slots * 1000) / 0.05 / throughput,
      },
    } satisfies Suspect['predictions'],
    remedy: {
      change: `setNoDelay(true) on the connections to ${call.origin}, or each question in one write (cork())`,
      predictedThroughput: { low: then * 0.4, high: then },
      nextLimit: 'event-loop-cpu',
    },
  };
};
