import { count, plural, rate, share, significant } from '../../format/units.js';
import { hasResponse } from '../../load/answered.js';
import type { IterationResult, LoadResult } from '../../load/result.js';
import { formatStatistic } from '../distributions/distribution.js';
import { formatTotal } from '../own-metrics.js';
import { describeFinding, groupSteps, listFindings, type StepRow } from '../steps.js';
import { escapeMarkdown, formatCode, formatCodeCell, formatItems, formatTable } from './markup.js';

/** Maximum number of failures that are listed, and of own metrics. */
const MAX_FINDINGS = 20;
const MAX_METRICS = 20;

const POINTS = ['p50', 'p90', 'p99', 'max'] as const;

/** Formats iterations, steps, what failed in them, and metrics of their own: parts of a document; none without scenarios. */
export function formatScenarioParts(result: LoadResult): string[] {
  const { iterations = null } = result;
  if (iterations === null) return [];
  return [
    formatIterations(result, iterations),
    formatChecks(result),
    formatSteps(result),
    formatFindings(result),
    formatMetrics(result),
  ];
}

function formatIterations({ scenarios }: LoadResult, iterations: IterationResult): string {
  const heads = ['iterations', 'completed', '/s', ...POINTS, 'failed'];
  const rows = scenarios.map((one) => formatRow(formatCodeCell(one.name), one));
  if (scenarios.length > 1) rows.unshift(formatRow('**all**', iterations));
  return formatTable(heads, rows);
}

function formatRow(name: string, one: IterationResult): string[] {
  const { started, completed, failed, durationMs } = one;
  return [
    name,
    count(completed),
    rate(one.rate),
    ...POINTS.map((point) => (completed > 0 ? formatTime(durationMs, point) : '–')),
    failed > 0 ? `${count(failed)} (${share(failed / started)})` : '0',
  ];
}

function formatTime(times: IterationResult['durationMs'], point: (typeof POINTS)[number]): string {
  // A tilde at the beginning of a cell strikes text out.
  return formatStatistic(times, point, '≥').replace(/^~/, '\\~');
}

function formatChecks({ checks }: LoadResult): string {
  if (checks === null || checks.passed + checks.failed === 0) return '';
  const all = checks.passed + checks.failed;
  return `Checks: ${share(checks.passed / all)} passed, ${count(checks.failed)} of ${count(all)} failed.`;
}

function formatSteps(result: LoadResult): string {
  const groups = groupSteps(result);
  const rows = groups.flatMap(({ scenario, rows }) => [
    ...(groups.length > 1 ? [[`**${escapeMarkdown(scenario)}**`, ...Array(5).fill('')]] : []),
    ...rows.map(formatStep),
  ]);
  return formatTable(['step', 'time', 'req/s', 'p50', 'p99', 'failed'], rows);
}

function formatStep({ name, requests, failed }: StepRow): string[] {
  const timeShare = requests?.timeShare ?? null;
  return [
    formatCodeCell(name),
    timeShare === null ? '–' : share(timeShare),
    requests === null ? '–' : rate(requests.throughput),
    ...(['p50', 'p99'] as const).map((point) =>
      requests !== null && hasResponse(requests) ? formatTime(requests.latencyMs, point) : '–',
    ),
    count(failed),
  ];
}

function formatFindings(result: LoadResult): string {
  const findings = listFindings(result);
  if (findings.length === 0) return '';
  const items = findings
    .slice(0, MAX_FINDINGS)
    .map((one) => `${formatCode(one.step)}: ${escapeMarkdown(describeFinding(one))}`);
  const more = findings.length - MAX_FINDINGS;
  if (more > 0) items.push(`${plural(more, 'more failure')} in the JSON result`);
  return `Failed in steps:\n\n${formatItems(items)}`;
}

function formatMetrics({ metrics }: LoadResult): string {
  const columns = ['mean', 'p50', 'p95', 'max'] as const;
  return formatTable(
    ['own metric', 'values', 'sum', ...columns],
    Object.entries(metrics)
      .slice(0, MAX_METRICS)
      .map(([name, metric]) => [
        formatCodeCell(name),
        count(metric.count),
        formatTotal(metric.sum),
        ...columns.map((column) => significant(metric[column])),
      ]),
  );
}
