import { usageError } from '../../errors/millrace-error.js';
import { plural } from '../../format/units.js';

/** A CSV file with a header line. */
export interface Csv {
  columns: string[];
  rows: string[][];
}

/** Parses CSV (RFC 4180): the first record names the columns, all records have the same number of fields. */
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
  /** The number of its first line, from 1. */
  line: number;
}

/** The end of an unquoted field, or a quote inside it, which is an error. */
const UNQUOTED_END = /[",\r\n]/g;

function readRecords(text: string, file: string): CsvRecord[] {
  const records: CsvRecord[] = [];
  let [index, line] = [0, 1];
  while (index < text.length) {
    const record: CsvRecord = { fields: [], line };
    let isBlank = true;
    for (let isLast = false; !isLast; ) {
      const isQuoted = text[index] === '"';
      const end = isQuoted ? findClosingQuote(text, index) : findUnquotedEnd(text, index);
      const field = text.slice(index + (isQuoted ? 1 : 0), end);
      index = isQuoted ? end + 1 : end;
      if (end < 0 || !/^(?:,|\r\n?|\n|$)/.test(text.slice(index, index + 2))) {
        throw usageError(
          `${file}:${line}: a quoted field must end with a quote, and an unquoted field must not contain one`,
        );
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

function findUnquotedEnd(text: string, from: number): number {
  UNQUOTED_END.lastIndex = from;
  return UNQUOTED_END.exec(text)?.index ?? text.length;
}

/** Finds the quote that closes the quoted field at `from`; two quotes in a row are one of its characters. -1 if there is none. */
function findClosingQuote(text: string, from: number): number {
  let end = text.indexOf('"', from + 1);
  while (end >= 0 && text[end + 1] === '"') end = text.indexOf('"', end + 2);
  return end;
}

/** Counts line ends: LF, CRLF, and single CR as in old files. */
function countLineEnds(text: string): number {
  return text.match(/\r\n?|\n/g)?.length ?? 0;
}
