import { bytes, cores, count, duration, share, time } from '../../format/units.js';
import { hasResponse } from '../../load/answered.js';
import { formatStatus } from '../../load/grpc-statuses.js';
import { speaksHttp2 } from '../../load/http-version.js';
import { isDefaultExpect, nameStatusErrors } from '../../load/requests/expect.js';
import type { Distribution, LoadResult } from '../../load/result.js';
import { formatStatistic, isSameDistribution, STATISTICS } from '../distributions/distribution.js';
import { describeFailingResponse, formatFailingBody, formatFailingLabel } from '../failing.js';
import { describeLength, describeSchedule } from '../plan.js';
import { formatEnd } from '../slowest.js';
import { listHookRows } from './iterations.js';
import { type Child, html, type Markup } from './markup.js';
import {
  listConnectionSettings,
  listScenarioSettings,
  listTargetSettings,
  renderSettings,
} from './settings.js';
import { renderTable, renderTextTable } from './tables.js';

/** Renders latency and service time, and connect and TLS times if there are any. */
export function renderDistributionTable(result: LoadResult): Markup | null {
  const clocks: [string, Distribution][] = isSameDistribution(
    result.latencyMs,
    result.serviceTimeMs,
  )
    ? [['latency = service time', result.latencyMs]]
    : [
        ['latency', result.latencyMs],
        ['service time', result.serviceTimeMs],
      ];
  const all: [string, Distribution][] = [
    ...(hasResponse(result) ? clocks : []),
    ['connect', result.connectMs],
    ['TLS', result.tlsMs],
  ];
  return renderTimes('Times', all);
}

/** Renders the durations of iterations; `null` without scenarios. */
export function renderIterationTimes({ iterations = null }: LoadResult): Markup | null {
  if (iterations === null || iterations.completed === 0) return null;
  return renderTimes('Times of iterations', [
    ['iteration', iterations.durationMs],
    ['active', iterations.activeMs],
  ]);
}

function renderTimes(caption: string, all: [string, Distribution][]): Markup | null {
  const measured = all.filter(([, distribution]) => distribution.count > 0);
  if (measured.length === 0) return null;
  const row = (name: string, cell: (distribution: Distribution) => string) => [
    name,
    ...measured.map(([, distribution]) => cell(distribution)),
  ];
  return renderTable(
    caption,
    ['', ...measured.map(([name]) => name)],
    [
      row('min', ({ min }) => time(min)),
      ...STATISTICS.map(({ name, key }) =>
        row(name, (distribution) => formatStatistic(distribution, key, '≥')),
      ),
      row('samples', (distribution) => count(distribution.count)),
      row('censored', ({ censored }) => count(censored)),
    ],
  );
}

/** Renders the requests by outcome: the rows from `ok` on add up to `sent`. */
export function renderRequestTable(result: LoadResult): Markup | null {
  const { requests } = result;
  const { notSent } = requests;
  const rows: [string, number][] = [
    ['sent', requests.sent],
    ['= ok', requests.ok],
    [`+ ${nameStatusErrors(result)}`, requests.statusErrors],
    ['+ transport errors', requests.transportErrors],
    ['+ timeouts', requests.timeouts],
    ['+ in flight at the end', requests.inFlightAtEnd],
  ];
  const missed: [string, number][] = [
    ['not sent: over the limit of pending requests', notSent.overflow],
    ['not sent: waiting at the end', notSent.queuedAtEnd],
    ['not sent: no connection', notSent.connectFailed],
  ];
  const beyond: [string, number][] = [['redirections followed', requests.followed]];
  const visibleRows = [...rows, ...[...missed, ...beyond].filter(([, number]) => number > 0)];
  return renderTable('Requests', [], visibleRows.map(toCountRow));
}

/** Renders the number of responses by status. */
export function renderStatusTable({ statusCodes, messages = 0 }: LoadResult): Markup | null {
  const rows = Object.entries(statusCodes).map(([code, number]) =>
    toCountRow([formatStatus(code), number]),
  );
  if (messages > 0) rows.push(toCountRow(['messages of gRPC in them', messages]));
  return renderTable('Responses by status', [], rows);
}

/** Renders the number of errors by kind. */
export function renderErrorTable({ errors }: LoadResult): Markup | null {
  const rows = errors.map(({ kind, count: number, example }) => [
    kind,
    count(number),
    example ?? '',
  ]);
  return renderTextTable('Errors by kind', ['kind', 'count', 'for example'], rows);
}

/** Renders each failing response as it was received. */
export function renderFailingResponses({ failingResponses: all = [] }: LoadResult): Markup[] {
  return all.map(
    (response) => html`<figure>
<figcaption>${formatFailingLabel(response)}: ${describeFailingResponse(response)}</figcaption>
<pre>${[response.head, formatFailingBody(response)].filter((part) => part !== '').join('\n\n')}</pre>
</figure>`,
  );
}

/** Renders the slowest requests with their trace ids; `null` where no request has one. */
export function renderSlowestTable({ slowest = [] }: LoadResult): Markup | null {
  const table = renderTextTable(
    'The ten slowest of those with a trace context',
    ['trace id', 'latency', 'status', 'request'],
    slowest.map((one) => [
      html`<code>${one.traceId}</code>`,
      time(one.latencyMs),
      formatEnd(one),
      one.name,
    ]),
  );
  return table && html`<div class="slowest">${table}</div>`;
}

/** Renders the numbers of connections and bytes. */
export function renderConnectionTable({ connections, bytes: moved }: LoadResult): Markup | null {
  const rows: Child[][] = [
    ['opened', count(connections.opened)],
    ...listVersions(connections),
    ['failed to open', count(connections.failed)],
    ['requests that reused one', count(connections.reused)],
    ['full TLS handshakes', count(connections.tlsFull)],
    ['resumed TLS handshakes', count(connections.tlsResumed)],
    ['sent', bytes(moved.sent)],
    ['received', bytes(moved.received)],
  ];
  return renderTable('Connections', [], rows);
}

/** The connections by version of HTTP, where some speak HTTP/2. */
function listVersions(connections: LoadResult['connections']): Child[][] {
  const { http1, http2 = 0, goaway, maxConcurrentStreams: most = null } = connections;
  if (http2 === 0) return [];
  return [
    ['of these HTTP/1.1', count(http1)],
    ['of these HTTP/2', count(http2)],
    ['ended by GOAWAY', count(goaway)],
    ...(most === null
      ? []
      : [['streams that the server allows on each (MAX_CONCURRENT_STREAMS)', count(most)]]),
  ];
}

/** Renders the state of the load generator. */
export function renderGeneratorTable(result: LoadResult): Markup | null {
  const { generator, meanInFlight } = result;
  const { busy, starved, latenessMs, littleResidual } = generator;
  const lateness: Child[][] =
    latenessMs === null
      ? [['lateness', 'no schedule']]
      : [
          ['lateness p50', time(latenessMs.p50)],
          ['lateness p99', time(latenessMs.p99)],
          ['lateness max', time(latenessMs.max)],
        ];
  const rows: Child[][] = [
    ['busy, the busiest thread', share(busy)],
    ['starved of CPU', starved === null ? 'unknown' : share(starved)],
    ...lateness,
    ["Little's law residual", littleResidual === null ? 'not applicable' : share(littleResidual)],
    ['requests in flight, mean', meanInFlight.toFixed(1)],
    ...listHookRows(result),
  ];
  return renderTable('Generator', [], rows);
}

/** Renders the CPU of the server by group of threads; `null` without a known server. */
export function renderServerTable({ server }: LoadResult): Markup | null {
  if (!server) return null;
  const rows = server.threads.map(({ group, threads, cpu }) => [group, count(threads), cores(cpu)]);
  return renderTable('Server CPU by group of threads', ['group', 'threads', 'cores'], rows);
}

/** Renders the settings in effect. */
export function renderPlanTable({ plan, setupMs, durationMs, commit }: LoadResult): Markup | null {
  return renderSettings([
    ['commit', commit ?? null],
    ['model', plan.model],
    ['share', plan.segment ? `${plan.segment.index} of ${plan.segment.count}` : null],
    ['counts as ok', isDefaultExpect(plan) ? null : plan.expect.join(', ')],
    ...listTargetSettings(plan),
    ...listScenarioSettings(plan),
    ['schedule', plan.model === 'open' ? describeSchedule(plan) : null],
    ['connections', `${count(plan.connections)}, ${count(plan.initialConnections)} at the start`],
    [speaksHttp2(plan) ? 'streams per connection' : 'pipelining', plan.pipelining],
    ['redirections followed', plan.follow === 0 ? null : `at most ${plan.follow}`],
    ['think time', plan.model === 'open' ? null : duration(plan.thinkTimeMs)],
    ['threads', plan.threads],
    ['pending, maximum', plan.maxPending === null ? null : count(plan.maxPending)],
    ['length', describeLength(plan)],
    ['measured', `${time(durationMs)} after ${time(setupMs)} of set-up`],
    ...listConnectionSettings(plan),
  ]);
}

function toCountRow([name, number]: [string, number]): Child[] {
  return [name, count(number)];
}
