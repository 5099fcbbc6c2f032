import type { WatchOptions } from './options.js';
import type { WatchReport } from './result.js';

/**
 * Watches a service in production: it makes no load and no experiment, and tells from what clients send what probably
 * limits the service. Gives a report at the beginning, after each interval, and when the limit changes; with `until` a
 * single one, on the window in which the condition became true. Ends with the service.
 *
 * A process is seen from inside if it has loaded `millrace/observe`: `node --import millrace/observe server.js`.
 *
 * @example
 * for await (const { verdict } of watch({ pid, interval: '60s' })) console.log(verdict.sentence);
 */
export async function* watch(options: WatchOptions): AsyncGenerator<WatchReport, void> {
  // Imported on demand: most users of the package only run loads.
  const { runWatch } = await import('./run.js');
  yield* runWatch(options);
}
