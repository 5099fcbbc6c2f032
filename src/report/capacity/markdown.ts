import type { CapacityLevel, CapacityResult, CapacityTrial } from '../../capacity/result.js';
import { count, rate } from '../../format/units.js';
import { formatStatistic } from '../distributions/distribution.js';
import { formatWarnings } from '../markdown/conditions.js';
import { escapeMarkdown, formatTable, joinParts } from '../markdown/markup.js';
import { describeDoubt, describeOutcome, extractMetric, formatMeasured } from './measured.js';
import { answerSearch } from './search-answer.js';
import { describeSettings } from './settings.js';
import { answerSweep } from './sweep-answer.js';

/** Renders the result of a capacity run as Markdown for a pull request. */
export function renderCapacityMarkdown(result: CapacityResult): string {
  const { sweep, search, warnings } = result;
  const answer = sweep ? answerSweep(sweep) : search ? answerSearch(search) : null;
  return joinParts([
    '### Capacity',
    answer ? `**${escapeMarkdown(answer.sentence)}**` : '',
    answer ? escapeMarkdown(answer.grounds.join(' ')) : '',
    sweep ? formatLevels(sweep.levels) : '',
    search ? formatTrials(search.trials, search.objective) : '',
    escapeMarkdown(describeSettings(result)),
    formatWarnings([...(answer?.warnings ?? []), ...warnings.map(({ message }) => message)]),
  ]);
}

function formatLevels(levels: CapacityLevel[]): string {
  return formatTable(
    ['connections', 'req/s', 'p50', 'p99', ''],
    levels.map((level) => [
      count(level.connections),
      rate(level.throughput.mean),
      formatStatistic(level.latencyMs, 'p50', '≥'),
      formatStatistic(level.latencyMs, 'p99', '≥'),
      escapeMarkdown(describeDoubt(level)),
    ]),
  );
}

function formatTrials(trials: CapacityTrial[], objective: string[]): string {
  return formatTable(
    ['req/s', ...objective.map((condition) => escapeMarkdown(extractMetric(condition))), ''],
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
