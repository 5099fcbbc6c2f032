// How the result of each command is rendered. Modules are imported when they are needed.
import type {
  CapacityResult,
  ComparisonResult,
  Explanation,
  LabResult,
  LoadResult,
} from '../index.js';
import type { JudgedCondition } from '../report/conditions.js';
import type { TextOptions } from '../report/text.js';

/** Imports of the renderers of a kind of result. A format that a kind does not have is absent. */
export interface Formats<Result> {
  text(): Promise<(result: Result, options: TextOptions) => string>;
  page(): Promise<(result: Result) => string>;
  markdown?(): Promise<(result: Result) => string>;
  csv?(): Promise<(results: readonly Result[]) => string>;
  /** The figures over time as CSV. */
  series?(): Promise<(results: readonly Result[]) => string>;
  junit?(): Promise<(results: readonly Result[]) => string>;
  /** The percentiles as HdrHistogram prints them. */
  hdr?(): Promise<(result: Result) => string>;
}

export const LOAD_FORMATS: Formats<LoadResult> = {
  text: async () => (await import('../report/text.js')).formatLoadText,
  page: async () => (await import('../report/html.js')).renderLoadPage,
  markdown: async () => (await import('../report/markdown.js')).renderLoadMarkdown,
  csv: async () => (await import('../report/csv.js')).renderLoadCsv,
  series: async () => (await import('../report/series-csv.js')).renderSeriesCsv,
  junit: async () => {
    const { listLoadConditions } = await import('../report/conditions.js');
    return importJunit('load', listLoadConditions);
  },
  hdr: async () => {
    const { formatPercentileOutput } = await import('../report/percentile-output.js');
    const { estimateLatencies } = await import('../statistics/durations.js');
    return ({ histograms }) => formatPercentileOutput(estimateLatencies([histograms]));
  },
};

export const COMPARISON_FORMATS: Formats<ComparisonResult> = {
  text: async () => (await import('../report/compare/text.js')).formatComparisonText,
  page: async () => (await import('../report/compare/html.js')).renderComparisonPage,
  markdown: async () => (await import('../report/compare/markdown.js')).renderComparisonMarkdown,
  csv: async () => (await import('../report/compare/csv.js')).renderComparisonCsv,
  junit: async () => {
    const { listComparisonConditions } = await import('../report/compare/conditions.js');
    return importJunit('compare', listComparisonConditions);
  },
};

export const CAPACITY_FORMATS: Formats<CapacityResult> = {
  text: async () => (await import('../report/capacity/text.js')).formatCapacityText,
  page: async () => (await import('../report/capacity/html.js')).renderCapacityPage,
  markdown: async () => (await import('../report/capacity/markdown.js')).renderCapacityMarkdown,
  csv: async () => (await import('../report/capacity/csv.js')).renderCapacityCsv,
};

export const EXPLANATION_FORMATS: Formats<Explanation> = {
  text: async () => (await import('../report/explain/text.js')).formatExplanationText,
  page: async () => (await import('../report/explain/html.js')).renderExplanationPage,
  markdown: async () => (await import('../report/explain/markdown.js')).renderExplanationMarkdown,
};

export const LAB_FORMATS: Formats<LabResult> = {
  text: async () => (await import('../report/lab/text.js')).formatLabText,
  page: async () => (await import('../report/lab/html.js')).renderLabPage,
  markdown: async () => (await import('../report/lab/markdown.js')).renderLabMarkdown,
};

/** Imports the renderer of JUnit's XML for results with conditions; each result is a suite of this name. */
async function importJunit<Result extends { startedAt: string; durationMs: number }>(
  name: string,
  listConditions: (result: Result) => JudgedCondition[],
): Promise<(results: readonly Result[]) => string> {
  const { renderJunit } = await import('../report/junit.js');
  return (results) =>
    renderJunit(
      results.map((result) => {
        const { startedAt, durationMs } = result;
        return { name, startedAt, durationMs, conditions: listConditions(result) };
      }),
    );
}
