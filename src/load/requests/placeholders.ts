import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { usageError } from '../../errors/millrace-error.js';
import { loadNative, type NativeCsv, type NativeRequest } from '../../native/addon.js';
import { readInput } from '../input/file.js';
import { findProvided, noteInput } from '../input/provided.js';
import { detectUtf16, readText } from '../input/text.js';
import { parseCsv } from './csv.js';

const OPENING = '{{';

/**
 * Checks the placeholders of the requests, and of other texts, and reads the CSV files that they name; `variables` may be
 * placeholders, too. A file that does not exist may be in `folder`.
 */
export async function readPlaceholders(
  requests: NativeRequest[],
  variables: string[] = [],
  texts: string[] = [],
  folder: string | null = null,
): Promise<NativeCsv[]> {
  const others = texts.filter((text) => text.includes(OPENING)).map((text) => Buffer.from(text));
  const templates = [...requests.flatMap(listTemplates), ...others];
  if (templates.length === 0) return [];
  const { csvFiles } = loadNative();
  return findCsvFiles(templates, variables, csvFiles).map((name) => {
    const path = findFile(name, folder);
    const text = readText(path, 'CSV file');
    // Another machine has no folder of this name.
    if (path !== name) noteInput(name, readInput(path, 'CSV file'));
    return { name, ...parseCsv(text, name) };
  });
}

function findFile(name: string, folder: string | null): string {
  if (folder === null || findProvided(name) || existsSync(name)) return name;
  const beside = resolve(folder, name);
  return existsSync(beside) ? beside : name;
}

function listTemplates({ target, headers, body }: NativeRequest): Buffer[] {
  const texts = [target, ...headers.map(({ value }) => value)];
  const templates: Buffer[] = texts
    .filter((text) => text.includes(OPENING))
    .map((text) => Buffer.from(text));
  if (body?.includes(OPENING)) templates.push(body);
  if (body) refuseUtf16Placeholders(body);
  return templates;
}

// The engine would send them unchanged: it fills in placeholders only in UTF-8.
function refuseUtf16Placeholders(body: Buffer): void {
  const utf16 = detectUtf16(body);
  if (!utf16 || !/\{\{\s*(?:seq|uuid|random:|csv:)/.test(new TextDecoder(utf16).decode(body)))
    return;
  throw usageError(
    'body: placeholders are not supported in UTF-16: save the file as UTF-8, or send it unchanged with --no-placeholders',
  );
}

/** Refuses placeholders of a step that are neither known nor one of the variables. */
export function checkPlaceholders(texts: string[], variables: string[], where: string): void {
  try {
    loadNative().csvFiles(
      texts.map((text) => Buffer.from(text)),
      variables,
    );
  } catch (error) {
    // What it says of a run without placeholders is not possible here.
    const [message] = (error as Error).message.split('; --no-placeholders');
    throw usageError(`${where}: ${message}`);
  }
}

function findCsvFiles(
  templates: Buffer[],
  variables: string[],
  csvFiles: (templates: Buffer[], variables: string[]) => string[],
): string[] {
  try {
    return csvFiles(templates, variables);
  } catch (error) {
    throw usageError((error as Error).message);
  }
}
