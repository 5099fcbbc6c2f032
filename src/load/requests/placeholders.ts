import { usageError } from '../../errors.js';
import { loadNative, type NativeCsv, type NativeRequest } from '../../native.js';
import { detectUtf16, readText } from '../input/text.js';
import { parseCsv } from './csv.js';

const OPENING = '{{';

/** Checks the placeholders of the requests and reads the CSV files that they name. */
export async function readPlaceholders(requests: NativeRequest[]): Promise<NativeCsv[]> {
  const templates = requests.flatMap(listTemplates);
  if (templates.length === 0) return [];
  const { csvFiles } = loadNative();
  return findCsvFiles(templates, csvFiles).map((name) => {
    const text = readText(name, 'CSV file');
    return { name, ...parseCsv(text, name) };
  });
}

function listTemplates({ target, headers, body }: NativeRequest): Buffer[] {
  const texts = [target, ...headers.map(({ value }) => value)];
  const templates: Buffer[] = texts
    .filter((text) => text.includes(OPENING))
    .map((text) => Buffer.from(text));
  if (body?.includes(OPENING)) templates.push(body);
  if (body) refuseWidePlaceholders(body);
  return templates;
}

// They would go out as they are: bytes that are not UTF-8 are not looked at.
function refuseWidePlaceholders(body: Buffer): void {
  const wide = detectUtf16(body);
  if (!wide || !/\{\{\s*(?:seq|uuid|random:|csv:)/.test(new TextDecoder(wide).decode(body))) return;
  throw usageError(
    'body: placeholders in UTF-16 are not filled in; save the file as UTF-8, or send it as it is with --no-placeholders',
  );
}

function findCsvFiles(templates: Buffer[], csvFiles: (templates: Buffer[]) => string[]): string[] {
  try {
    return csvFiles(templates);
  } catch (error) {
    throw usageError((error as Error).message);
  }
}
