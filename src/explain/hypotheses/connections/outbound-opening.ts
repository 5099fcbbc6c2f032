import { rate, share, time } from '../../../format/units.js';
import type { Interval } from '../../../statistics/types.js';
import type { Metrics } from '../../metrics/types.js';
import type { OutboundView } from '../../observe/types.js';
import { predictBusyLoop } from '../event-loop/busy-loop.js';
import { buildLoopEvidence, SATURATED } from '../event-loop/loop-capacity.js';
import {
  computeDominantGain,
  computeGain,
  type Detected,
  MIN_DOMINANT_SHARE,
  scale,
} from '../hypothesis.js';

/** Time of the loop to open an outbound connection, ms: over TCP, and with a full TLS handshake and its trust store. */
const OPENING_MS = { tcp: { low: 0.05, high: 0.3 }, tls: { low: 0.3, high: 4 } };

/** Minimum share of the loop's time at which opening connections is a limit. */
const MIN_LOOP_SHARE = 0.12;

/** Finds the outbound calls that open a connection each, where most requests make such calls. */
function findUnpooledCall({ base, throughput }: Metrics): OutboundView | null {
  const calls = base.inside?.outbound ?? [];
  const each = calls.filter(
    (call) => call.opened >= 0.5 * call.rate && call.rate >= 0.3 * throughput,
  );
  return each.reduce<OutboundView | null>(
    (most, call) => (most && most.opened >= call.opened ? most : call),
    null,
  );
}

/** Predicts the gain of kept connections from the share of the loop's time that a profile attributes to opening them. */
function predictWithoutOpening(part: number): Interval {
  const { low, high } = computeGain(part, 0.8, 1.2);
  return part < MIN_DOMINANT_SHARE ? { low, high } : { low, high: computeDominantGain(part).high };
}

/**
 * Detects a loop that is busy with opening a connection for each outbound call, and with their TLS handshakes.
 *
 * @param limit that of connections over TLS, or that of others: `null` if the calls are not of its kind
 */
export function detectOutboundOpening(
  metrics: Metrics,
  limit: 'connection-churn' | 'tls-handshake',
): Detected {
  const { base, loop, throughput, loopTime } = metrics;
  const call = findUnpooledCall(metrics);
  if (!call || !loop || loop.busy < SATURATED) return null;
  const isSecure = call.origin.startsWith('https:');
  if (limit !== (isSecure ? 'tls-handshake' : 'connection-churn')) return null;
  const each = call.opened / throughput;
  const cost = OPENING_MS[isSecure ? 'tls' : 'tcp'];
  const estimate = {
    low: Math.min(0.5, (each * cost.low) / loop.busyMs),
    high: Math.min(0.95, (each * cost.high) / loop.busyMs),
  };
  // The profile of a server with TLS does not separate inbound and outbound handshakes.
  const connecting = base.load.plan.handshake === null ? (loopTime?.connecting ?? null) : null;
  const part = connecting ?? estimate.high;
  if (part < MIN_LOOP_SHARE) return null;
  const gain: Interval =
    connecting !== null
      ? predictWithoutOpening(part)
      : { low: computeGain(estimate.low, 1, 1).low, high: computeGain(estimate.high, 1, 1).high };
  return {
    limit,
    causeOf: 'event-loop-cpu',
    ...(connecting !== null && { loopShare: part }),
    // A small share of a busy loop is not its cause, and without a profile the share is unknown.
    weight: connecting === null ? 0.5 : Math.min(0.96, 0.3 + 1.2 * part),
    sentence: `connections to ${call.origin}: each call opens its own${isSecure ? ', with a TLS handshake' : ''}${connecting === null ? '' : `; that takes ${share(part)} of the loop's time`}.`,
    arithmetic: [
      `${rate(call.opened)} connections per second for ${rate(call.rate)} calls: ${each.toFixed(1)} per request, which takes the loop ${time(loop.busyMs)}`,
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
      ...buildLoopEvidence(metrics),
    ],
    predictions: predictBusyLoop(metrics),
    remedy: {
      change:
        'one agent or client with keep-alive for all calls (one new Agent({ keepAlive: true }), not one per call; fetch keeps connections by itself), and read responses to their end',
      predictedThroughput: scale(gain, throughput),
      nextLimit: 'event-loop-cpu',
    },
  };
}
