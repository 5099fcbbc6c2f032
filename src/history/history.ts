import { packageVersion } from '../environment/version.js';
import { usageError } from '../errors/millrace-error.js';
import { groupRuns } from './group-runs.js';
import { readStoredRuns } from './read-runs.js';
import type { HistoryResult } from './result.js';

/**
 * Reads the results of loads that a folder holds, as `-o` wrote them, and those of the folders in it: throughput and p99 over
 * time, by commit where the results have one. Results of different loads are apart. Throws a `MillraceError`
 * (`ERR_MILLRACE_USAGE`) if the folder cannot be read or holds none.
 */
export function readHistory(folder: string): HistoryResult {
  const { runs, skipped } = readStoredRuns(folder);
  if (runs.length === 0) throw usageError(describeNothing(folder, skipped));
  return {
    schemaVersion: 2,
    tool: { name: 'millrace', version: packageVersion() },
    folder,
    plans: groupRuns(runs),
    skipped,
  };
}

function describeNothing(folder: string, skipped: HistoryResult['skipped']): string {
  const [first] = skipped;
  const example = first ? `; ${first.file} ${first.reason}` : '';
  return `'${folder}' holds no result of a load, as -o FILE writes it${example}`;
}
