import type { HistoryPlan, HistoryResult } from '../../history/result.js';
import { escapeMarkdown, formatItems, formatTable, joinParts } from '../markdown/markup.js';
import { describePlan } from '../plan.js';
import { formatEnds, formatMinute, listFigures, namePlan, shortenCommit } from './words.js';

/** Renders stored results over time as Markdown: a table for each load. */
export function renderHistoryMarkdown({ plans, skipped }: HistoryResult): string {
  return joinParts([
    ...plans.flatMap((plan) => [
      `### ${escapeMarkdown(namePlan(plan))}`,
      escapeMarkdown(describePlan(plan.plan)),
      formatPoints(plan),
    ]),
    formatItems(skipped.map(({ file, reason }) => escapeMarkdown(`Skipped: ${file} ${reason}`))),
  ]);
}

function formatPoints(plan: HistoryPlan): string {
  const figures = listFigures(plan);
  return formatTable(
    ['started, UTC', 'commit', 'runs', ...figures.flatMap(({ head }) => [head, '95 %']), ''],
    plan.points.toReversed().map((point) => [
      formatMinute(point.startedAt),
      point.commit === null ? '–' : shortenCommit(point.commit),
      String(point.runs.length),
      ...figures.flatMap((figure) => {
        const known = figure.read(point);
        if (known === null) return ['–', '–'];
        const { value, interval } = known;
        return [figure.cell(value), interval ? formatEnds(interval, figure) : '–'];
      }),
      point.clientBound ? 'the load generator was the limit' : '',
    ]),
  );
}
