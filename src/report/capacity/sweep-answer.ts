import type { Sweep } from '../../capacity/result.js';
import { count, plural, rate, share, time } from '../../format/units.js';
import { type CapacityAnswer, formatInterval } from './answer.js';

const CURVE_NAMES = {
  mva: 'a delay and one server',
  bounds: 'a wait that all have, then a limit',
  amdahl: 'a part of the work that is done one at a time',
  usl: 'a part of the work that is done one at a time, and more of it with more connections',
} as const;

/** The highest throughput and the connections that it takes. */
export function answerSweep(sweep: Sweep): CapacityAnswer {
  return {
    sentence: formatSentence(sweep),
    grounds: listGrounds(sweep),
    warnings: explainEnd(sweep),
  };
}

function formatSentence({ best, model, levels, ended }: Sweep): string {
  if (levels.length === 0) return 'No level was measured.';
  if (!best) return `No level tells of the server, of ${plural(levels.length, 'level')}.`;
  const measured = `${rate(best.throughput.mean)} req/s with ${plural(best.connections, 'connection')}`;
  const { maxThroughput, knee, peak } = model ?? {};
  if (!maxThroughput || !knee) {
    const scatter = model ? ` (${share(model.scatter)})` : '';
    return ended === 'past-knee'
      ? `About ${measured}; the levels scatter too much${scatter} to tell a knee.`
      : `At least ${measured}: throughput was still growing.`;
  }
  const plateau = `At most ${rate(maxThroughput.value)} req/s (${formatInterval(maxThroughput)})`;
  if (peak) {
    return `${plateau}, at ${count(peak.value)} connections (${formatInterval(peak, count)}): beyond that throughput falls.`;
  }
  return `${plateau}, from ${plural(Math.max(1, Math.round(knee.value)), 'connection')} on (${formatInterval(knee, count)}): with more of them requests only wait.`;
}

function listGrounds({ model }: Sweep): string[] {
  if (!model) return [];
  const { maxThroughput, knee, singleMs, curve, scatter } = model;
  const fitted = `The levels follow ${CURVE_NAMES[curve]}, to ${share(scatter)}.`;
  if (!maxThroughput || !knee) return [`${time(singleMs.value)} for a single request. ${fitted}`];
  const perTen = maxThroughput.value / 100;
  return [
    `${rate(maxThroughput.value)} req/s x ${time(singleMs.value)} for a single request = ${count(Math.max(1, knee.value))} in flight. Every 10 ms of wait in a request takes ${plural(Math.ceil(perTen), 'connection')} more.`,
    fitted,
  ];
}

function explainEnd({ ended, levels, best }: Sweep): string[] {
  const last = levels.at(-1)?.connections ?? 0;
  switch (ended) {
    case 'past-knee':
      return [];
    case 'connections':
      return best?.connections === last
        ? [`${plural(last, 'connection')} were the most allowed; more: -c N.`]
        : [];
    case 'budget':
      return [
        'The time was over before throughput stopped growing, or before all was measured; more: --budget 2m.',
      ];
    case 'errors':
      return [
        `With ${plural(last, 'connection')} requests failed: what is beyond says nothing about throughput.`,
      ];
    case 'client-bound':
      return [
        `CLIENT-BOUND: with ${plural(last, 'connection')} the load generator was the limit. More threads (-t), or another machine for it.`,
      ];
    case 'server-ended':
      return [
        `The server ended, or could no longer be reached, after the level of ${plural(last, 'connection')}.`,
      ];
    default:
      return ['Interrupted: what was measured until then.'];
  }
}
