import { labelMetric } from '../../explain/experiment-names.js';
import type { LimitId } from '../../explain/limit-ids.js';
import type { Explanation } from '../../explain/result.js';
import { amount, factor, measuredRatio, throughputRange, timeRange } from '../../format/ratios.js';
import { plural, rate, share } from '../../format/units.js';
import { formatStatistic } from '../distributions/distribution.js';
import type { TextOptions } from '../load/text.js';
import { describePlan } from '../plan.js';
import { drawBar } from '../text/bars.js';
import {
  createSheet,
  formatIndented,
  formatList,
  formatParagraph,
  joinBlocks,
  type Sheet,
} from '../text/sheet.js';
import { formatAllocations, formatCpuPaths, formatWaitPaths } from './code.js';
import { describeShare, MAX_NAMES } from './requests.js';
import { STATUS } from './status.js';

/** Formats an explanation as text, without a trailing line break. */
export function formatExplanationText(explanation: Explanation, options: TextOptions): string {
  const sheet = createSheet(options);
  const blocks = [
    [
      ...formatList(sheet, describePlan(explanation.load.plan), 2, 'dim'),
      ...options.notes.flatMap((note) => formatParagraph(sheet, `note: ${note}`, 6)),
    ],
    formatEarlyEnd(explanation, sheet),
    formatVerdict(explanation, sheet),
    formatPopulation(explanation, sheet),
    formatRequests(explanation, sheet),
    formatExperiments(explanation, sheet),
    formatCpuPaths(explanation, sheet),
    formatHotFunctions(explanation, sheet),
    formatWaitPaths(explanation, sheet),
    formatAllocations(explanation, sheet),
    formatRemedy(explanation, sheet),
    formatRuledOut(explanation, sheet),
    formatCannotSee(explanation, sheet),
  ];
  return joinBlocks(blocks);
}

/** Formats the reason of an early end. */
function formatEarlyEnd({ serverEnded, interrupted }: Explanation, sheet: Sheet): string[] {
  if (serverEnded !== null) {
    return formatParagraph(
      sheet,
      `! The server ${serverEnded}; the following was measured before.`,
      2,
      'bad',
    );
  }
  return interrupted
    ? [sheet.paint('warning', 'Interrupted: the following covers the measurements until then.')]
    : [];
}

function formatVerdict({ verdict }: Explanation, sheet: Sheet): string[] {
  const { limit, status, sentence, arithmetic, alsoLimiting } = verdict;
  const ink = status === 'confirmed' ? 'good' : status === 'cannot-tell' ? 'warning' : 'strong';
  const head = limit ? `${STATUS[status].word}  ${limit}` : STATUS[status].word;
  const also = alsoLimiting.length > 0 ? [`also: ${alsoLimiting.join(', ')}`] : [];
  return [
    sheet.paint(ink, head),
    ...formatParagraph(sheet, `LIMIT: ${sentence}`, 2, 'strong'),
    ...[...arithmetic, ...also].flatMap((line) => formatIndented(sheet, line)),
  ];
}

const BAR_WIDTH = 20;

function formatPopulation({ population, load }: Explanation, sheet: Sheet): string[] {
  if (population.length === 0) return [];
  const total = population.reduce((sum, { requests }) => sum + requests, 0);
  const width = Math.max(...population.map(({ label }) => label.length));
  const { plan } = load;
  const requests = plan.model === 'closed' ? plan.connections * plan.pipelining : Math.round(total);
  return [
    sheet.paint('dim', `where your ${requests === 1 ? 'request is' : `${requests} requests are`}`),
    ...population.map(({ label, requests }) => {
      const drawn = drawBar(requests / total, BAR_WIDTH).padEnd(BAR_WIDTH);
      return `  ${label.padEnd(width)}  ${sheet.paint('bar', drawn)} ${amount(requests)}`;
    }),
  ];
}

function formatRequests({ requests }: Explanation, sheet: Sheet): string[] {
  if (requests.length === 0) return [];
  const more = requests.length - MAX_NAMES;
  return [
    sheet.paint('dim', 'by request name'),
    ...requests
      .slice(0, MAX_NAMES)
      .flatMap((request) => formatIndented(sheet, `${request.name}: ${describeShare(request)}`)),
    ...(more > 0 ? [`  and ${plural(more, 'name')} that take less`] : []),
  ];
}

function formatExperiments({ experiments, verdict }: Explanation, sheet: Sheet): string[] {
  if (experiments.length === 0) return [];
  const lines = experiments.flatMap(({ label, metric, change, predicted, measured, excludes }) => {
    const own = verdict.limit ? predicted[verdict.limit] : undefined;
    const prediction = own ? `, predicted ${factor(own)}` : '';
    const against = excludes.filter((limit) => limit !== verdict.limit);
    const what = metric === 'throughput' ? 'req/s' : labelMetric(metric);
    return [
      ...formatIndented(sheet, `${label} (${change})`),
      ...formatIndented(
        sheet,
        `${what} ${measuredRatio(measured)}${prediction}${against.length > 0 ? `; against ${against.join(', ')}` : ''}`,
        undefined,
        6,
      ),
    ];
  });
  return [sheet.paint('dim', 'tried'), ...lines];
}

const MAX_FUNCTIONS = 5;

/** Formats the functions of a result that has no paths: one of an older version. */
function formatHotFunctions({ hot, cpu }: Explanation, sheet: Sheet): string[] {
  if (hot.length === 0 || cpu) return [];
  return [
    sheet.paint('dim', "the loop's time, by function"),
    ...hot.slice(0, MAX_FUNCTIONS).map(({ name, place, share: part }) => {
      return `  ${share(part).padStart(5)}  ${name}  ${sheet.paint('dim', place)}`;
    }),
  ];
}

function formatRemedy({ remedy, verdict }: Explanation, sheet: Sheet): string[] {
  if (!remedy) return [];
  const { change, predictedThroughput: predicted, predictedP99Ms: p99, nextLimit } = remedy;
  const alternatives = remedy.alternatives ?? [];
  const promises = [
    predicted ? `${throughputRange(predicted)} req/s` : '',
    p99 ? `p99 ${timeRange(p99)}` : '',
  ].filter(Boolean);
  const gain = promises.length > 0 ? ` → ${promises.join(', ')}` : '';
  const next = nextLimit && nextLimit !== verdict.limit ? `; then ${nextLimit} is the limit` : '';
  return [
    sheet.paint('dim', 'to get more'),
    ...formatParagraph(sheet, `  ${change}${gain}${next}`, 4),
    ...alternatives.flatMap((other) =>
      formatParagraph(
        sheet,
        `  or: ${other.change} → ${throughputRange(other.predictedThroughput)} req/s`,
        4,
      ),
    ),
  ];
}

/** Limits that readers suspect first. */
const USUAL: LimitId[] = [
  'event-loop-cpu',
  'event-loop-blocked',
  'gc-young',
  'threadpool',
  'outbound-pool',
  'saturated-dependency',
  'nagle-delayed-ack',
  'too-few-connections',
  'generator-saturated',
  'errors',
];
const MAX_RULED_OUT = 9;

/** Formats the limits ruled out: first those that an experiment contradicts, then the usual ones. */
function formatRuledOut({ ruledOut, experiments }: Explanation, sheet: Sheet): string[] {
  if (ruledOut.length === 0) return [];
  const rank = ({ limit }: Explanation['ruledOut'][number]) => {
    if (experiments.some(({ excludes }) => excludes.includes(limit))) return -1;
    const usual = USUAL.indexOf(limit);
    return usual < 0 ? USUAL.length : usual;
  };
  const sorted = [...ruledOut].sort((a, b) => rank(a) - rank(b));
  const listed = sorted.slice(0, MAX_RULED_OUT);
  const others = sorted.slice(MAX_RULED_OUT).map(({ limit }) => limit);
  const lines = [
    ...listed.map(({ limit, why }) => `${limit}: ${why}`),
    ...(others.length > 0 ? [`and ${others.join(', ')}`] : []),
  ];
  return [sheet.paint('dim', 'ruled out'), ...lines.flatMap((line) => formatIndented(sheet, line))];
}

function formatCannotSee(
  { cannotSee, noise, probeCost, load }: Explanation,
  sheet: Sheet,
): string[] {
  const cost = probeCost
    ? `; the probe costs ${share(Math.max(0, 1 - probeCost.ratio))} of throughput [${share(Math.max(0, 1 - probeCost.high))}, ${share(Math.max(0, 1 - probeCost.low))}]`
    : '';
  return [
    ...(cannotSee.length > 0 ? [sheet.paint('dim', 'cannot tell')] : []),
    ...cannotSee.flatMap((line) => formatIndented(sheet, line)),
    ...formatParagraph(
      sheet,
      `measured ${rate(load.throughput.mean)} req/s, p50 ${formatStatistic(load.latencyMs, 'p50')}, p99 ${formatStatistic(load.latencyMs, 'p99')}; differences below ${share(noise)} are noise${cost}`,
      2,
      'dim',
    ),
  ];
}
