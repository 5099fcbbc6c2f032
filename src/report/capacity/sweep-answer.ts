import type { CapacitySweep } from '../../capacity/result.js';
import { count, plural, rate, share, time } from '../../format/units.js';
import { type CapacityAnswer, formatInterval } from './answer.js';

const CURVE_NAMES = {
  mva: 'a delay and one server',
  bounds: 'a constant delay, then a limit',
  amdahl: 'a serial share of the work',
  usl: 'a serial share of the work, and work that grows with the connections',
} as const;

/** Describes the maximum throughput and the connections that it needs. */
export function answerSweep(sweep: CapacitySweep): CapacityAnswer {
  return {
    sentence: formatSentence(sweep),
    grounds: listGrounds(sweep),
    warnings: explainEnd(sweep),
  };
}

function formatSentence({ best, model, levels, ended }: CapacitySweep): string {
  if (levels.length === 0) return 'No level was measured.';
  if (!best)
    return `No usable level, of ${plural(levels.length, 'level')}: requests failed or the load generator was the limit.`;
  const measured = `${rate(best.throughput.mean)} req/s with ${plural(best.connections, 'connection')}`;
  const { maxThroughput, knee, peak } = model ?? {};
  if (!maxThroughput || !knee) {
    const scatter = model ? ` (${share(model.scatter)})` : '';
    return ended === 'past-knee'
      ? `About ${measured}; the levels scatter too much${scatter} to determine a knee.`
      : `At least ${measured}: throughput was still growing.`;
  }
  const plateau = `At most ${rate(maxThroughput.value)} req/s (${formatInterval(maxThroughput)})`;
  if (peak) {
    return `${plateau}, at ${count(peak.value)} connections (${formatInterval(peak, count)}): with more than that throughput falls.`;
  }
  return `${plateau}, from ${plural(Math.max(1, Math.round(knee.value)), 'connection')} on (${formatInterval(knee, count)}): more than that only adds latency.`;
}

function listGrounds({ model }: CapacitySweep): string[] {
  if (!model) return [];
  const { maxThroughput, knee, singleMs, curve, scatter } = model;
  const fitted = `The levels fit ${CURVE_NAMES[curve]}, within ${share(scatter)}.`;
  if (!maxThroughput || !knee) return [`${time(singleMs.value)} for a single request. ${fitted}`];
  const perTen = maxThroughput.value / 100;
  return [
    `${rate(maxThroughput.value)} req/s x ${time(singleMs.value)} for a single request = ${count(Math.max(1, knee.value))} in flight. Every 10 ms more per request needs ${plural(Math.ceil(perTen), 'more connection', 'more connections')}.`,
    fitted,
  ];
}

function explainEnd({ ended, levels, best }: CapacitySweep): string[] {
  const last = levels.at(-1)?.connections ?? 0;
  switch (ended) {
    case 'past-knee':
      return [];
    case 'connections':
      return best?.connections === last
        ? [`${plural(last, 'connection')} was the maximum; allow more with -c N.`]
        : [];
    case 'budget':
      return [
        'The time budget was used up before throughput stopped growing or all levels were measured; use a longer --budget.',
      ];
    case 'errors':
      return [
        `With ${plural(last, 'connection')} requests failed; throughput beyond that is not meaningful.`,
      ];
    case 'client-bound':
      return [
        `CLIENT-BOUND: with ${plural(last, 'connection')} the load generator was the limit. Use more threads (-t) where cores are free, or another machine.`,
      ];
    case 'server-ended':
      return [
        `The server ended or could no longer be reached after the level of ${plural(last, 'connection')}.`,
      ];
    default:
      return ['Interrupted: the result covers the measurements until then.'];
  }
}
