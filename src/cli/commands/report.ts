import { usageError } from '../../errors.js';
import { refuseSecondInput } from '../../standard-input.js';
import { type Document, listWanted } from '../documents.js';
import { EXIT } from '../exit.js';
import type { ReportInvocation } from '../flags/report-flags.js';
import { checkInputsKept, checkOutputs, textOptions, writeDocument } from '../output.js';
import { readStoredResult, renderStored, type StoredResult } from '../stored-result.js';
import { printText } from '../terminal/print.js';

/** Prints stored results, or renders them into the files of the flags. */
export async function reportCommand(invocation: ReportInvocation): Promise<number> {
  checkOutputs(invocation);
  checkInputsKept(invocation, invocation.files);
  refuseSecondInput(invocation.files);
  const [first, ...others] = invocation.files.map(readStoredResult);
  if (!first) throw new TypeError('report without a file');
  const wanted = listWanted(invocation);
  if (wanted.length === 0) {
    printText(await formatTexts([first, ...others]));
    return EXIT.ok;
  }
  // All of them are rendered before the first is written: bad input leaves no file behind.
  const documents = [];
  for (const { document, path } of wanted) {
    documents.push({ path, text: await renderAll(document, [first, ...others]) });
  }
  for (const { path, text } of documents) await writeDocument(path, text);
  return EXIT.ok;
}

/** Formats reports one after the other, with the names of their files if there are several. */
async function formatTexts(results: StoredResult[]): Promise<string> {
  const reports = [];
  for (const stored of results) {
    const { file, formats, result } = stored;
    const report = await renderStored(stored, async () =>
      (await formats.text())(result, textOptions()),
    );
    reports.push(results.length > 1 ? `== ${file}\n\n${report}` : report);
  }
  return reports.join('\n\n');
}

async function renderAll(
  document: Document,
  [first, ...others]: [StoredResult, ...StoredResult[]],
): Promise<string> {
  const { flag, isSingle } = document;
  if (isSingle && others.length > 0) {
    throw usageError(`${flag} takes one result (got ${others.length + 1} files)`);
  }
  // The rows of a table, and the cases of a suite, are of one kind; Markdown is made of parts.
  if (document.field === 'markdown') {
    const parts = [];
    for (const one of [first, ...others]) parts.push(await renderOneKind(document, [one]));
    return parts.join('\n');
  }
  const other = others.find(({ command }) => command !== first.command);
  if (other) {
    throw usageError(
      `${flag} takes results of one kind: '${first.file}' is of ${first.command}, '${other.file}' of ${other.command}`,
    );
  }
  return renderOneKind(document, [first, ...others]);
}

async function renderOneKind(
  { flag, field, render }: Document,
  results: [StoredResult, ...StoredResult[]],
): Promise<string> {
  const [first, ...others] = results;
  const { file, command, formats } = first;
  const withoutConditions = results.find(({ result }) => !hasConditions(result));
  if (field === 'junit' && formats.junit && withoutConditions) {
    throw usageError(
      `'${withoutConditions.file}' has no conditions: ${flag} has a case for each --fail-on of the run`,
    );
  }
  const all: [never, ...never[]] = [first.result, ...others.map(({ result }) => result)];
  const text = await renderStored(first, async () => render(all, formats));
  if (text === null)
    throw usageError(`'${file}' is a result of ${command}, which ${flag} does not write`);
  return text;
}

function hasConditions({ conditions = [] }: { conditions?: unknown[] }): boolean {
  return conditions.length > 0;
}
