import { plural, rate, roundTime, time } from '../../format/units.js';
import type { LoadResult, LoadWindow } from '../../load/result.js';
import { html, type Markup } from '../html/markup.js';
import { renderSection } from '../html/page.js';
import { renderTable } from '../html/tables.js';
import { drawMultiple, type Multiple, type MultipleScales } from './multiples.js';
import { describeGenerators, type GeneratorRow, listGeneratorRows } from './rows.js';

/** Most generators that have plots of their own; the table has more. */
const MAX_PLOTS = 24;
const MAX_ROWS = 200;

/** Points of a small plot. */
const MAX_POINTS = 120;

/** Renders the generators of a merged result: plots with common scales, and a table; `null` for the result of one run. */
export function renderGenerators(result: LoadResult): Markup | null {
  const { generators = [] } = result;
  if (generators.length === 0) return null;
  const shown = listGeneratorRows(result, MAX_PLOTS);
  const multiples = shown.map(toMultiple);
  const scales = findScales(multiples, result.durationMs);
  const rest = generators.length - shown.length;
  const others = rest > 0 ? ` ${plural(rest, 'generator')} more in the table.` : '';
  return renderSection(
    'Generators',
    html`<p class="note">${describeGenerators(result)}. All plots have the same scales: ${time(result.durationMs)}; ${rate(scales.highestRate)} req/s (area: responses, line: errors); ${scales.highestMs > 0 ? `${roundTime(scales.highestMs)} (line: p99)` : 'no latencies'}.${others}</p>`,
    html`<div class="multiples">${multiples.map((multiple) => drawMultiple(multiple, scales))}</div>`,
    html`<div class="by-name generators">${renderRows(listGeneratorRows(result, MAX_ROWS))}</div>`,
    generators.length > MAX_ROWS
      ? html`<p class="note">${plural(generators.length - MAX_ROWS, 'generator')} more in the JSON.</p>`
      : null,
  );
}

function toMultiple({ name, generator, throughput, p99, verdict }: GeneratorRow): Multiple {
  const { series, windowMs } = generator;
  const size = Math.max(1, Math.ceil(series.length / MAX_POINTS));
  const groups = Array.from({ length: Math.ceil(series.length / size) }, (_, index) =>
    series.slice(index * size, (index + 1) * size),
  );
  const end = (series[0]?.tMs ?? 0) + generator.durationMs;
  joinShortEnd(groups, end, windowMs * size);
  const points = groups.map((windows, index) => {
    const fromMs = windows[0]?.tMs ?? 0;
    const toMs = groups[index + 1]?.[0]?.tMs ?? Math.max(end, fromMs + windowMs / 2);
    const perSecond = (total: number) => (total * 1000) / (toMs - fromMs);
    const p99s = windows.flatMap(({ p99Ms }) => p99Ms ?? []);
    return {
      ...{ fromMs, toMs },
      completed: perSecond(windows.reduce((sum, { completed }) => sum + completed, 0)),
      errors: perSecond(windows.reduce((sum, { errors }) => sum + errors, 0)),
      p99Ms: p99s.length === 0 ? null : Math.max(...p99s),
    };
  });
  return { title: name, note: `${throughput} req/s, p99 ${p99}`, alarm: verdict, points };
}

/** Joins a last interval of less than half the length to the one before, as its rate says little. */
function joinShortEnd(groups: LoadWindow[][], endMs: number, lengthMs: number): void {
  const last = groups.at(-1)?.[0]?.tMs ?? 0;
  if (groups.length < 2 || endMs - last >= lengthMs / 2) return;
  groups.at(-2)?.push(...(groups.pop() ?? []));
}

function findScales(multiples: readonly Multiple[], durationMs: number): MultipleScales {
  const points = multiples.flatMap((multiple) => multiple.points);
  const highest = (values: number[]) => values.reduce((a, b) => Math.max(a, b), 0);
  return {
    durationMs: Math.max(durationMs, highest(points.map(({ toMs }) => toMs))),
    highestRate: highest(points.map(({ completed, errors }) => Math.max(completed, errors))),
    highestMs: highest(points.map(({ p99Ms }) => p99Ms ?? 0)),
  };
}

function renderRows(rows: readonly GeneratorRow[]): Markup | null {
  const hasServer = rows.some(({ generator }) => generator.server !== undefined);
  const hasMachine = rows.some(({ generator }) => generator.machine !== undefined);
  const hasClock = rows.some(({ clock }) => clock !== '');
  const hasVerdict = rows.some(({ verdict }) => verdict !== '');
  return renderTable(
    'By generator',
    [
      ...['', 'start', 'sent', 'req/s', 'failed', 'p50', 'p99', 'max', 'busy'],
      ...(hasServer ? ['server CPU'] : []),
      ...(hasMachine ? ['machine CPU'] : []),
      ...(hasClock ? ['clock'] : []),
      ...(hasVerdict ? ['verdict'] : []),
    ],
    rows.map(({ name, generator, ...row }) => [
      ...[name, row.start, row.sent, row.throughput, row.failed, row.p50, row.p99, row.max],
      row.busy,
      ...(hasServer ? [row.serverCpu] : []),
      ...(hasMachine ? [generator.machine?.wantedCores.toFixed(2) ?? '–'] : []),
      ...(hasClock ? [row.clock] : []),
      ...(hasVerdict ? [row.verdict] : []),
    ]),
  );
}
