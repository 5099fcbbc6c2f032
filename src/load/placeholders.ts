import { usageError } from '../errors.js';
import { loadNative, type NativeCsv, type NativeRequest } from '../native.js';
import { parseCsv } from './csv.js';
import { readInput } from './file.js';

const OPENING = '{{';

/** Checks the placeholders of the requests and reads the CSV files that they name. */
export async function readPlaceholders(requests: NativeRequest[]): Promise<NativeCsv[]> {
  const templates = requests.flatMap(templatesOf);
  if (templates.length === 0) return [];
  const { csvFiles } = loadNative();
  return filesNamed(templates, csvFiles).map((name) => {
    const text = readInput(name, 'CSV file').toString('utf8');
    return { name, ...parseCsv(text, name) };
  });
}

function templatesOf({ target, headers, body }: NativeRequest): Buffer[] {
  const texts = [target, ...headers.map(({ value }) => value)];
  const templates: Buffer[] = texts
    .filter((text) => text.includes(OPENING))
    .map((text) => Buffer.from(text));
  if (body?.includes(OPENING)) templates.push(body);
  return templates;
}

function filesNamed(templates: Buffer[], csvFiles: (templates: Buffer[]) => string[]): string[] {
  try {
    return csvFiles(templates);
  } catch (error) {
    throw usageError((error as Error).message);
  }
}
