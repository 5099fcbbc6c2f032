import { usageError } from '../../errors/millrace-error.js';
import { refuseSecondInput } from '../../files/standard-input.js';
import type { AnyResult } from '../../report/index.js';
import { type Document, listWanted, type Report } from '../documents.js';
import { EXIT } from '../exit.js';
import type { ReportInvocation } from '../flags/stored/report-flags.js';
import { importReport } from '../import-report.js';
import { checkInputsKept, checkOutputs, textOptions, writeDocument } from '../output.js';
import { printText } from '../terminal/print.js';

/** Prints stored results, or writes them into the files of the flags. */
export async function reportCommand(invocation: ReportInvocation): Promise<number> {
  const { files } = invocation;
  checkOutputs(invocation);
  checkInputsKept(invocation, files);
  refuseSecondInput(files);
  const report = await importReport();
  const results = files.map(report.readResult) as [AnyResult, ...AnyResult[]];
  const wanted = listWanted(invocation);
  if (wanted.length === 0) {
    printText(formatTexts(report, results, files));
    return EXIT.ok;
  }
  // All of them are formatted before the first is written: bad input leaves no file behind.
  const texts = wanted.map(({ document, path }) => ({
    path,
    text: formatAll(report, document, results),
  }));
  for (const { path, text } of texts) await writeDocument(path, text);
  return EXIT.ok;
}

/** Formats reports one after the other, with the names of their files if there are several. */
function formatTexts(
  { formatText }: Report,
  results: readonly AnyResult[],
  files: readonly string[],
): string {
  const reports = results.map((result, index) => {
    const text = formatText(result, textOptions());
    return results.length > 1 ? `== ${files[index]}\n\n${text}` : text;
  });
  return reports.join('\n\n');
}

function formatAll(
  report: Report,
  document: Document,
  results: [AnyResult, ...AnyResult[]],
): string {
  const { flag, isSingle } = document;
  if (isSingle && results.length > 1) {
    throw usageError(`${flag} takes one result (got ${results.length} files)`);
  }
  return document.format(report, results);
}
