import { count, rate } from '../../../format/units.js';
import { predictBusyLoop } from '../../hypotheses/event-loop/busy-loop.js';
import { SATURATED } from '../../hypotheses/event-loop/loop-capacity.js';
import type { Detected } from '../../hypotheses/hypothesis.js';
import type { Metrics } from '../../metrics/types.js';
import type { Limit } from '../limit.js';

export const ACCEPT_RATE = {
  id: 'accept-rate',
  group: 'connections and TCP',
  text: {
    title: 'One new connection per turn of the loop',
    what: 'Node.js accepts one connection per turn of its event loop. When turns are long, new connections wait while existing ones are served.',
    shows:
      'Connections opened per second equal the turns of a busy loop per second, and some wait to be accepted.',
    experiment:
      "None that distinguishes it from connection-churn: 'keep-alive' helps with both. The number of turns does.",
    formula: 'new connections per second = turns of the loop per second',
    remedy: 'Keep-alive, shorter turns, or more processes.',
    confirm: 'start a second process at the same port: connections opened per second double',
    detected: 'by its signature',
    note: 'Needs the probe, and Node.js 20.18 or later.',
  },
  detectors: [detectAcceptRate],
} satisfies Limit;

function detectAcceptRate(metrics: Metrics): Detected {
  const limit = 'accept-rate';
  const { load, inside } = metrics.base;
  const seconds = load.durationMs / 1000;
  const opened = load.connections.opened / seconds;
  if (!inside?.loops || !metrics.loop) return null;
  if (load.connections.opened < 3 * load.plan.connections) {
    return { limit, why: 'connections are kept open' };
  }
  const perLoop = opened / inside.loops;
  const queue = metrics.sockets?.listen?.waiting ?? 0;
  if (perLoop < 0.7 || perLoop > 1.5 || queue < 2 || metrics.loop.busy < SATURATED) {
    return {
      limit,
      why: `${rate(opened)} new connections per second, ${rate(inside.loops)} turns of the loop`,
    };
  }
  return {
    limit,
    causeOf: 'event-loop-cpu',
    // A turn that is long because of handshakes is no reason of its own.
    weight: load.connections.tlsFull > 0.5 * load.connections.opened ? 0.6 : 0.9,
    sentence: `the event loop accepts one connection per turn: ${rate(opened)} per second in ${rate(inside.loops)} turns; ${count(queue)} wait to be accepted.`,
    arithmetic: [
      `${rate(inside.loops)} turns per second x 1 = at most ${rate(inside.loops)} connections per second`,
    ],
    evidence: [
      { what: 'turns of the loop', value: inside.loops, unit: '1/s', source: 'probe' },
      { what: 'connections opened', value: opened, unit: '1/s', source: 'load' },
      { what: 'waiting to be accepted', value: queue, unit: 'connections', source: 'sockets' },
    ],
    predictions: {
      ...predictBusyLoop(metrics),
      ...(load.plan.connection === 'close' && { 'keep-alive': { low: 1.05, high: 100 } }),
    },
    remedy: {
      change: 'keep-alive, shorter turns of the loop, or more processes',
      predictedThroughput: null,
      nextLimit: 'event-loop-cpu',
    },
  };
}
