// The results that `millrace merge` reads: files with one each, and logs with many.
import { closeSync, openSync, readSync, statSync } from 'node:fs';
import { basename } from 'node:path';
import { usageError } from '../../errors/millrace-error.js';
import {
  findLoggedResults,
  hasLoggedResults,
  type LoggedResult,
} from '../../files/logged-results.js';
import { parseResult, readResultText } from '../../files/result-file.js';
import { isStandardInput } from '../../files/standard-input.js';
import type { LoadResult } from '../../index.js';
import type { AnyResult } from '../../report/index.js';
import type { Report } from '../documents.js';
import { importReport } from '../import-report.js';
import { printMessage } from '../terminal/print.js';

/** A result that is read when it is added. */
interface MergeInput {
  name: string;
  read(): LoadResult;
}

/** Finds the results in files. One in a log that is not complete is refused, or with `allowMissing` named and left out. */
export async function findMergeInputs(
  files: readonly string[],
  allowMissing: boolean,
): Promise<MergeInput[]> {
  const report = await importReport();
  const names = nameFiles(files);
  const inputs = files.flatMap((file, index): MergeInput[] => {
    const name = names[index] ?? file;
    const text = mayBeLog(file) ? readResultText(file) : null;
    if (text === null) {
      return [{ name, read: () => toLoadResult(report.readResult(file), `'${file}'`, report) }];
    }
    if (!hasLoggedResults(text)) {
      return [{ name, read: () => parseLoadResult(readJson(text, file), `'${file}'`, report) }];
    }
    const logged = findLoggedResults(text);
    refuseDamaged(file, logged, allowMissing);
    const complete = logged.filter(({ damage }) => damage === null);
    if (logged.length === 0) {
      throw usageError(`'${file}' has no result: the lines that mark one are cut off`);
    }
    return complete.map((one, place) => ({
      name: one.pod ?? (one.share === null ? `${name} ${place + 1}` : `share ${one.share}`),
      read: () => parseLoadResult(one.read(), one.label, report),
    }));
  });
  if (inputs.length === 0) throw usageError('none of the results is complete: nothing is merged');
  return inputs;
}

function readJson(text: string, file: string): string {
  if (/^\s*(?:\{|$)/.test(text)) return text;
  throw usageError(
    `'${file}' has no result: it is neither JSON, as -o FILE writes it, nor a log with what --log-result prints`,
  );
}

function parseLoadResult(json: string, name: string, report: Report): LoadResult {
  return toLoadResult(parseResult(json, name) as unknown as AnyResult, name, report);
}

function toLoadResult(result: AnyResult, name: string, { identifyResult }: Report): LoadResult {
  const kind = identifyResult(result);
  if (kind === 'load') return result as LoadResult;
  throw usageError(`${name} is a result of ${kind}: merge takes those of load and run`);
}

function refuseDamaged(file: string, logged: readonly LoggedResult[], allowMissing: boolean): void {
  const lines = logged.flatMap(({ label, damage }) =>
    damage === null ? [] : [`'${file}': ${label} ${damage}`],
  );
  if (allowMissing) for (const line of lines) printMessage(line);
  else if (lines.length > 0) throw usageError(lines.join('\n'));
}

/** Whether a file may be a log: it does not begin as a result does, or is a pipe, which can be read once. */
function mayBeLog(file: string): boolean {
  if (isStandardInput(file)) return true;
  try {
    const found = statSync(file);
    if (found.isDirectory()) return false;
    return !found.isFile() || !beginsAsObject(file);
  } catch {
    // Reading says what is wrong.
    return false;
  }
}

function beginsAsObject(file: string): boolean {
  const descriptor = openSync(file, 'r');
  try {
    const start = Buffer.alloc(1);
    readSync(descriptor, start, 0, 1, 0);
    return start[0] === '{'.charCodeAt(0);
  } finally {
    closeSync(descriptor);
  }
}

/** Names results by their files: without folder and `.json`, if that tells them apart. */
function nameFiles(files: readonly string[]): string[] {
  const short = files.map((file) => basename(file).replace(/\.json$/, ''));
  return new Set(short).size === short.length ? short : [...files];
}
