import type { LoadResult } from '../../load/result.js';
import { formatGenerators } from '../generators/text.js';
import { describePlan } from '../plan.js';
import { formatByName } from '../text/by-name.js';
import { formatDistributions } from '../text/distributions.js';
import { formatFailingResponses } from '../text/failing.js';
import { formatGenerator, formatWarnings } from '../text/generator.js';
import {
  formatHooks,
  formatIterations,
  formatMetrics,
  formatScenarios,
} from '../text/iterations.js';
import { formatRequests } from '../text/requests.js';
import { createSheet, formatList, formatParagraph, joinBlocks } from '../text/sheet.js';
import { formatSlowest } from '../text/slowest.js';
import { formatFindings, formatSteps } from '../text/steps.js';
import { formatTimeline } from '../text/timeline.js';

/** Options of the text report. */
export interface TextOptions {
  /** Whether to color the text by escape sequences. */
  color: boolean;
  /** Characters per line, at least 60. */
  width: number;
  /** Notes about the settings, printed below the first line. */
  notes: string[];
}

/** Formats the result of a load as text, without a trailing line break. */
export function formatLoadText(result: LoadResult, options: TextOptions): string {
  const sheet = createSheet(options);
  const head = [
    ...formatList(sheet, describePlan(result.plan), 2, 'strong'),
    ...options.notes.flatMap((note) => formatParagraph(sheet, `note: ${note}`, 6)),
  ];
  const findings = formatFindings(result, sheet);
  const blocks = [
    head,
    [...formatIterations(result, sheet), ...formatRequests(result, sheet)],
    formatDistributions(result, sheet),
    formatScenarios(result, sheet),
    formatSteps(result, sheet),
    formatByName(result, sheet),
    formatSlowest(result, sheet),
    formatMetrics(result, sheet),
    [
      ...formatTimeline(result, sheet),
      ...formatGenerator(result, sheet),
      ...formatHooks(result, sheet),
    ],
    formatGenerators(result, sheet),
    // What failed in steps has the beginnings of responses.
    findings.length > 0 ? findings : formatFailingResponses(result, sheet),
    formatWarnings(result, sheet),
  ];
  return joinBlocks(blocks);
}
