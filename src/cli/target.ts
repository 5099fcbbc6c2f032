import { usageError } from '../errors.js';
import type { LoadOptions } from '../index.js';
import type { TypedFlag } from './flags/parse.js';

/** Whether the options name a server to send requests to. */
export function hasTarget({
  url,
  targets,
  targetsFile,
  command,
  socketPath,
}: LoadOptions): boolean {
  return [url, targets, targetsFile, command, socketPath].some((it) => it !== undefined);
}

/** Refuses a URL that a flag took for its file, as in `--html localhost:3000`; for a command line without a target. */
export function refuseUrlAsFile(flags: readonly TypedFlag[]): void {
  for (const { given, placeholder, separateValue } of flags) {
    if (placeholder !== 'FILE' || separateValue === undefined || !looksLikeUrl(separateValue)) {
      continue;
    }
    throw usageError(
      `${given} needs a file: ${given} FILE ${separateValue} (got '${separateValue}', which looks like the URL)`,
    );
  }
}

function looksLikeUrl(text: string): boolean {
  return /^https?:\/\//i.test(text) || /^[\w.-]*:\d+(\/|$)/.test(text);
}

/** Flags that change the demo and do not judge or keep what it measures. */
const DEMO_FLAGS = new Set(['connections', 'duration', 'threads', 'requests', 'no-progress']);

/** Refuses the demo where a flag shows that a server was meant, as in `millrace --fail-on 'p99<9ms' $UNSET`. */
export function refuseDemo(flags: readonly TypedFlag[]): void {
  const other = flags.find(({ name }) => !DEMO_FLAGS.has(name));
  if (other) {
    throw usageError(
      `no target to load with ${other.given}: add a URL, or -- COMMAND (millrace without flags is a demo)`,
    );
  }
}
