import type { PercentilePoints } from '../distributions/percentiles.js';
import type { Series } from './charts/series.js';
import { needsLogScale, type Plot, toNines } from './plot.js';

/** A distribution in a plot over percentiles. */
export interface PercentileLine {
  label: string;
  points: PercentilePoints;
  color: Series['color'];
  dashed: boolean;
}

/** What a plot over percentiles is made of. */
export interface PercentilePlot extends Pick<Plot, 'title' | 'caption' | 'summary'> {
  /** Number of samples: the axis ends at the last one. */
  count: number;
  lines: PercentileLine[];
}

/** Builds a plot of times over percentiles. */
export function buildPercentilePlot({ count, lines, ...texts }: PercentilePlot): Plot {
  const percentiles = lines.flatMap(({ points }) => points.map(([percentile]) => percentile));
  const axisPercentiles = [...new Set([0, ...percentiles])].sort((a, b) => a - b);
  const series = lines.map(
    ({ label, points, color, dashed }): Series => ({
      label,
      values: listValues(points, axisPercentiles),
      color,
      dashed,
      stepped: false,
      filled: false,
    }),
  );
  return {
    ...texts,
    axis: 'percentile',
    unit: 'time',
    log: needsLogScale(series),
    x: axisPercentiles.map((percentile) => toNines(percentile, count)),
    end: toNines(100, count),
    series,
  };
}

/** Lists the value at each of some increasing percentiles: that of the first point at or above it. */
function listValues(points: PercentilePoints, percentiles: number[]): (number | null)[] {
  let index = 0;
  return percentiles.map((percentile) => {
    while ((points[index]?.[0] ?? Number.POSITIVE_INFINITY) < percentile) index += 1;
    return points[index]?.[1] ?? null;
  });
}
