import type { CapacityResult, CapacitySearch, CapacitySweep } from '../../capacity/result.js';
import { count, rate } from '../../format/units.js';
import { formatStatistic } from '../distributions/distribution.js';
import { formatWarnings } from '../markdown/conditions.js';
import { escapeMarkdown, formatTable, joinParts } from '../markdown/markup.js';
import { describeDoubt, describeOutcome, extractMetric, formatMeasured } from './measured.js';
import { answerSearch } from './search-answer.js';
import { describeSettings } from './settings.js';
import { answerSweep } from './sweep-answer.js';
import { chooseWords } from './words.js';

/** Renders the result of a capacity run as Markdown for a pull request. */
export function renderCapacityMarkdown(result: CapacityResult): string {
  const { sweep, search, warnings } = result;
  const answer = sweep ? answerSweep(sweep) : search ? answerSearch(search) : null;
  return joinParts([
    '### Capacity',
    answer ? `**${escapeMarkdown(answer.sentence)}**` : '',
    answer ? escapeMarkdown(answer.grounds.join(' ')) : '',
    sweep ? formatLevels(sweep) : '',
    search ? formatTrials(search) : '',
    escapeMarkdown(describeSettings(result)),
    formatWarnings([...(answer?.warnings ?? []), ...warnings.map(({ message }) => message)]),
  ]);
}

function formatLevels(sweep: CapacitySweep): string {
  const { perSecond, place } = chooseWords(sweep);
  return formatTable(
    [`${place}s`, perSecond, 'p50', 'p99', ''],
    sweep.levels.map((level) => [
      count(level.connections),
      rate(level.throughput.mean),
      formatStatistic(level.latencyMs, 'p50', '≥'),
      formatStatistic(level.latencyMs, 'p99', '≥'),
      escapeMarkdown(describeDoubt(level)),
    ]),
  );
}

function formatTrials(search: CapacitySearch): string {
  const { trials, objective } = search;
  return formatTable(
    [
      chooseWords(search).perSecond,
      ...objective.map((condition) => escapeMarkdown(extractMetric(condition))),
      '',
    ],
    trials
      .toSorted((a, b) => a.rate - b.rate)
      .map((trial) => [
        rate(trial.rate),
        ...objective.map((condition, index) =>
          formatMeasured(trial.measured[index] ?? null, condition),
        ),
        escapeMarkdown(describeOutcome(trial)),
      ]),
  );
}
