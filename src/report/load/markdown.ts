import { count, plural, rate, share, time } from '../../format/units.js';
import { hasResponse } from '../../load/answered.js';
import { adviseOnClientBound, clientBound } from '../../load/outcome/client-bound-words.js';
import type { LoadResult, NamedResult } from '../../load/result.js';
import { listLoadConditions } from '../conditions.js';
import { formatStatistic } from '../distributions/distribution.js';
import { countFailed } from '../failed.js';
import { formatGeneratorTable } from '../generators/markdown.js';
import { formatConditions, formatWarnings } from '../markdown/conditions.js';
import {
  escapeMarkdown,
  formatCodeCell,
  formatItems,
  formatTable,
  joinParts,
} from '../markdown/markup.js';
import { formatScenarioParts } from '../markdown/scenarios.js';
import { describePlan } from '../plan.js';
import { formatEnd } from '../slowest.js';
import { listWarnings } from '../warnings.js';

/** Maximum number of request names in the table. */
const MAX_NAMES = 20;

const POINTS = ['p50', 'p90', 'p99', 'max'] as const;

/** Renders the result of a load as Markdown for a pull request. */
export function renderLoadMarkdown(result: LoadResult): string {
  const names = (result.steps ?? []).length > 0 ? [] : (result.byName ?? []);
  const more = names.length - MAX_NAMES;
  return joinParts([
    `### ${formatTitle(result)}`,
    escapeMarkdown(describePlan(result.plan)),
    formatConditions(listLoadConditions(result)),
    ...formatScenarioParts(result),
    formatFigures(result),
    more > 0 ? `${plural(more, 'request name')} with less time not shown.` : '',
    formatSlowest(result),
    formatGeneratorTable(result),
    formatAlarm(result),
    formatWarnings(listWarnings(result)),
  ]);
}

function formatTitle(result: LoadResult): string {
  const { throughput, latencyMs } = result;
  const holds = listLoadConditions(result).map((condition) => condition.holds);
  const word = holds.includes(false) ? 'failed' : holds.includes(null) ? 'interrupted' : 'passed';
  const outcome = holds.length === 0 ? '' : `${word}: `;
  const p99 = hasResponse(result) ? `, p99 ${formatStatistic(latencyMs, 'p99')}` : '';
  if (result.iterations) {
    const ofIterations = `iteration p99 ${formatStatistic(result.iterations.durationMs, 'p99')}`;
    const isKnown = result.iterations.completed > 0;
    return `Load ${outcome}${rate(result.iterations.rate)} iterations/s${isKnown ? `, ${ofIterations}` : ''}`;
  }
  return `Load ${outcome}${rate(throughput.mean)} req/s${p99}`;
}

function formatFigures(result: LoadResult): string {
  // Steps have a table of their own.
  const hasSteps = (result.steps ?? []).length > 0;
  const names = hasSteps ? [] : (result.byName ?? []).slice(0, MAX_NAMES);
  const isNamed = names.length > 1;
  const heads = [isNamed ? 'requests' : '', 'req/s', ...POINTS, 'failed'];
  const all = {
    requests: result.requests,
    throughput: result.throughput.mean,
    latencyMs: result.latencyMs,
  };
  const rows = [formatRow(isNamed ? '**all**' : hasSteps ? 'all requests' : 'load', all)];
  if (isNamed) rows.push(...names.map((one) => formatRow(formatCodeCell(one.name), one)));
  return formatTable(heads, rows);
}

/** What a row shows of all requests, or of those with one name. */
type Figures = Pick<NamedResult, 'requests' | 'throughput' | 'latencyMs'>;

function formatRow(name: string, { requests, throughput, latencyMs }: Figures): string[] {
  const failed = countFailed({ requests });
  const isKnown = hasResponse({ requests });
  return [
    name,
    rate(throughput),
    ...POINTS.map((point) => (isKnown ? formatStatistic(latencyMs, point, '≥') : '–')),
    failed > 0 ? `${count(failed)} (${share(failed / requests.sent)})` : '0',
  ].map((cell) => (cell.startsWith('~') ? `\\${cell}` : cell));
}

function formatSlowest({ slowest = [] }: LoadResult): string {
  const rows = slowest.map((one) => [
    formatCodeCell(one.traceId),
    time(one.latencyMs),
    escapeMarkdown(formatEnd(one)),
    formatCodeCell(one.name),
  ]);
  return formatTable(['slowest, by trace id', 'latency', 'status', 'request'], rows);
}

function formatAlarm({ generator }: LoadResult): string {
  if (!generator.clientBound) return '';
  const { title, meaning } = clientBound;
  const lines = [...generator.reasons, adviseOnClientBound(generator)].map(escapeMarkdown);
  return `**${title}** ${escapeMarkdown(meaning)}\n\n${formatItems(lines)}`;
}
