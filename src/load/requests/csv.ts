import { usageError } from '../../errors.js';

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
    throw usageError(`CSV file '${file}' needs a line of column names and at least one more`);
  }
  for (const { fields, line } of rows) {
    if (fields.length === header.fields.length) continue;
    throw usageError(
      `${file}:${line}: ${fields.length} fields given; accepted: ${header.fields.length}, as in the first line`,
    );
  }
  return { columns: header.fields, rows: rows.map(({ fields }) => fields) };
}

interface CsvRecord {
  fields: string[];
  /** Of its beginning, from 1. */
  line: number;
}

// A field is quoted or plain; what follows it is a comma, the end of the line or the end of the file.
const FIELD = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r?\n|$)/y;

function readRecords(text: string, file: string): CsvRecord[] {
  const records: CsvRecord[] = [];
  let line = 1;
  let record: CsvRecord = { fields: [], line };
  FIELD.lastIndex = 0;
  while (FIELD.lastIndex < text.length || record.fields.length > 0) {
    const match = FIELD.exec(text);
    if (!match)
      throw usageError(`${file}:${line}: a quote that is not closed or stands inside a field`);
    const [whole, quoted, plain = '', end] = match;
    record.fields.push(quoted === undefined ? plain : quoted.replaceAll('""', '"'));
    line += whole.split('\n').length - 1;
    if (end === ',') continue;
    if (whole.trimEnd() !== '' || record.fields.length > 1) records.push(record);
    record = { fields: [], line };
  }
  return records;
}
