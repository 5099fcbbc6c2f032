// Names of files with the number of a share, as many shares of a run may write into one folder.
import { usageError } from '../../errors/millrace-error.js';
import { readSegment } from '../../load/plan/segments/read-segment.js';
import { listWanted } from '../documents.js';
import type { Invocation } from '../flags/load/invocation.js';

const PLACE = '{segment}';

/** Replaces `{segment}` in the names of the files that are written by the number of the share. */
export function nameSegmentFiles(invocation: Invocation): void {
  const { output, options } = invocation;
  const documents = listWanted(invocation).map(({ document, path }) => ({ ...document, path }));
  const files = [
    ...(output === undefined ? [] : [{ flag: '-o', field: 'output' as const, path: output }]),
    ...documents,
  ];
  const named = files.filter(({ path }) => path.includes(PLACE));
  for (const { flag, path } of named) {
    if (options.segment !== undefined) continue;
    throw usageError(`${flag} '${path}' needs --segment: ${PLACE} is the number of a share`);
  }
  const segment = readSegment(options);
  if (segment === null) return;
  for (const { field, path } of named) {
    invocation[field] = path.replaceAll(PLACE, String(segment.index));
  }
  if (options.segment === 'auto' && output !== undefined && !output.includes(PLACE)) {
    invocation.notes.push(
      `-o ${output} has the same name in each share; ${PLACE} in it is the number of the share`,
    );
  }
}
