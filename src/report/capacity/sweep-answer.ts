import type { CapacitySweep } from '../../capacity/result.js';
import { count, plural, rate, share, time } from '../../format/units.js';
import { type CapacityAnswer, formatInterval } from './answer.js';
import { chooseWords } from './words.js';

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

function formatSentence(sweep: CapacitySweep): string {
  const { best, model, levels, ended } = sweep;
  const { perSecond, noun, place } = chooseWords(sweep);
  if (levels.length === 0) return 'No level was measured.';
  if (!best)
    return `No usable level, of ${plural(levels.length, 'level')}: ${noun}s failed or the load generator was the limit.`;
  const measured = `${rate(best.throughput.mean)} ${perSecond} with ${plural(best.connections, place)}`;
  const { maxThroughput, knee, peak } = model ?? {};
  if (!maxThroughput || !knee) {
    const scatter = model ? ` (${share(model.scatter)})` : '';
    return ended === 'past-knee'
      ? `About ${measured}; the levels scatter too much${scatter} to determine a knee.`
      : `At least ${measured}: throughput was still growing.`;
  }
  const plateau = `At most ${rate(maxThroughput.value)} ${perSecond} (${formatInterval(maxThroughput)})`;
  if (peak) {
    return `${plateau}, at ${count(peak.value)} ${place}s (${formatInterval(peak, count)}): with more than that throughput falls.`;
  }
  return `${plateau}, from ${plural(Math.max(1, Math.round(knee.value)), place)} on (${formatInterval(knee, count)}): more than that only adds latency.`;
}

function listGrounds(sweep: CapacitySweep): string[] {
  const { model } = sweep;
  const { perSecond, noun, place } = chooseWords(sweep);
  if (!model) return [];
  const { maxThroughput, knee, singleMs, curve, scatter } = model;
  const fitted = `The levels fit ${CURVE_NAMES[curve]}, within ${share(scatter)}.`;
  if (!maxThroughput || !knee) return [`${time(singleMs.value)} for a single ${noun}. ${fitted}`];
  const perTen = maxThroughput.value / 100;
  return [
    `${rate(maxThroughput.value)} ${perSecond} x ${time(singleMs.value)} for a single ${noun} = ${count(Math.max(1, knee.value))} ${noun === 'request' ? 'in flight' : 'at a time'}. Every 10 ms more per ${noun} needs ${plural(Math.ceil(perTen), `more ${place}`, `more ${place}s`)}.`,
    fitted,
  ];
}

function explainEnd(sweep: CapacitySweep): string[] {
  const { ended, levels, best } = sweep;
  const { noun, place } = chooseWords(sweep);
  const last = levels.at(-1)?.connections ?? 0;
  switch (ended) {
    case 'past-knee':
      return [];
    case 'connections':
      return best?.connections === last
        ? [`${plural(last, place)} was the maximum; allow more with -c N.`]
        : [];
    case 'budget':
      return [
        'The time budget was used up before throughput stopped growing or all levels were measured; use a longer --budget.',
      ];
    case 'errors':
      return [
        `With ${plural(last, place)} ${noun}s failed; throughput beyond that is not meaningful.`,
      ];
    case 'client-bound':
      return [
        `CLIENT-BOUND: with ${plural(last, place)} the load generator was the limit. Use more threads (-t) where cores are free, or another machine.`,
      ];
    case 'server-ended':
      return [
        `The server ended or could no longer be reached after the level of ${plural(last, place)}.`,
      ];
    default:
      return ['Interrupted: the result covers the measurements until then.'];
  }
}
