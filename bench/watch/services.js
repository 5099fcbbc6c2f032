// A service under its own load: at first one client, then the load of its case.
import { findFreePort } from '../../dist/process/listening/free-port.js';
import { runLoad, startService, startWatch, stop } from './processes.js';

/** What clients decide is no limit of the service. */
const OF_CLIENTS = ['too-few-connections', 'no-limit'];

/** Whether a case needs nothing but its service. */
export function canWatch({ service, surroundings, shell, database }) {
  return service !== 'bare' && !surroundings && !shell && !database;
}

/** Watches a case, and judges the last report on its load. */
export async function watchCase(one, { directory, quietS, loadS }) {
  const { expected, partly = [], flags, paths } = one;
  const port = await findFreePort();
  const scheme = flags.includes('--tls') ? 'https' : 'http';
  const urls = paths.map((path) => `${scheme}://127.0.0.1:${port}${path}`);
  let service;
  try {
    service = await startService(one, { port, directory });
  } catch ({ message }) {
    return { judged: 'failed', found: 'none', expected, sentence: message };
  }
  const { child: watch, reports } = startWatch(service.pid, ['--interval', '5s']);
  try {
    await runLoad([...keepHeaders(flags), '-c', '1'], urls, quietS);
    const loadedAt = Date.now();
    await runLoad(flags, urls, loadS);
    const endedAt = Date.now();
    const last = reports.findLast(({ startedAt, durationMs }) => {
      const from = Date.parse(startedAt);
      return from >= loadedAt && from + durationMs <= endedAt;
    });
    return judge(last, expected, partly);
  } finally {
    await stop(watch, 'SIGTERM');
    await stop(service);
  }
}

/** Keeps of a load's flags those that say what is sent. */
function keepHeaders(flags) {
  const kept = [];
  for (const [index, flag] of flags.entries()) {
    if (['-H', '-b', '-m', '--tls'].includes(flag)) kept.push(flag, flags[index + 1]);
    if (['-k', '--h2c'].includes(flag)) kept.push(flag);
  }
  return kept;
}

/** What keeps a loop busy. */
const LOOP_CAUSES = [
  ...['gc-young', 'gc-old', 'compression', 'logging', 'idle-work', 'many-writes'],
  ...[
    'tls-handshake',
    'connection-churn',
    'accept-rate',
    'degrades-over-time',
    'event-loop-blocked',
  ],
];

/** Whether other programs, which are not part of the case, take what the service needs: then that is its limit. */
function isOfMachine({ verdict }) {
  return ['noisy-machine', 'shared-cores'].includes(verdict.limit);
}

/** Whether the busy loop is named where the case is about what keeps it busy: true, and less specific. */
function isBroader({ verdict: { limit } }, expected) {
  return limit === 'event-loop-cpu' && expected.some((one) => LOOP_CAUSES.includes(one));
}

function judge(report, expected, partly) {
  if (!report) return { judged: 'failed', found: 'none', expected, sentence: 'no report' };
  const { limit, status, sentence } = report.verdict;
  const isHidden = limit === null && expected.every((one) => report.notObserved.includes(one));
  const isOfClients = expected.some((one) => OF_CLIENTS.includes(one));
  const isRight = expected.includes(limit) || (status === 'no-limit' && isOfClients);
  const judged = isRight
    ? 'right'
    : partly.includes(limit) || isBroader(report, expected)
      ? 'partly'
      : isHidden || (limit === null && status === 'cannot-tell')
        ? 'open'
        : isOfMachine(report)
          ? 'machine'
          : 'wrong';
  return { judged, found: limit ?? status, expected, sentence };
}
