import { share, time } from '../../format/units.js';
import { adviseOnClientBound, clientBound } from '../../load/outcome/client-bound-words.js';
import type { LoadResult } from '../../load/result.js';
import { listWarnings } from '../warnings.js';
import { formatField, formatParagraph, type Sheet } from './sheet.js';

/** Formats the state of the load generator. */
export function formatGenerator({ generator }: LoadResult, sheet: Sheet): string[] {
  const { busy, starved, latenessMs, littleResidual, workers } = generator;
  const parts = [`busy ${share(busy)}${workers.length > 1 ? ' (the busiest thread)' : ''}`];
  if (starved !== null) parts.push(`starved of CPU ${share(starved)}`);
  if (latenessMs !== null) {
    parts.push(`lateness p99 ${time(latenessMs.p99)}, max ${time(latenessMs.max)}`);
  }
  if (littleResidual !== null) parts.push(`Little's law off by ${share(littleResidual)}`);
  return formatField(
    sheet,
    'generator',
    parts.join(', '),
    generator.clientBound ? 'bad' : undefined,
  );
}

/** Formats warnings. They come last, so that they are right above the prompt. */
export function formatWarnings(result: LoadResult, sheet: Sheet): string[] {
  const lines = listWarnings(result).flatMap((message) =>
    formatParagraph(sheet, `! ${message}`, 2, 'warning'),
  );
  return [...lines, ...formatAlarm(result, sheet)];
}

function formatAlarm({ generator }: LoadResult, sheet: Sheet): string[] {
  if (!generator.clientBound) return [];
  const { title, meaning } = clientBound;
  const advice = adviseOnClientBound(generator);
  return [
    ...formatParagraph(sheet, `*** ${title} *** ${meaning}`, 0, 'alarm'),
    ...[...generator.reasons, advice].flatMap((line) =>
      formatParagraph(sheet, `  - ${line}`, 4, 'bad'),
    ),
  ];
}
