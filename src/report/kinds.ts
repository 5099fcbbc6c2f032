// The kinds of results, and how each is written in the formats that it has.
import type { CapacityResult } from '../capacity/result.js';
import type { ComparisonResult } from '../compare/result.js';
import type { Explanation } from '../explain/result.js';
import type { HistoryResult } from '../history/result.js';
import type { LabResult } from '../lab/result.js';
import type { LoadResult } from '../load/result.js';
import { estimateLatencies } from '../statistics/durations.js';
import { renderCapacityCsv } from './capacity/csv.js';
import { renderCapacityPage } from './capacity/html.js';
import { renderCapacityMarkdown } from './capacity/markdown.js';
import { formatCapacityText } from './capacity/text.js';
import { listComparisonConditions } from './compare/conditions.js';
import { renderComparisonCsv } from './compare/csv.js';
import { renderComparisonPage } from './compare/html.js';
import { renderComparisonMarkdown } from './compare/markdown.js';
import { formatComparisonText } from './compare/text.js';
import { type JudgedCondition, listLoadConditions } from './conditions.js';
import { renderExplanationPage } from './explain/html.js';
import { renderExplanationMarkdown } from './explain/markdown.js';
import { formatExplanationText } from './explain/text.js';
import { renderHistoryPage } from './history/html.js';
import { renderHistoryMarkdown } from './history/markdown.js';
import { formatHistoryText } from './history/text.js';
import { renderJunit } from './junit.js';
import { renderLabPage } from './lab/html.js';
import { renderLabMarkdown } from './lab/markdown.js';
import { formatLabText } from './lab/text.js';
import { renderLoadCsv } from './load/csv.js';
import { formatLoadHint, type HintOptions } from './load/hint.js';
import { renderLoadPage } from './load/html.js';
import { renderLoadMarkdown } from './load/markdown.js';
import { formatPercentileOutput } from './load/percentile-output.js';
import { renderSeriesCsv } from './load/series-csv.js';
import { formatLoadText, type TextOptions } from './load/text.js';

/** A result of any kind. */
export type AnyResult =
  | LoadResult
  | ComparisonResult
  | Explanation
  | CapacityResult
  | LabResult
  | HistoryResult;

/** The command, and function of the API, that gives a result. */
export type ResultKind = 'load' | 'compare' | 'explain' | 'capacity' | 'lab' | 'history';

/** The formats of a kind of result; one that it does not have is absent. */
export interface Formats<Result> {
  text(result: Result, options: TextOptions): string;
  html(result: Result): string;
  markdown(result: Result): string;
  csv?(results: readonly Result[]): string;
  /** The figures over time as CSV. */
  series?(results: readonly Result[]): string;
  junit?(results: readonly Result[]): string;
  /** The percentiles as HdrHistogram prints them. */
  hgrm?(result: Result): string;
  /** What probably limited the load; empty if that is not known. */
  hint?(result: Result, options: HintOptions): string;
}

/** A kind of result, the fields that tell it from the others and without which its reports would be wrong, and its formats. */
export interface Kind<Result> {
  kind: ResultKind;
  fields: readonly (keyof Result & string)[];
  formats: Formats<Result>;
}

const comparison: Kind<ComparisonResult> = {
  kind: 'compare',
  fields: ['sides', 'runs', 'rows', 'verdict', 'durationMs', 'margin', 'width'],
  formats: {
    text: formatComparisonText,
    html: renderComparisonPage,
    markdown: renderComparisonMarkdown,
    csv: renderComparisonCsv,
    junit: toJunit('compare', listComparisonConditions),
  },
};

const explanation: Kind<Explanation> = {
  kind: 'explain',
  fields: ['load', 'verdict', 'experiments', 'noise'],
  formats: {
    text: formatExplanationText,
    html: renderExplanationPage,
    markdown: renderExplanationMarkdown,
  },
};

const capacity: Kind<CapacityResult> = {
  kind: 'capacity',
  fields: ['sweep', 'search', 'budgetMs'],
  formats: {
    text: formatCapacityText,
    html: renderCapacityPage,
    markdown: renderCapacityMarkdown,
    csv: renderCapacityCsv,
  },
};

const lab: Kind<LabResult> = {
  kind: 'lab',
  fields: ['studies', 'machine', 'failed'],
  formats: { text: formatLabText, html: renderLabPage, markdown: renderLabMarkdown },
};

const history: Kind<HistoryResult> = {
  kind: 'history',
  fields: ['plans', 'skipped'],
  formats: {
    text: formatHistoryText,
    html: renderHistoryPage,
    markdown: renderHistoryMarkdown,
  },
};

const load: Kind<LoadResult> = {
  kind: 'load',
  fields: ['plan', 'requests', 'latencyMs', 'histograms', 'generator', 'series', 'warnings'],
  formats: {
    text: formatLoadText,
    html: renderLoadPage,
    markdown: renderLoadMarkdown,
    csv: renderLoadCsv,
    series: renderSeriesCsv,
    junit: toJunit('load', listLoadConditions),
    hgrm: ({ histograms }) => formatPercentileOutput(estimateLatencies([histograms])),
    hint: formatLoadHint,
  },
};

/** In the order in which they are tried: an explanation holds a load. */
export const KINDS: readonly Kind<never>[] = [
  comparison,
  explanation,
  capacity,
  lab,
  history,
  load,
];

/** Renders results with conditions as JUnit's XML; each is a suite of this name. */
function toJunit<Result extends { startedAt: string; durationMs: number }>(
  name: string,
  listConditions: (result: Result) => JudgedCondition[],
): (results: readonly Result[]) => string {
  return (results) =>
    renderJunit(
      results.map((result) => {
        const { startedAt, durationMs } = result;
        return { name, startedAt, durationMs, conditions: listConditions(result) };
      }),
    );
}
