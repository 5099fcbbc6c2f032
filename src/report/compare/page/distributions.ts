import type { ComparisonResult, ComparisonSideName } from '../../../compare/result.js';
import { time } from '../../../format/units.js';
import {
  computeQuantileMs,
  type Durations,
  estimateLatencies,
} from '../../../statistics/durations.js';
import { listPercentilePoints } from '../../distributions/percentiles.js';
import { buildPercentilePlot, type PercentileLine } from '../../html/percentile-plot.js';
import type { Plot } from '../../html/plot.js';

/** Builds the plot of the latencies of both sides, all runs of a side together; none without a latency. */
export function buildLatencyPlots({ runs }: ComparisonResult): Plot[] {
  const estimate = (side: ComparisonSideName) =>
    estimateLatencies(runs.filter((run) => run.side === side).map(({ histograms }) => histograms));
  const [a, b] = [estimate('a'), estimate('b')];
  if (a.count + b.count === 0) return [];
  return [
    buildPercentilePlot({
      title: 'Latency by percentile',
      caption:
        'All runs of a side together, from the moment a request was due. The further down a line, the faster.',
      summary: `Latency of A: ${summarize(a)}; of B: ${summarize(b)}.`,
      count: Math.max(a.count, b.count),
      lines: [toLine('A', a, 'first'), toLine('B', b, 'second')],
    }),
  ];
}

function toLine(label: string, latencies: Durations, color: 'first' | 'second'): PercentileLine {
  const points = listPercentilePoints(latencies);
  return { label, points, color, dashed: color === 'second' };
}

function summarize(latencies: Durations): string {
  return `median ${time(computeQuantileMs(latencies, 0.5))}, 99th percentile ${time(computeQuantileMs(latencies, 0.99))}`;
}
