// The reports of results, for programs: `millrace/report`. What is returned is what the command line writes.
import { usageError } from '../errors/millrace-error.js';
import type { WatchReport } from '../explain/watch/result.js';
import { checkVersion, readResultFile } from '../files/result-file.js';
import type { LoadResult } from '../load/result.js';
import { isObject } from '../validation/shape.js';
import { formatWatchText } from './explain/watch.js';
import { formatJson as listJsonParts } from './json.js';
import { type AnyResult, type Formats, KINDS, type Kind, type ResultKind } from './kinds.js';

export type { AnyResult, ResultKind } from './kinds.js';
export { formatPrometheus, PROMETHEUS_BUCKETS_MS } from './prometheus.js';
export { formatDryRun } from './scenario/dry-run.js';

/** Options of `formatText()`. */
export interface TextReportOptions {
  /** Whether to color the text by escape sequences. Default `false`. */
  color?: boolean;
  /** Characters per line, from 60. Default 80. */
  width?: number;
  /** Notes about the settings of a load, printed below the first line. */
  notes?: readonly string[];
}

/** Options of `formatHint()`. */
export interface HintReportOptions extends Omit<TextReportOptions, 'notes'> {
  /** A command that finds the limit by experiment, as `npx millrace explain ...`, printed below the hint. */
  command?: string;
}

/** A format, and how messages call it. */
type Format = keyof Formats<never>;
const NAMES: Record<Format, string> = {
  text: 'text',
  html: 'HTML',
  markdown: 'Markdown',
  csv: 'CSV',
  series: 'CSV over time',
  junit: 'JUnit',
  hgrm: 'HdrHistogram percentiles',
  hint: 'hint',
};

/** The files that results were read from, for messages. */
const files = new WeakMap<object, string>();

/**
 * Reads a result of any kind that `-o FILE` or `--json` wrote; `-` is standard input. Throws a `MillraceError`
 * (`ERR_MILLRACE_USAGE`) if the file cannot be read or holds no complete result.
 */
export function readResult(file: string): AnyResult {
  const result = readResultFile(file);
  files.set(result, file);
  findKind(result);
  return result as unknown as AnyResult;
}

/** Returns which command, or function, gave a result. Throws a `MillraceError` if it is none. */
export function identifyResult(result: AnyResult): ResultKind {
  return findKind(result).kind;
}

/**
 * Formats a result as the report in a terminal, without a trailing line break.
 *
 * @example
 * console.log(formatText(await load({ url, duration: '5s' }), { color: process.stdout.isTTY }));
 */
export function formatText(result: AnyResult, options: TextReportOptions = {}): string {
  const { color = false, width = 80, notes = [] } = options;
  return render([result], 'text', (text, [one]) => text(one, { color, width, notes: [...notes] }));
}

/**
 * Formats a guess at what limited a load whose server a command started, as the command line prints it below the report.
 * It is empty if the result says too little, or the report says it already; `explain()` finds the limit by experiment.
 */
export function formatHint(result: LoadResult, options: HintReportOptions = {}): string {
  const { color = false, width = 80, command = null } = options;
  return render([result], 'hint', (hint, [one]) => hint(one, { color, width, command }));
}

/** Formats a report of `watch()` as text, without a trailing line break. */
export function formatWatchReport(
  report: WatchReport,
  options: Omit<TextReportOptions, 'notes'> = {},
): string {
  const { color = false, width = 80 } = options;
  return formatWatchText(report, { color, width });
}

/** Formats a result as a page of HTML that needs no other file. */
export function formatHtml(result: AnyResult): string {
  return render([result], 'html', (html, [one]) => html(one));
}

/** Formats a result, or several one after the other, as Markdown of GitHub's kind. */
export function formatMarkdown(results: AnyResult | readonly AnyResult[]): string {
  const parts = toList(results).map((result) =>
    render([result], 'markdown', (markdown, [one]) => markdown(one)),
  );
  return parts.join('\n');
}

/** Formats results of one kind (load, compare or capacity) as a table of CSV by RFC 4180, with a row or more for each. */
export function formatCsv(results: AnyResult | readonly AnyResult[]): string {
  return render(toList(results), 'csv', (csv, all) => csv(all));
}

/** Formats the figures over time of loads as CSV: a row for each window. */
export function formatSeriesCsv(results: AnyResult | readonly AnyResult[]): string {
  return render(toList(results), 'series', (series, all) => series(all));
}

/** Formats the conditions (`failOn`) of loads or of comparisons as XML of JUnit's kind: a suite for each result, a case for each condition. */
export function formatJunit(results: AnyResult | readonly AnyResult[]): string {
  const list = toList(results);
  const conditions = (one: object): unknown => (one as { conditions?: unknown }).conditions;
  const without = list.find((one) => hasFormat(one, 'junit') && isEmpty(conditions(one)));
  if (without !== undefined) {
    throw usageError(
      `${nameResult(without)} has no conditions: JUnit has a case for each --fail-on (failOn) of the run`,
    );
  }
  return render(list, 'junit', (junit, all) => junit(all));
}

/** Formats the latencies of a load as HdrHistogram prints percentiles (`.hgrm`), in milliseconds. */
export function formatHgrm(result: AnyResult): string {
  return render([result], 'hgrm', (hgrm, [one]) => hgrm(one));
}

/**
 * Formats a result as JSON, as `-o FILE` writes it: indented, with what controls a terminal or commands a CI runner
 * escaped. Throws a `RangeError` beyond the longest string, some 500 MB; `formatJsonParts()` knows no such bound.
 */
export function formatJson(result: AnyResult): string {
  findKind(result);
  return [...listJsonParts(result)].join('');
}

/** Yields the parts of `formatJson()`, some 64 KiB each. */
export function formatJsonParts(result: AnyResult): Iterable<string> {
  findKind(result);
  return listJsonParts(result);
}

function toList(results: AnyResult | readonly AnyResult[]): readonly AnyResult[] {
  return Array.isArray(results) ? results : [results as AnyResult];
}

function isEmpty(list: unknown): boolean {
  return !Array.isArray(list) || list.length === 0;
}

/** Finds the kind of a value; throws a usage error if it is no complete result. */
function findKind(value: unknown): Kind<never> {
  if (isObject(value)) checkVersion(value, nameResult(value));
  const kind = KINDS.find(
    ({ fields }) => isObject(value) && fields.every((field) => field in value),
  );
  if (kind === undefined || !hasParts(value as Record<string, unknown>, kind.fields)) {
    throw usageError(`${nameResult(value)} is not a complete result of millrace`);
  }
  return kind;
}

/** Whether the fields that hold parts do so; `null` is a part that a result may lack. */
function hasParts(value: Record<string, unknown>, fields: readonly string[]): boolean {
  return fields.every((field) => {
    const part = value[field];
    return part === null || isObject(part) || Array.isArray(part) || typeof part === 'number';
  });
}

function hasFormat(result: AnyResult, format: Format): boolean {
  return findKind(result).formats[format] !== undefined;
}

/** Renders results of one kind. What a damaged one makes fail is a usage error that names it. */
function render<Name extends Format>(
  results: readonly AnyResult[],
  format: Name,
  use: (render: NonNullable<Formats<never>[Name]>, results: readonly [never, ...never[]]) => string,
): string {
  const [first, ...others] = results;
  if (first === undefined) throw usageError(`${NAMES[format]} takes at least one result`);
  const { kind, formats } = findKind(first);
  for (const other of others) {
    const { kind: otherKind } = findKind(other);
    if (otherKind === kind) continue;
    throw usageError(
      `${NAMES[format]} takes results of one kind: ${nameResult(first)} is of ${kind}, ${nameResult(other)} of ${otherKind}`,
    );
  }
  const found = formats[format];
  if (found === undefined) {
    const having = KINDS.filter((one) => one.formats[format] !== undefined).map((one) => one.kind);
    throw usageError(
      `${nameResult(first)} is a result of ${kind}, which has no ${NAMES[format]}; it is for: ${having.join(', ')}`,
    );
  }
  try {
    return use(found, results as unknown as [never, ...never[]]);
  } catch (error) {
    if (!(error instanceof TypeError || error instanceof RangeError)) throw error;
    throw usageError(
      `${nameResult(first)} is not a complete result of millrace ${kind}: a part of it is missing or damaged`,
    );
  }
}

function nameResult(result: unknown): string {
  const file = isObject(result) ? files.get(result) : undefined;
  return file === undefined ? 'the given value' : `'${file}'`;
}
