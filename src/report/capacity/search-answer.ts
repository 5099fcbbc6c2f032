import type { CapacitySearch } from '../../capacity/result.js';
import { duration, rate, time } from '../../format/units.js';
import { type CapacityAnswer, formatInterval, hasUpperEnd } from './answer.js';
import { formatMeasured } from './measured.js';
import { chooseWords } from './words.js';

/** Describes the highest rate that holds the objective, and the longer block that confirms it. */
export function answerSearch(search: CapacitySearch): CapacityAnswer {
  return {
    sentence: formatSentence(search),
    grounds: listGrounds(search),
    warnings: explainEnd(search),
  };
}

function formatSentence(search: CapacitySearch): string {
  const { objective, rate: found, reason } = search;
  const { perSecond } = chooseWords(search);
  const what = objective.join(' and ');
  if (!found) return `${what}: no rate found: ${reason}.`;
  const { value, low, high } = found;
  if (!hasUpperEnd(high)) return `${what} holds up to at least ${rate(low)} ${perSecond}.`;
  return `${what} holds up to ${rate(value)} ${perSecond} (${formatInterval(found)}).`;
}

function listGrounds(search: CapacitySearch): string[] {
  const { confirmed, single, objective } = search;
  const { perSecond, noun } = chooseWords(search);
  const lines = [];
  if (confirmed) {
    const { rate: at, durationMs, measured, held, failures } = confirmed;
    const values = measured.map((value, index) => formatMeasured(value, objective[index]));
    const how = held ? `held it: ${values.join(', ')}` : `did not hold it: ${failures.join(', ')}`;
    lines.push(
      `${rate(at)} ${perSecond} for ${duration(Math.round(durationMs / 100) * 100)} ${how}.`,
    );
  }
  if (single.meanMs !== null) {
    lines.push(`One ${noun} at a time takes ${time(single.meanMs)} on average.`);
  }
  return lines;
}

function explainEnd({ ended, rate: found, reason }: CapacitySearch): string[] {
  switch (ended) {
    case 'client-bound':
      return [
        'CLIENT-BOUND: at higher rates the load generator was the limit. Use more threads (-t) where cores are free, or another machine.',
      ];
    case 'server-ended':
      return [reason === '' ? 'The server ended or could no longer be reached.' : `${reason}.`];
    case 'interrupted':
      return ['Interrupted: the result covers the measurements until then.'];
    case 'budget':
      return found ? ['The time budget was used up; a longer --budget narrows the interval.'] : [];
    default:
      return [];
  }
}
