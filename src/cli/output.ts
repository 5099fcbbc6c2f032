import {
  accessSync,
  closeSync,
  constants as files,
  fstatSync,
  openSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { Socket } from 'node:net';
import { dirname, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { fileErrorReason } from '../errors/file-errors.js';
import { MillraceError, usageError } from '../errors/millrace-error.js';
import type { LoadResult } from '../index.js';
import { maskText } from '../masking/text.js';
import type { AnyResult, TextReportOptions } from '../report/index.js';
import { listWanted, printsReport } from './documents.js';
import type { OutputOptions } from './flags/output-flags.js';
import { importReport } from './import-report.js';
import { hasColor, printNote, printText } from './terminal/print.js';

/** Returns the options for a report on this stdout. */
export function textOptions(notes: string[] = []): Required<TextReportOptions> {
  const { columns = 80 } = process.stdout;
  return { color: hasColor(), width: columns, notes: notes.map(maskText) };
}

/** Prints the notes to stderr where stdout has no report, which would show them. */
export function printNotes(options: OutputOptions & { notes: string[] }): void {
  if (printsReport(options)) return;
  for (const note of options.notes) printNote(`note: ${maskText(note)}`);
}

/** Errors of writing, a line each. */
const outputErrors: string[] = [];

/** Writes to pipes, which end later. */
const pendingWrites: Promise<void>[] = [];

/** Begins to record output that fails. A reader that went away, as in `millrace ... | head`, is not an error. */
export function watchOutput(): void {
  process.stdout.on('error', (error) => addOutputError('standard output', error));
  // There is no stream left to report it on.
  process.stderr.on('error', () => {});
}

/** Waits until all output has been written, and returns the errors. */
export async function collectOutputErrors(): Promise<readonly string[]> {
  await new Promise((resolve) => process.stdout.write('', resolve));
  await Promise.all(pendingWrites);
  return outputErrors;
}

function addOutputError(name: string, error: unknown): void {
  if ((error as NodeJS.ErrnoException).code === 'EPIPE') return;
  const line = `${name} cannot be written: ${fileErrorReason(error)}`;
  // Each part that is written to a full disk fails.
  if (!outputErrors.includes(line)) outputErrors.push(line);
}

/** What follows the reports of a result on stdout and in the file of Markdown. */
interface Additions {
  text?: string;
  markdown?: AnyResult;
}

/** Writes a result: as JSON or as a report to stdout, as JSON and in other formats to the files of the flags. */
export async function writeResult(
  result: AnyResult,
  options: OutputOptions & { notes?: string[] },
  additions: Additions = {},
): Promise<void> {
  const { formatJson } = await import('../report/json.js');
  if (options.json) await writeTo('-', formatJson(result));
  else if (printsReport(options)) {
    const { formatText } = await importReport();
    const text = formatText(result, textOptions(options.notes));
    printText(additions.text === undefined ? text : `${text}\n\n${additions.text}`);
  }
  if (options.output !== undefined) await writeTo(options.output, formatJson(result));
  for (const { document, path } of listWanted(options)) {
    const isExtended = document.field === 'markdown' && additions.markdown !== undefined;
    const others = isExtended ? [additions.markdown as AnyResult] : [];
    await writeDocument(path, document.format(await importReport(), [result, ...others]));
  }
}

/** Prints a result to stdout as `millrace merge` finds it in a log. */
export async function logResult(result: LoadResult): Promise<void> {
  const [{ formatJson }, { formatLoggedResult }] = await Promise.all([
    import('../report/json.js'),
    import('../files/logged-results.js'),
  ]);
  const { segment } = result.plan;
  const share = segment ? `${segment.index}/${segment.count}` : null;
  await writeTo('-', [formatLoggedResult([...formatJson(result)].join(''), share)]);
}

/** Writes a file of a flag. GitHub's summary is appended to, as other steps write into it. */
export async function writeDocument(path: string, text: string): Promise<void> {
  const { GITHUB_STEP_SUMMARY: summary } = process.env;
  const isSummary = summary !== undefined && summary !== '' && isSameFile(path, summary);
  await writeTo(path, isSummary ? [`\n${text}`] : [text], isSummary ? 'a' : 'w');
}

/** Writes parts of a text to a file, a pipe or a stream. An error is recorded, so that other output is still written. */
async function writeTo(path: string, parts: Iterable<string>, flags = 'w'): Promise<void> {
  const stream = findStream(path);
  try {
    if (stream !== null) await writeStream(stream, parts);
    else if (statSync(path, { throwIfNoEntry: false })?.isFIFO()) writePipe(path, parts);
    else writeFile(path, parts, flags);
  } catch (error) {
    addOutputError(`'${path}'`, error);
  }
}

/** Writes to a stream as fast as it takes the parts. Its errors are recorded by `watchOutput`. */
async function writeStream(stream: NodeJS.WriteStream, parts: Iterable<string>): Promise<void> {
  for (const part of parts) {
    if (stream.destroyed || stream.errored) return;
    if (!stream.write(part))
      await new Promise<void>((written) => stream.write('', () => written()));
  }
}

function writeFile(path: string, parts: Iterable<string>, flags: string): void {
  const file = openSync(path, flags);
  try {
    for (const part of parts) writeFileSync(file, part);
  } finally {
    closeSync(file);
  }
}

/**
 * Writes to a named pipe. Fails if no process reads it; a blocking open would wait for ever. The pipe is opened once,
 * as its reader takes the end of a first writer for the end of the file.
 */
function writePipe(path: string, parts: Iterable<string>): void {
  const pipe = new Socket({ fd: openPipe(path), readable: false });
  pendingWrites.push(
    pipeline(Readable.from(parts), pipe).catch((error) => addOutputError(`'${path}'`, error)),
  );
}

function openPipe(path: string): number {
  try {
    return openSync(path, files.O_WRONLY | files.O_NONBLOCK);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENXIO') throw error;
    // A pipe of the shell, as in >(head -1), whose reader has ended, is not an error.
    const code = path.startsWith('/dev/fd/') ? 'EPIPE' : 'ENXIO';
    throw Object.assign(new Error('no process reads this pipe'), { code });
  }
}

/** Refuses, before the run, files that cannot be written, and one file for several formats. */
export function checkOutputs(options: OutputOptions): void {
  const { json, output } = options;
  const documents = listWanted(options).map(({ document, path }) => ({ ...document, path }));
  const jsonFile = output === undefined ? [] : [{ flag: '-o', path: output }];
  const all = [...jsonFile, ...documents];
  for (const { path } of all) checkWritable(path);
  const onStdout = documents.find(({ path }) => path === '-');
  if (json && onStdout) {
    throw usageError(`--json and ${onStdout.flag} - cannot both be on standard output`);
  }
  for (const [index, { flag, path }] of all.entries()) {
    const other = all.slice(index + 1).find((one) => isConflict(path, one.path));
    if (!other) continue;
    throw usageError(`${flag} and ${other.flag} must be different files (got '${path}' for both)`);
  }
}

/** Refuses, before anything is read, outputs that would overwrite a stored result that is read. */
export function checkInputsKept(options: OutputOptions, inputs: readonly string[]): void {
  const { output } = options;
  const documents = listWanted(options).map(({ document: { flag }, path }) => ({ flag, path }));
  const all = [...(output === undefined ? [] : [{ flag: '-o', path: output }]), ...documents];
  for (const { flag, path } of all) {
    if (findStream(path) !== null || !inputs.some((input) => isSameFile(path, input))) continue;
    throw usageError(`${flag} would overwrite '${path}', which is read: write to another file`);
  }
}

function isConflict(path: string, other: string): boolean {
  return path === '-' ? other === '-' : findStream(path) === null && isSameFile(path, other);
}

function isSameFile(one: string, other: string): boolean {
  if (resolve(one) === resolve(other)) return true;
  try {
    const [a, b] = [statSync(one), statSync(other)];
    return a.isFile() && a.dev === b.dev && a.ino === b.ino;
  } catch {
    return false;
  }
}

function checkWritable(path: string): void {
  if (findStream(path) !== null) return;
  try {
    if (path === '') throw usageError("'' cannot be written: no file is named");
    const found = statSync(path, { throwIfNoEntry: false });
    if (found?.isDirectory()) throw usageError(`'${path}' cannot be written: it is a directory`);
    const folder = dirname(path);
    if (!found && !statSync(folder).isDirectory()) {
      throw usageError(`'${path}' cannot be written: '${folder}' is not a directory`);
    }
    accessSync(found ? path : folder, files.W_OK);
  } catch (error) {
    if (error instanceof MillraceError) throw error;
    throw usageError(`'${path}' cannot be written: ${fileErrorReason(error)}`);
  }
}

/** Finds the stream that a path stands for. Opening the file of a redirected stream again would truncate it. */
function findStream(path: string): NodeJS.WriteStream | null {
  if (path === '-') return process.stdout;
  const [, name] = /^(?:\/dev\/(?:fd\/)?|\/proc\/self\/fd\/)(stdout|stderr|1|2)$/.exec(path) ?? [];
  if (name === 'stdout' || name === '1' || isOpenAs(1, path)) return process.stdout;
  if (name === 'stderr' || name === '2' || isOpenAs(2, path)) return process.stderr;
  return null;
}

function isOpenAs(descriptor: number, path: string): boolean {
  try {
    const [open, named] = [fstatSync(descriptor), statSync(path)];
    return open.isFile() && open.dev === named.dev && open.ino === named.ino;
  } catch {
    return false;
  }
}
