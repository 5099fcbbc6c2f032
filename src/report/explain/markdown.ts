import { labelMetric } from '../../explain/experiment-names.js';
import type { Explanation } from '../../explain/result.js';
import { measuredRatio, throughputRange, timeRange } from '../../format/ratios.js';
import { rate, share } from '../../format/units.js';
import { formatStatistic } from '../distributions/distribution.js';
import { capitalize } from '../html/markup.js';
import { formatWarnings } from '../markdown/conditions.js';
import {
  escapeMarkdown,
  formatCode,
  formatItems,
  formatTable,
  joinParts,
} from '../markdown/markup.js';
import { describePlan } from '../plan.js';
import { listWarnings } from '../warnings.js';
import {
  type DescribedPath,
  describeAllocationPaths,
  describeCpuPaths,
  describeGrowth,
  describeWaitPaths,
} from './paths.js';
import { STATUS } from './status.js';

/** Renders an explanation as Markdown for a pull request. */
export function renderExplanationMarkdown(explanation: Explanation): string {
  const { verdict, experiments, load, noise } = explanation;
  const { limit, status, sentence, arithmetic } = verdict;
  return joinParts([
    `### Limit: ${STATUS[status].word.toLowerCase()}${limit ? ` ${formatCode(limit)}` : ''}`,
    `**${escapeMarkdown(capitalize(sentence))}**`,
    formatItems(arithmetic.map(escapeMarkdown)),
    formatRemedy(explanation),
    ...formatOwnCode(explanation),
    formatTable(
      ['experiment', 'measured, after / before'],
      experiments.map(({ label, change, metric, measured }) => [
        escapeMarkdown(`${label}: ${change}`),
        escapeMarkdown(`${labelMetric(metric)} ${measuredRatio(measured)}`),
      ]),
    ),
    escapeMarkdown(
      `${describePlan(load.plan)}. Measured ${rate(load.throughput.mean)} req/s, p50 ${formatStatistic(load.latencyMs, 'p50')}, p99 ${formatStatistic(load.latencyMs, 'p99')}; differences below ${share(noise)} are noise.`,
    ),
    formatWarnings(listWarnings(load)),
  ]);
}

/** Formats where CPU time, waits and memory go in the service's own code: a table each. */
function formatOwnCode(explanation: Explanation): string[] {
  const formatPaths = (what: string, weight: string, paths: DescribedPath[]) =>
    formatTable(
      [`in your code: ${what}`, 'share', weight],
      paths.map((path) => [
        escapeMarkdown([path.where, path.how].filter((part) => part !== '').join(', ')),
        path.share,
        path.weight || '-',
      ]),
    );
  return [
    formatPaths('CPU time', 'costs', describeCpuPaths(explanation)),
    formatPaths(
      'waiting requests',
      'requests',
      describeWaitPaths(explanation.waits?.heaviest ?? []),
    ),
    formatPaths('allocated memory', 'memory', describeAllocationPaths(explanation)),
    formatItems((explanation.allocations?.growth ?? []).map(describeGrowth).map(escapeMarkdown)),
  ];
}

function formatRemedy({ remedy }: Explanation): string {
  if (!remedy) return '';
  const { predictedThroughput, predictedP99Ms } = remedy;
  const promises = [
    predictedThroughput ? `${throughputRange(predictedThroughput)} req/s` : '',
    predictedP99Ms ? `p99 ${timeRange(predictedP99Ms)}` : '',
  ].filter(Boolean);
  const gain = promises.length > 0 ? ` (predicted: ${promises.join(', ')})` : '';
  const others = (remedy.alternatives ?? []).map(
    (other) =>
      `; or: ${other.change} (predicted: ${throughputRange(other.predictedThroughput)} req/s)`,
  );
  return `To get more: ${escapeMarkdown(`${remedy.change}${gain}${others.join('')}`)}`;
}
