// The files that a result is written to, besides JSON.
import type { OutputOptions } from './flags/output-flags.js';
import type { Formats } from './formats.js';

/** A kind of file. */
export interface Document {
  /** The field of the options that has its path. */
  field: 'html' | 'markdown' | 'csv' | 'series' | 'junit' | 'hdr';
  flag: string;
  /** Whether it holds one result only. */
  isSingle: boolean;
  /** Renders results; `null` if this kind of result has no such format. */
  render<Result>(
    results: readonly [Result, ...Result[]],
    formats: Formats<Result>,
  ): Promise<string> | null;
}

export const DOCUMENTS: readonly Document[] = [
  {
    field: 'html',
    flag: '--html',
    isSingle: true,
    render: async ([result], { page }) => (await page())(result),
  },
  {
    field: 'markdown',
    flag: '--markdown',
    isSingle: false,
    render: (results, { markdown }) =>
      markdown ? markdown().then((render) => results.map(render).join('\n')) : null,
  },
  {
    field: 'csv',
    flag: '--csv',
    isSingle: false,
    render: (results, { csv }) => (csv ? csv().then((render) => render(results)) : null),
  },
  {
    field: 'series',
    flag: '--series',
    isSingle: false,
    render: (results, { series }) => (series ? series().then((render) => render(results)) : null),
  },
  {
    field: 'junit',
    flag: '--junit',
    isSingle: false,
    render: (results, { junit }) => (junit ? junit().then((render) => render(results)) : null),
  },
  {
    field: 'hdr',
    flag: '--hdr',
    isSingle: true,
    render: ([result], { hdr }) => (hdr ? hdr().then((render) => render(result)) : null),
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
