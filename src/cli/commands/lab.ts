import { lab, labStudies, type StudyName, type StudySummary } from '../../index.js';
import { EXIT } from '../exit.js';
import type { LabInvocation } from '../flags/lab-flags.js';
import { textOptions } from '../output.js';
import { runAndReport } from '../run-and-report.js';
import { printNote, printText } from '../terminal/print.js';

/** Repeats the studies that the command line names, or lists all. */
export async function labCommand(invocation: LabInvocation): Promise<number> {
  const { quick } = invocation;
  const studies = await labStudies();
  if (invocation.studies.length === 0) {
    const { formatLabList } = await import('../../report/lab/list.js');
    printText(formatLabList(studies, textOptions()));
    return EXIT.ok;
  }
  const all = studies.map(({ name }) => name);
  const words = invocation.studies.flatMap((word) => (word === 'all' ? all : word));
  // The lab refuses a study that it does not know.
  const study = [...new Set(words)] as StudyName[];
  const chosen = studies.filter(({ name }) => study.includes(name));
  return runAndReport(invocation, {
    start(signal) {
      if (chosen.length > 0) printNote(`${study.join(', ')}: ${estimateTime(chosen, quick)}`);
      return lab({ study, quick, signal });
    },
    before: 'a study was complete',
    toStep: ({ study, step, ...times }) => ({ ...times, step: `${study}: ${step}` }),
    exitCode: ({ failed }) => (failed.length > 0 ? EXIT.failure : EXIT.ok),
  });
}

function estimateTime(studies: StudySummary[], isQuick: boolean): string {
  const seconds = studies.reduce(
    (sum, it) => sum + (isQuick ? it.seconds.quick : it.seconds.full),
    0,
  );
  const time = seconds < 100 ? `${seconds} s` : `${Math.ceil(seconds / 60)} min`;
  return `about ${time}${isQuick ? '' : ' (--quick: less than a minute for each)'}`;
}
