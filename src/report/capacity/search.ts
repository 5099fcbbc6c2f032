import type { RateTrial, Search } from '../../capacity/result.js';
import { bar } from '../text/bars.js';
import { paragraph, type Sheet } from '../text/sheet.js';
import { count, duration, rate, share, time } from '../units.js';

const barWidth = 16;
const columnWidth = 10;

/** One sentence, the longer block that confirms it, and the trials by rate. */
export function searchLines(search: Search, sheet: Sheet): string[][] {
  const ink = search.rate ? 'strong' : 'bad';
  return [
    [
      ...paragraph(sheet, sentence(search), 2, ink),
      ...confirmation(search).flatMap((line) => paragraph(sheet, `  ${line}`, 4)),
    ],
    table(search, sheet),
    ended(search).flatMap((line) => paragraph(sheet, `! ${line}`, 2, 'warning')),
  ];
}

function sentence({ objective, rate: found, reason }: Search): string {
  const what = objective.join(' and ');
  if (!found) return `${what}: no rate found: ${reason}.`;
  const { value, low, high } = found;
  if (high === Number.POSITIVE_INFINITY) return `${what} holds up to ${rate(low)} req/s at least.`;
  return `${what} holds up to ${rate(value)} req/s (95 %: ${rate(low)} to ${rate(high)}).`;
}

function confirmation({ confirmed, single, objective }: Search): string[] {
  const lines = [];
  if (confirmed) {
    const { rate: at, durationMs, measured, held, failures } = confirmed;
    const values = measured.map((value, index) => shown(value, objective[index])).join(', ');
    const how = held ? `held it: ${values}` : `did not hold it: ${failures.join(', ')}`;
    lines.push(`${rate(at)} req/s for ${duration(Math.round(durationMs / 100) * 100)} ${how}.`);
  }
  if (single.meanMs !== null) {
    lines.push(`One request at a time takes ${time(single.meanMs)} on average.`);
  }
  return lines;
}

function table({ trials, objective }: Search, sheet: Sheet): string[] {
  if (trials.length === 0) return [];
  const sorted = trials.toSorted((a, b) => a.rate - b.rate);
  const first = (trial: RateTrial) => trial.measured[0] ?? 0;
  // What overloaded blocks show would leave nothing to be seen of the others.
  const most = 2 * Math.max(0, ...sorted.filter(({ held }) => held).map(first));
  const names = objective.map((text) => metricOf(text).padStart(columnWidth)).join('');
  const rows = sorted.map((trial) => {
    const { rate: at, held, measured, failures, clientBound } = trial;
    const values = measured.map((value, index) =>
      shown(value, objective[index]).padStart(columnWidth),
    );
    const drawn = bar(most > 0 ? Math.min(1, first(trial) / most) : 0, barWidth).padEnd(barWidth);
    const whose = clientBound ? 'CLIENT-BOUND: ' : '';
    const why = held ? 'held' : `${whose}${failures.map(withoutBound).join(', ')}`;
    const room = sheet.width - 13 - measured.length * columnWidth - barWidth;
    const verdict = why.length > room ? `${why.slice(0, room - 1)}…` : why;
    return `${rate(at).padStart(9)}${values.join('')}  ${sheet.paint(held ? 'bar' : 'bad', drawn)}  ${sheet.paint(held ? 'good' : 'bad', verdict)}`;
  });
  return [sheet.paint('dim', `${'req/s'.padStart(9)}${names}`), ...rows];
}

function metricOf(condition = ''): string {
  return condition.split(/[<>]/)[0]?.trim() ?? '';
}

/** Values that are in the table need no words. */
function withoutBound(failure: string): string {
  return failure.includes(': it is ') ? 'did not hold' : failure;
}

/** A time, or of errors and timeouts a number or share. */
function shown(value: number | null, condition = ''): string {
  if (value === null || !/^(errors|timeouts)/.test(condition)) return time(value);
  return condition.endsWith('%') ? share(value) : count(value);
}

function ended({ ended, rate: found, reason }: Search): string[] {
  switch (ended) {
    case 'client-bound':
      return [
        'CLIENT-BOUND: beyond that the load generator was the limit. More threads (-t), or another machine for it.',
      ];
    case 'server-ended':
      return [reason === '' ? 'The server ended, or could no longer be reached.' : `${reason}.`];
    case 'interrupted':
      return ['Interrupted: what was measured until then.'];
    case 'budget':
      return found ? ['The time was over; a longer --budget makes the interval narrower.'] : [];
    default:
      return [];
  }
}
