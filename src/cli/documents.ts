// The files that a result is written to, besides JSON.
import type { AnyResult } from '../report/index.js';
import type { OutputOptions } from './flags/output-flags.js';

/** What writes results, `millrace/report`; imported when a result is there. */
export type Report = typeof import('../report/index.js');

/** A kind of file. */
export interface Document {
  /** The field of the options that has its path. */
  field: 'html' | 'markdown' | 'csv' | 'series' | 'junit' | 'hdr';
  flag: string;
  /** Whether it holds one result only. */
  isSingle: boolean;
  /** Formats results. Throws a usage error if this kind of result has no such format. */
  format(report: Report, results: readonly [AnyResult, ...AnyResult[]]): string;
}

export const DOCUMENTS: readonly Document[] = [
  {
    field: 'html',
    flag: '--html',
    isSingle: true,
    format: ({ formatHtml }, [result]) => formatHtml(result),
  },
  {
    field: 'markdown',
    flag: '--markdown',
    isSingle: false,
    format: ({ formatMarkdown }, results) => formatMarkdown(results),
  },
  {
    field: 'csv',
    flag: '--csv',
    isSingle: false,
    format: ({ formatCsv }, results) => formatCsv(results),
  },
  {
    field: 'series',
    flag: '--series',
    isSingle: false,
    format: ({ formatSeriesCsv }, results) => formatSeriesCsv(results),
  },
  {
    field: 'junit',
    flag: '--junit',
    isSingle: false,
    format: ({ formatJunit }, results) => formatJunit(results),
  },
  {
    field: 'hdr',
    flag: '--hdr',
    isSingle: true,
    format: ({ formatHgrm }, [result]) => formatHgrm(result),
  },
];

/** Lists the files that are wanted, with their paths. */
export function listWanted(options: OutputOptions): { document: Document; path: string }[] {
  return DOCUMENTS.flatMap((document) => {
    const path = options[document.field];
    return path === undefined ? [] : [{ document, path }];
  });
}

/** Whether stdout is for the report, and neither for JSON nor for another file. */
export function printsReport(options: OutputOptions): boolean {
  return !options.json && listWanted(options).every(({ path }) => path !== '-');
}
