import { count, rate, share } from '../../format/units.js';
import { hasResponse } from '../../load/answered.js';
import type { LoadResult } from '../../load/result.js';
import { formatStatistic } from '../distributions/distribution.js';
import {
  describeFinding,
  groupSteps,
  listFindings,
  listSharedNames,
  type StepGroup,
  type StepRow,
} from '../steps.js';
import { drawBar } from './bars.js';
import { cutName } from './cut-name.js';
import { formatParagraph, type Sheet } from './sheet.js';

/** Maximum number of steps, and of failures, on a terminal; JSON and page contain all. */
const MAX_STEPS = 24;
const MAX_FINDINGS = 8;

const SHARE_WIDTH = 7;
const COLUMN_WIDTH = 10;
const FAILED_WIDTH = 9;
const NUMBERS_WIDTH = SHARE_WIDTH + 3 * COLUMN_WIDTH + FAILED_WIDTH;

/** Width of the bars of shares. */
const MAX_BAR = 20;
const MIN_BAR = 6;

/** Width of names: shorter than this they are not cut for bars. */
const MIN_NAME = 12;

/** Formats the steps of scenarios, in their order, with the share of the time that each takes; empty without scenarios. */
export function formatSteps(result: LoadResult, sheet: Sheet): string[] {
  const groups = groupSteps(result);
  if (groups.length === 0) return [];
  const widths = measureColumns(groups, sheet);
  const heads = ['req/s', 'p50', 'p99'].map((head) => head.padStart(COLUMN_WIDTH)).join('');
  const label = groups.length === 1 ? 'step' : 'scenario, step';
  const before = widths.name + widths.bar;
  const head = `${label.padEnd(before)}${'time'.padStart(SHARE_WIDTH)}${heads}${'failed'.padStart(FAILED_WIDTH)}`;
  const lines = groups.flatMap((group) => formatGroup(group, groups.length > 1, widths, sheet));
  const rest = lines.length - MAX_STEPS;
  const more = rest > 0 ? [sheet.paint('dim', `and ${count(rest)} more in the JSON result`)] : [];
  return [
    sheet.paint('dim', head),
    ...lines.slice(0, MAX_STEPS),
    ...more,
    ...formatShared(groups, sheet),
  ];
}

interface Widths {
  name: number;
  bar: number;
  indent: number;
}

function measureColumns(groups: StepGroup[], sheet: Sheet): Widths {
  const left = sheet.width - NUMBERS_WIDTH;
  const indent = groups.length > 1 ? 2 : 0;
  const longest = Math.max(...groups.flatMap(({ rows }) => rows.map(({ name }) => name.length)));
  const wanted = Math.max(MIN_NAME, longest + indent + 1);
  const bar = Math.min(MAX_BAR, Math.max(MIN_BAR, left - wanted));
  // Names come first where there is space for little else.
  if (left - bar < MIN_NAME) return { name: left, bar: 0, indent };
  return { name: left - bar, bar, indent };
}

function formatGroup(
  { scenario, rows }: StepGroup,
  isOneOfMany: boolean,
  widths: Widths,
  sheet: Sheet,
): string[] {
  const title = sheet.paint('strong', cutName(scenario, sheet.width));
  const lines = rows.map((row) => formatRow(row, widths, sheet));
  return isOneOfMany ? [title, ...lines] : lines;
}

function formatRow({ name, requests, failed }: StepRow, widths: Widths, sheet: Sheet): string {
  const timeShare = requests?.timeShare ?? null;
  const times = (['p50', 'p99'] as const).map((point) =>
    requests !== null && hasResponse(requests)
      ? formatStatistic(requests.latencyMs, point, '≥')
      : '–',
  );
  const perSecond = requests === null ? '–' : rate(requests.throughput);
  const cells = [perSecond, ...times].map((cell) => cell.padStart(COLUMN_WIDTH));
  const failures = count(failed).padStart(FAILED_WIDTH);
  const bar = widths.bar === 0 ? '' : drawBar(timeShare ?? 0, widths.bar).padEnd(widths.bar);
  return [
    ' '.repeat(widths.indent),
    cutName(name, widths.name - widths.indent - 1).padEnd(widths.name - widths.indent),
    sheet.paint('bar', bar),
    (timeShare === null ? '–' : share(timeShare)).padStart(SHARE_WIDTH),
    ...cells,
    failed > 0 ? sheet.paint('bad', failures) : failures,
  ].join('');
}

function formatShared(groups: StepGroup[], sheet: Sheet): string[] {
  const names = listSharedNames(groups);
  if (names.length === 0) return [];
  const text = `In several scenarios, with their figures together: ${names.join(', ')}.`;
  return formatParagraph(sheet, text, 2, 'dim');
}

/** Formats what failed in the steps: a line for each status, check or value, with the first example. */
export function formatFindings(result: LoadResult, sheet: Sheet): string[] {
  const findings = listFindings(result);
  if (findings.length === 0) return [];
  const more = findings.length - MAX_FINDINGS;
  return [
    sheet.paint('dim', 'failed in steps'),
    ...findings
      .slice(0, MAX_FINDINGS)
      .flatMap((finding) =>
        formatParagraph(sheet, `${finding.step}: ${describeFinding(finding)}`, 2, 'bad'),
      ),
    ...(more > 0 ? [sheet.paint('dim', `and ${count(more)} more in the JSON result`)] : []),
  ];
}
