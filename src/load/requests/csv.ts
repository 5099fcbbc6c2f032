import { usageError } from '../../errors.js';
import { plural } from '../../format/units.js';

/** A CSV file with a header line. */
export interface Csv {
  columns: string[];
  rows: string[][];
}

/** Reads CSV by RFC 4180: the first record names the columns, each other one has as many fields. */
export function parseCsv(text: string, file: string): Csv {
  const records = readRecords(text.replace(/^\uFEFF/, ''), file);
  const [header, ...rows] = records;
  if (!header || rows.length === 0) {
    throw usageError(
      `CSV file '${file}' must have a line of column names and at least one more line`,
    );
  }
  for (const { fields, line } of rows) {
    if (fields.length === header.fields.length) continue;
    throw usageError(
      `${file}:${line} must have ${plural(header.fields.length, 'field')}, as the first line has (got ${fields.length})`,
    );
  }
  return { columns: header.fields, rows: rows.map(({ fields }) => fields) };
}

interface CsvRecord {
  fields: string[];
  /** Of its beginning, from 1. */
  line: number;
}

/** The end of a plain field, or a quote in it, which is an error. */
const PLAIN_END = /[",\r\n]/g;

function readRecords(text: string, file: string): CsvRecord[] {
  const records: CsvRecord[] = [];
  let [index, line] = [0, 1];
  while (index < text.length) {
    const record: CsvRecord = { fields: [], line };
    let isBlank = true;
    for (let isLast = false; !isLast; ) {
      const isQuoted = text[index] === '"';
      const end = isQuoted ? findClosingQuote(text, index) : findPlainEnd(text, index);
      const field = text.slice(index + (isQuoted ? 1 : 0), end);
      index = isQuoted ? end + 1 : end;
      if (end < 0 || !/^(?:,|\r\n?|\n|$)/.test(text.slice(index, index + 2))) {
        throw usageError(`${file}:${line}: a quote that is not closed or stands inside a field`);
      }
      record.fields.push(isQuoted ? field.replaceAll('""', '"') : field);
      isBlank &&= !isQuoted && field.trim() === '';
      if (isQuoted) line += countLineEnds(field);
      isLast = text[index] !== ',';
      index += text.startsWith('\r\n', index) ? 2 : 1;
    }
    line += 1;
    if (!isBlank || record.fields.length > 1) records.push(record);
  }
  return records;
}

function findPlainEnd(text: string, from: number): number {
  PLAIN_END.lastIndex = from;
  return PLAIN_END.exec(text)?.index ?? text.length;
}

/** The quote that closes the field which begins with one at `from`: two in a row stand for one. -1: there is none. */
function findClosingQuote(text: string, from: number): number {
  let end = text.indexOf('"', from + 1);
  while (end >= 0 && text[end + 1] === '"') end = text.indexOf('"', end + 2);
  return end;
}

/** Line feeds, pairs of carriage return and line feed, and single carriage returns, as old tables have them. */
function countLineEnds(text: string): number {
  return text.match(/\r\n?|\n/g)?.length ?? 0;
}
