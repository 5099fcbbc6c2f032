// The flags of `millrace explain --watch`.

import { usageError } from '../../errors/millrace-error.js';
import { WATCH_DEFAULTS, WATCH_INTERVAL_MS } from '../../explain/defaults.js';
import { parseUntil } from '../../explain/watch/until.js';
import type { WatchOptions } from '../../index.js';
import { mustBe } from '../../validation/shape.js';
import { parseFlagDuration } from '../../validation/units.js';
import type { Flag } from './flag.js';
import { storeIn } from './kinds.js';
import type { TypedFlag } from './parse.js';

/** What the command line of `millrace explain` says of a watch. */
export interface WatchFlags {
  /** Whether the service is watched, without load and experiments. */
  watch: boolean;
  watching: Pick<WatchOptions, 'until'> & { interval?: number };
}

/** Returns the flags of a command line without any. */
export function newWatchFlags(): WatchFlags {
  return { watch: false, watching: {} };
}

const { toggle } = storeIn((flags: WatchFlags) => flags);

export const WATCH_FLAGS: readonly Flag<WatchFlags>[] = [
  toggle('watch', 'watch', true, {
    help: 'report what limits the running service of --pid',
    details:
      'It makes no load and changes nothing: it observes the requests of clients. A process is observed from inside if it was started with node --import millrace/observe. A URL restricts the watch to the requests to its port. It ends with the service, or at Ctrl-C.',
  }),
  {
    name: 'interval',
    value: 'TIME',
    fallback: `${WATCH_DEFAULTS.intervalMs / 1000}s, with --until ${WATCH_DEFAULTS.untilMs / 1000}s`,
    help: 'with --watch: time between reports',
    details:
      'From 1s to 10min. There is also a report when the limit changes. With --until it is the length of the windows.',
    set({ watching }, value, flag) {
      const ms = parseFlagDuration(value, flag);
      if (ms < WATCH_INTERVAL_MS.min || ms > WATCH_INTERVAL_MS.max) {
        throw mustBe(flag, 'from 1s to 10min', value);
      }
      watching.interval = ms;
    },
  },
  {
    name: 'until',
    value: 'CONDITION',
    help: 'with --watch: explain the moment this becomes true',
    details:
      "Such as 'p99>500ms', 'mean>50ms', 'errors>1%' or 'rate<10': the condition that triggers, unlike --fail-on. Metrics: mean, p50, p75, p90, p95, p99, p99.9 and max of the response times, rate, errors. The window in which it became true is explained.",
    set({ watching }, value, flag) {
      watching.until = parseUntil(value, flag).text;
    },
  },
];

/** Flags that a watch has besides its own. */
const SHARED = new Set(['pid', 'attach', 'json', 'watch', 'interval', 'until', 'no-progress']);

/** Refuses flags that a watch has no use for, and flags of a watch without `--watch`. */
export function checkWatchFlags({ watch }: WatchFlags, typed: readonly TypedFlag[]): void {
  const wrong = watch
    ? typed.find(({ name }) => !SHARED.has(name))
    : typed.find(({ name }) => name === 'interval' || name === 'until');
  if (wrong === undefined) return;
  throw usageError(
    watch
      ? `--watch does not support ${wrong.flag}: it supports --pid, --attach, --json, --interval and --until`
      : `${wrong.flag} needs --watch: millrace explain --watch --pid N ${wrong.flag} ...`,
  );
}
