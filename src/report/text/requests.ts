import { bytes, count, plural, rate, time } from '../../format/units.js';
import { formatStatus } from '../../load/grpc-statuses.js';
import { nameStatusErrors } from '../../load/requests/expect.js';
import type { LoadResult } from '../../load/result.js';
import { formatField, type Sheet } from './sheet.js';

/** Formats throughput, the account of all requests, and the connections. */
export function formatRequests(result: LoadResult, sheet: Sheet): string[] {
  return [
    ...formatField(sheet, 'throughput', formatThroughput(result), 'strong'),
    ...formatField(sheet, 'requests', formatAccount(result)),
    ...formatNotSent(result, sheet),
    ...formatFollowed(result, sheet),
    ...formatConnections(result, sheet),
    ...formatStatusCodes(result, sheet),
    ...formatErrors(result, sheet),
  ];
}

function formatThroughput({ throughput, plan, bytes: moved, durationMs }: LoadResult): string {
  const spread = throughput.stdev === null ? '' : ` ± ${rate(throughput.stdev)}`;
  // With scenarios the rate is that of iterations.
  const isAsked = plan.rate !== null && plan.stages.length === 0 && plan.flows === undefined;
  const asked = isAsked ? ` of ${rate(plan.rate ?? 0)} asked for` : '';
  const received = durationMs > 0 ? (moved.received * 1000) / durationMs : 0;
  return `${rate(throughput.mean)}${spread} req/s${asked}, ${bytes(received)}/s received in ${time(durationMs)}`;
}

/** Formats the account `sent = ok + ...`; zero terms are left out. */
function formatAccount(result: LoadResult): string {
  const { requests } = result;
  const rest = [
    [requests.statusErrors, nameStatusErrors(result)],
    [requests.transportErrors, 'transport errors'],
    [requests.timeouts, 'timeouts'],
    [requests.inFlightAtEnd, 'in flight at the end'],
  ] as const;
  const terms = rest
    .filter(([number]) => number > 0)
    .map(([number, what]) => ` + ${count(number)} ${what}`);
  return `${count(requests.sent)} sent = ${count(requests.ok)} ok${terms.join('')}`;
}

function formatNotSent({ requests, plan }: LoadResult, sheet: Sheet): string[] {
  const { overflow, queuedAtEnd, connectFailed } = requests.notSent;
  const parts = [];
  if (overflow > 0) {
    const bound = plan.maxPending === null ? '' : ` of ${count(plan.maxPending)} pending`;
    parts.push(`${count(overflow)} over the limit${bound}`);
  }
  const place = plan.httpVersion === '2' ? 'a stream' : 'a connection';
  if (queuedAtEnd > 0) parts.push(`${count(queuedAtEnd)} waiting for ${place} at the end`);
  if (connectFailed > 0) parts.push(`${count(connectFailed)} without a connection`);
  return parts.length > 0 ? formatField(sheet, 'NOT SENT', parts.join(', '), 'bad') : [];
}

function formatFollowed({ requests: { followed } }: LoadResult, sheet: Sheet): string[] {
  return followed > 0
    ? formatField(
        sheet,
        'followed',
        `${plural(followed, 'redirection')} in addition to these requests`,
      )
    : [];
}

/** Formats the connections, with connect times if connections were opened after the set-up. */
function formatConnections(result: LoadResult, sheet: Sheet): string[] {
  const { opened, reused, failed, tlsFull, tlsResumed } = result.connections;
  const { http1 = 0, http2 = 0, goaway = 0 } = result.connections;
  const isMixed = result.plan.httpVersion === '2 or 1.1';
  const versions = `${count(http2)} HTTP/2, ${count(http1)} HTTP/1.1`;
  const parts = [`${count(opened)} opened${isMixed ? ` (${versions})` : ''}`];
  if (failed > 0) parts.push(`${count(failed)} failed`);
  if (goaway > 0) parts.push(`${count(goaway)} ended by GOAWAY`);
  parts.push(`${plural(reused, 'request')} reused one`);
  const lines = formatField(sheet, 'connections', parts.join(', '));
  if (opened <= result.plan.initialConnections) return lines;
  lines.push(...formatField(sheet, 'connect', formatTimes(result.connectMs)));
  if (tlsFull + tlsResumed === 0) return lines;
  const kinds = `${count(tlsFull)} full, ${count(tlsResumed)} resumed`;
  return [...lines, ...formatField(sheet, 'TLS', `${formatTimes(result.tlsMs)} (${kinds})`)];
}

function formatTimes({ p50, p99, max }: LoadResult['connectMs']): string {
  return `p50 ${time(p50)}, p99 ${time(p99)}, max ${time(max)}`;
}

function formatStatusCodes({ statusCodes, messages = 0 }: LoadResult, sheet: Sheet): string[] {
  const codes = Object.entries(statusCodes).map(
    ([code, number]) => `${formatStatus(code)}: ${count(number)}`,
  );
  const lines = codes.length > 0 ? formatField(sheet, 'status', codes.join(', ')) : [];
  return messages > 0
    ? [...lines, ...formatField(sheet, 'messages', `${count(messages)} received`)]
    : lines;
}

/** Formats the number of errors by kind. */
function formatErrors({ errors }: LoadResult, sheet: Sheet): string[] {
  const kinds = errors.map(({ kind, count: number }) => `${kind}: ${count(number)}`);
  return kinds.length > 0 ? formatField(sheet, 'errors', kinds.join(', '), 'bad') : [];
}
