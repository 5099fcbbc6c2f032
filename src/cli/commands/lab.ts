import { usageError } from '../../errors.js';
import { type LabResult, lab, labStudies, type StudyName } from '../../index.js';
import { EXIT } from '../exit.js';
import { LAB_FLAGS, type LabInvocation, newLabInvocation } from '../flags/lab-flags.js';
import { parseArguments } from '../flags/parse.js';
import { onInterrupt } from '../interrupt.js';
import { checkOutputs, textOptions, writeResult } from '../output.js';
import { StepLine } from '../progress.js';

/** Repeats the studies that the command line names, or lists them. */
export async function labCommand(args: string[]): Promise<number> {
  const invocation = newLabInvocation();
  const { positional, command } = parseArguments(args, LAB_FLAGS, invocation, {}, 'lab');
  if (command) throw usageError('-- given; lab starts the services of its studies itself');
  const studies = await labStudies();
  if (positional.length === 0) {
    const { formatLabList } = await import('../../report/lab/list.js');
    console.log(formatLabList(studies, textOptions([])));
    return EXIT.ok;
  }
  const all = studies.map(({ name }) => name);
  const names = [...new Set(positional.flatMap((given) => (given === 'all' ? all : given)))];
  invocation.studies = names as StudyName[];
  const { output, html, quick } = invocation;
  checkOutputs(output, html);
  const chosen = studies.filter(({ name }) => names.includes(name));
  const seconds = chosen.reduce((sum, it) => sum + (quick ? it.seconds.quick : it.seconds.full), 0);
  const hint = quick ? '' : ' (--quick: less than a minute for each)';
  const length =
    chosen.length > 0 ? `${names.join(', ')}: about ${inMinutes(seconds)}${hint}` : null;
  return repeatAndReport(invocation, length);
}

/** `length` is told first: how long it will take. */
async function repeatAndReport(invocation: LabInvocation, length: string | null): Promise<number> {
  const abort = new AbortController();
  const listenNoLonger = onInterrupt(() => abort.abort());
  if (length !== null) console.error(length);
  const line = new StepLine(invocation.progress);
  try {
    const { studies: study, quick } = invocation;
    const run = lab({ study, quick, signal: abort.signal });
    for await (const { study, step, ...times } of run) {
      line.show({ ...times, step: `${study}: ${step}` });
    }
    const result = await run;
    line.clear();
    await report(result, invocation);
    return result.failed.length > 0 ? EXIT.failure : EXIT.ok;
  } catch (error) {
    line.clear();
    if (error !== abort.signal.reason) throw error;
    console.error('millrace: interrupted before a study was complete');
    return EXIT.interrupted;
  } finally {
    listenNoLonger();
  }
}

async function report(result: LabResult, { json, output, html }: LabInvocation): Promise<void> {
  const asJson = `${JSON.stringify(result, null, 2)}\n`;
  if (json) process.stdout.write(asJson);
  else {
    const { formatLabText } = await import('../../report/lab/text.js');
    console.log(formatLabText(result, textOptions([])));
  }
  if (output !== undefined) writeResult(output, asJson);
  if (html === undefined) return;
  const { renderLabPage } = await import('../../report/lab/html.js');
  writeResult(html, renderLabPage(result));
}

function inMinutes(seconds: number): string {
  return seconds < 100 ? `${seconds} s` : `${Math.ceil(seconds / 60)} min`;
}
