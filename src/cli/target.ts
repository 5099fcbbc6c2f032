import { usageError } from '../errors/millrace-error.js';
import type { LoadOptions } from '../index.js';
import type { Invocation } from './flags/load/invocation.js';
import type { TypedFlag } from './flags/parse.js';

/** Reports whether the options name a server to send requests to. */
export function hasTarget({
  url,
  targets,
  targetsFile,
  scenario,
  command,
  socketPath,
}: LoadOptions): boolean {
  return [url, targets, targetsFile, scenario, command, socketPath].some((it) => it !== undefined);
}

/** Refuses an invocation without a target; `message` says how one is given. */
export function requireTarget({ options, typed }: Invocation, message: string): void {
  if (hasTarget(options)) return;
  refuseUrlAsFile(typed);
  throw usageError(message);
}

/**
 * Refuses a URL that is the value of a flag for a file, as in `--html localhost:3000`, in a command line without a
 * target.
 */
export function refuseUrlAsFile(flags: readonly TypedFlag[]): void {
  for (const { flag, placeholder, separateValue } of flags) {
    if (placeholder !== 'FILE' || separateValue === undefined || !looksLikeUrl(separateValue)) {
      continue;
    }
    throw usageError(
      `${flag} needs a file: ${flag} FILE ${separateValue} (got '${separateValue}', which looks like the URL)`,
    );
  }
}

function looksLikeUrl(text: string): boolean {
  return /^https?:\/\//i.test(text) || /^[\w.-]*:\d+(\/|$)/.test(text);
}

/** Flags that change the demo and neither check nor keep its result. */
const DEMO_FLAGS = new Set(['connections', 'duration', 'threads', 'requests', 'no-progress']);

/** Refuses the demo where a flag shows that a server was meant, as in `millrace --fail-on 'p99<9ms' $UNSET`. */
export function refuseDemo(flags: readonly TypedFlag[]): void {
  const other = flags.find(({ name }) => !DEMO_FLAGS.has(name));
  if (other) {
    throw usageError(
      `no target to load with ${other.flag}: add a URL, or -- COMMAND (millrace without flags is a demo)`,
    );
  }
}
