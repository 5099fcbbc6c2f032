import { share, time } from '../../../format/units.js';
import type { Detected } from '../../hypotheses/hypothesis.js';
import type { Metrics } from '../../metrics/types.js';
import type { Limit } from '../limit.js';

export const PACKET_LOSS = {
  id: 'packet-loss',
  group: 'machine',
  text: {
    title: 'Packet loss',
    what: 'Lost TCP segments are retransmitted after at least 200 ms.',
    shows: 'A measurable share of the TCP segments is retransmitted.',
    experiment: 'None of its own: it would take another network path.',
    formula: 'time added = share of retransmitted segments x 200 ms',
    remedy: 'Fix the network between client and server.',
    confirm:
      'run the load on the same machine as the server: the slowest response times lose their steps of 200 ms',
    detected: 'by its signature',
  },
  needsOwnLoad: 'which clients the lost segments are of is not seen',
  detectors: [detectPacketLoss],
} satisfies Limit;

function detectPacketLoss({ base, responseMs }: Metrics): Detected {
  const limit = 'packet-loss';
  const network = base.outside?.network;
  if (!network) return null;
  const local = base.load.plan.addresses.every((address) => /^(127\.|\[?::1|\/)/.test(address));
  if (local) return { limit, why: 'the load does not leave this machine' };
  const lost = network.retransmitted / Math.max(1, network.sentSegments);
  if (lost < 0.005 || network.retransmitted < 2) {
    return { limit, why: `${share(lost)} of the TCP segments were retransmitted` };
  }
  return {
    limit,
    weight: Math.min(0.9, 0.5 + lost * 10),
    sentence: `packet loss: ${share(lost)} of the TCP segments are retransmitted, each after 200 ms or more.`,
    arithmetic: [
      `${share(lost)} x 200 ms = ${time(lost * 200)} per segment, of a response time of ${time(responseMs)}`,
    ],
    evidence: [{ what: 'segments retransmitted', value: lost, unit: '1', source: 'proc' }],
    predictions: {},
    remedy: {
      change: 'fix the network between client and server',
      predictedThroughput: null,
      nextLimit: null,
    },
  };
}
