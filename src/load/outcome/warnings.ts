import { cpus } from 'node:os';
import { bytes, count, plural, rate, share, time } from '../../format/units.js';
import { countUnfinished, hasResponse as hasAnyResponse, isAnswered } from '../answered.js';
import { formatStatus } from '../grpc-statuses.js';
import type { OpenFiles } from '../plan/open-files.js';
import { isDefaultExpect, isExpected } from '../requests/expect.js';
import { MAX_NAMES, OTHER_REQUESTS } from '../requests/request-names.js';
import type { LoadResult, LoadWarning } from '../result.js';
import { adviseOnCertificate } from './certificate-advice.js';
import { findNotedLateness, sumStalled } from './client-bound.js';
import { adviseOnClientBound, clientBound } from './client-bound-words.js';
import { checkMaxConcurrentStreams, checkWindowWaits } from './http2-warnings.js';
import { countPlanned, countTried, isBelowRate } from './planned-rate.js';
import type { Redirection } from './redirections.js';
import { checkIterationRate, checkNoIteration, checkNotStarted } from './scenarios/warnings.js';
import type { UnreachedTargets } from './unreached-targets.js';

/** Facts about a run that are not part of its result. */
export interface Circumstances {
  /** Addresses that refused connections and were left out, as their name has others. */
  refusedAddresses: string[];
  /** How the command's server ended, if that ended the run. */
  serverEnded: string | null;
  /** Ports of the command's server that were not loaded. */
  otherPorts: number[];
  /** Targets of servers that were not reached, while others were. */
  unreachedTargets: UnreachedTargets[];
  /** The first redirection of each status. */
  redirections: Map<number, Redirection>;
  /** Files that the run needs open at most, and the limit; `null` where the limit is not known. */
  files: OpenFiles | null;
  /** Why the authorities of NODE_EXTRA_CA_CERTS are not trusted; `null` if they are, or there are none. */
  extraAuthoritiesError: string | null;
}

/** Finds reasons to doubt the measurement, each with advice; the most important first. */
export function findWarnings(result: LoadResult, circumstances: Circumstances): LoadWarning[] {
  const checks: [id: string, message: string | null][] = [
    ['client-bound', checkClientBound(result)],
    ['generator-stalled', checkStalled(result)],
    ['late', checkLate(result)],
    ['started-late', checkStartedLate(result)],
    ['server-ended', checkServerEnded(result, circumstances)],
    ['aborted', checkAborted(result)],
    ['target-not-reached', checkTargetNotReached(circumstances)],
    ['several-ports', checkSeveralPorts(result, circumstances)],
    ['all-failed', checkAllFailed(result)],
    ['no-iteration', checkNoIteration(result)],
    ['unfinished', checkUnfinished(result)],
    ['redirected', checkRedirected(result, circumstances)],
    ['rate-not-reached', checkRateNotReached(result)],
    ['not-sent', checkNotSent(result)],
    ['not-started', checkNotStarted(result)],
    ['waiting-for-connections', checkWaitingForConnections(result)],
    ['max-concurrent-streams', checkMaxConcurrentStreams(result)],
    ['window-waits', checkWindowWaits(result)],
    ['timeouts', checkTimeouts(result)],
    ...checkErrors(result, circumstances),
    ['status-errors', checkStatusErrors(result)],
    ['connect-failed', checkConnectFailed(result)],
    ['addresses-left-out', checkAddressesLeftOut(circumstances)],
    ['reopened', checkReopened(result)],
    ['full-handshakes', checkFullHandshakes(result)],
    ['failures-related', checkFailuresRelated(result)],
    ['censored', checkCensored(result)],
    ['cpu-stolen', checkCpuStolen(result)],
    ['shared-cores', checkSharedCores(result)],
    ['short-run', checkShortRun(result)],
    ['names-joined', checkNamesJoined(result)],
    ['certificate-not-verified', checkCertificateNotVerified(result)],
    ['extra-authorities', circumstances.extraAuthoritiesError],
  ];
  return checks.flatMap(([id, message]) => (message === null ? [] : [{ id, message }]));
}

function checkNamesJoined({ byName, plan }: LoadResult): string | null {
  const counted = new Set(byName.map(({ name }) => name));
  const targets = plan.targets.filter(({ name }) => !counted.has(name)).length;
  if (targets === 0) return null;
  return `There are more than ${MAX_NAMES} request names: the requests of ${plural(targets, 'target')} are counted together, as '${OTHER_REQUESTS}'. Give targets that belong together one name: a line # @name: NAME before each.`;
}

function checkClientBound({ generator }: LoadResult): string | null {
  if (!generator.clientBound) return null;
  const { title, meaning } = clientBound;
  const advice = adviseOnClientBound(generator);
  return `${title}: ${generator.reasons.join('; ')}. ${meaning} ${advice}`;
}

function checkStalled({ generator: { stalled } }: LoadResult): string | null {
  if (!stalled) return null;
  const { times, samples, maxMs } = stalled;
  const [first, ...others] = times;
  const when = `from ${time(first?.atMs ?? 0)} on${others.length > 0 ? `, and ${plural(others.length, 'time')} later` : ''}`;
  const marked = `${plural(samples, 'latency', 'latencies')} ${samples === 1 ? 'contains' : 'contain'} this time`;
  return `The generator stood still for ${time(sumStalled(stalled))} (${when}): it was stopped or suspended, or had no core. ${marked}${samples > 0 ? `, up to ${time(maxMs)}` : ''}; that is not the server's.`;
}

function checkLate(result: LoadResult): string | null {
  const { generator, plan, durationMs } = result;
  const late = generator.clientBound ? null : findNotedLateness(result);
  if (late === null) return null;
  const { percentile, ms, ofMs } = late;
  const isHeld = plan.model === 'open' && !isBelowRate(plan, durationMs, countTried(result));
  return `Requests were sent late: ${time(ms)} after their intended time at ${percentile}, which is part of the latency of ${time(ofMs)} there.${isHeld ? ' The rate was held.' : ''}`;
}

/** The latest start that is not worth a word. */
const MAX_START_LATENESS_MS = 10;

function checkStartedLate({ start, setupMs }: LoadResult): string | null {
  if (start === undefined || start.lateMs <= MAX_START_LATENESS_MS) return null;
  return `The load began ${time(start.lateMs)} later than planned (${start.at}); the connections were open ${time(setupMs)} after the first connect. Plan a later start.`;
}

function checkServerEnded(
  { durationMs }: LoadResult,
  { serverEnded }: Circumstances,
): string | null {
  if (serverEnded === null) return null;
  return `The server ${serverEnded}, which ended the run after ${time(durationMs)}.`;
}

function checkAborted({ abortedBy, durationMs }: LoadResult): string | null {
  if (abortedBy === undefined) return null;
  return `Ended after ${time(durationMs)} by --abort-on-fail: ${abortedBy} could no longer hold.`;
}

function checkTargetNotReached({ unreachedTargets }: Circumstances): string | null {
  if (unreachedTargets.length === 0) return null;
  const servers = unreachedTargets.map(({ targets, addresses, reason }) => {
    const named = targets.slice(0, MAX_TARGETS_NAMED).join(', ');
    const rest = targets.length - MAX_TARGETS_NAMED;
    return `${named}${rest > 0 ? ` and ${count(rest)} more` : ''} (${reason ?? addresses.join(', ')})`;
  });
  return `These targets could not be reached and were not measured: ${servers.join('; ')}. The figures are those of the other targets.`;
}

const MAX_TARGETS_NAMED = 3;

function checkSeveralPorts({ plan }: LoadResult, { otherPorts }: Circumstances): string | null {
  if (otherPorts.length === 0) return null;
  return `The command also listens on port ${otherPorts.join(', ')}; the load went to ${plan.addresses.join(', ')}. To load another port, give its URL: http://localhost:${otherPorts[0]}/.`;
}

function checkAllFailed(result: LoadResult): string | null {
  const { requests, latencyMs, iterations } = result;
  // The warning of iterations names the step that failed.
  if (requests.ok > 0 || iterations?.completed === 0) return null;
  if (requests.sent === requests.inFlightAtEnd && requests.sent > 0) {
    if (isAnswered(result)) return null;
    return `No response arrived before the end, to ${plural(requests.sent, 'request')} that waited for up to ${time(latencyMs.max)}. Check the server; if it takes longer, run longer (-d).`;
  }
  if (!isAnswered(result)) return 'No request succeeded: no response arrived.';
  if (requests.sent > 0) return 'No request succeeded: the latencies are those of failures.';
  return 'No request was sent: the run was too short, or nothing was due.';
}

/** Names responses that had begun and did not end, where none ended, of all requests or of a name, or a limit cut them off. */
function checkUnfinished(result: LoadResult): string | null {
  const parts = hasAnyResponse(result)
    ? result.byName.filter((one) => !hasAnyResponse(one) || one.unfinished.timedOut > 0)
    : [{ ...result, name: null }];
  const sentences = parts.flatMap((part) => describeUnfinished(part) ?? []);
  if (sentences.length === 0) return null;
  // A call of gRPC always ends.
  if (result.plan.grpc !== undefined) return `${sentences.join('; ')}.`;
  return `${sentences.join('; ')}. A stream of events has none: its head counts as an answer, and a request that is cut off by --timeout as failed.`;
}

function describeUnfinished({
  name,
  unfinished,
}: Pick<LoadResult, 'unfinished'> & { name: string | null }): string | null {
  const number = countUnfinished({ unfinished });
  if (number === 0) return null;
  const of = name === null ? '' : ` to '${name}'`;
  return `${plural(number, 'response')}${of} began and did not end: head after ${time(unfinished.headMs)}, ${bytes(unfinished.bytes / number)} (means), no end`;
}

/** Whether there is a response, or may be one in a longer run; without, most other warnings have no meaning. */
function hasResponse({ ok, statusErrors, sent, inFlightAtEnd }: LoadResult['requests']): boolean {
  return ok + statusErrors > 0 || sent === inFlightAtEnd;
}

const REDIRECTIONS = [300, 301, 302, 303, 307, 308];

/** The share of redirections above which a run has measured redirections, not pages. */
const MAX_REDIRECTED = 0.5;

function checkRedirected(
  { plan, requests, statusCodes, iterations }: LoadResult,
  { redirections }: Circumstances,
): string | null {
  // A scenario follows them, and each is a request of its own.
  if (iterations) return null;
  // A user who lists these statuses in --expect knows of the redirections.
  const unexpected = REDIRECTIONS.filter((it) => isDefaultExpect(plan) || !isExpected(plan, it));
  const countOf = (status: number) => statusCodes[status] ?? 0;
  const number = unexpected.reduce((sum, status) => sum + countOf(status), 0);
  const part = number / Math.max(1, requests.ok + requests.statusErrors);
  if (part <= MAX_REDIRECTED) return null;
  const [mostFrequent = 0] = unexpected.sort((a, b) => countOf(b) - countOf(a));
  const first = redirections.get(mostFrequent);
  const where = first?.location ? ` to ${first.location}` : '';
  const obstacle = first ? ` (of the first: ${first.obstacle})` : '';
  const why =
    plan.follow > 0 ? `, which were not followed${obstacle}` : ', and their pages were not fetched';
  const advice = plan.follow > 0 ? '' : ', follow them (--follow 5)';
  return `${share(part)} of the responses were redirections (${mostFrequent}${where})${why}: the figures are those of the redirections. Load the page itself${advice}, or set the statuses of a success (--expect 2xx).`;
}

function checkRateNotReached(result: LoadResult): string | null {
  const { plan, requests, meanInFlight, durationMs } = result;
  if (result.iterations) return checkIterationRate(result);
  if (plan.model === 'closed') return null;
  const tried = countTried(result);
  // A service that keeps up has as many requests in flight at the end as on average; one that falls behind, twice as many.
  const backlog = Math.max(0, requests.inFlightAtEnd - 1.5 * meanInFlight);
  if (!isBelowRate(plan, durationMs, tried - backlog)) return null;
  const perSecond = (requests: number) => `${rate((requests * 1000) / durationMs)}/s`;
  const planned = perSecond(countPlanned(plan, durationMs));
  const completed = perSecond(requests.ok + requests.statusErrors);
  return `The rate was not reached: planned ${planned}, sent ${perSecond(requests.sent)}, completed ${completed}. Lower it (-R)${usedAllConnections(result) ? ', or allow more connections (-c)' : ''}.`;
}

function checkNotSent({ requests, plan }: LoadResult): string | null {
  const { overflow, queuedAtEnd, connectFailed } = requests.notSent;
  const parts = [
    overflow > 0 &&
      `${count(overflow)} beyond the maximum of ${count(plan.maxPending ?? 0)} pending requests (--max-pending)`,
    queuedAtEnd > 0 && `${count(queuedAtEnd)} still waiting for a connection at the end`,
    connectFailed > 0 && `${count(connectFailed)} without a connection, as it could not be opened`,
  ].filter((part) => part !== false);
  if (parts.length === 0) return null;
  return `${plural(overflow + queuedAtEnd + connectFailed, 'request')} due but not sent: ${parts.join('; ')}. Of these, only the requests that were still waiting are part of the latencies, at their age.`;
}

function checkWaitingForConnections(result: LoadResult): string | null {
  const { plan, requests, latencyMs, serviceTimeMs, generator } = result;
  if (plan.model === 'closed' || generator.clientBound || !hasResponse(requests)) return null;
  // What users of their own connections wait for is that these are opened.
  if (plan.flows?.ownConnections) return null;
  const [latency, service] = [latencyMs.p99 ?? 0, serviceTimeMs.p99 ?? 0];
  if (latency < 2 * service || latency - service < 1) return null;
  const advice = usedAllConnections(result)
    ? `raise -c (now ${count(plan.connections)})`
    : 'open connections before the start: -c N (each was opened when none was free)';
  return `Arrivals waited for a free connection: latency p99 is ${time(latency)}, service time p99 ${time(service)}. Clients that arrive at this rate do wait that long; to measure the server without this wait, ${advice}.`;
}

/** Whether a run opened as many connections as it may. */
function usedAllConnections({ plan, connections }: LoadResult): boolean {
  return connections.opened >= plan.connections;
}

function checkTimeouts({ requests, plan }: LoadResult): string | null {
  if (requests.timeouts === 0) return null;
  return `${plural(requests.timeouts, 'request')} timed out after ${time(plan.timeoutMs)} and count as longer than that; how much longer is not known. Check the server, or raise --timeout.`;
}

const ADVICE: Partial<Record<LoadResult['errors'][number]['kind'], string>> = {
  'connect-refused': 'nothing listens there, or its backlog is full',
  'connect-timeout':
    'the host drops packets, or its backlog is full; the limit is --connect-timeout',
  dns: 'check the name',
  tls: 'check the certificate (--ca, --sni, or -k to accept any)',
  reset: 'the server or a proxy reset the connection',
  'closed-early': 'the server closed before the response was complete',
  protocol: 'the server violates the protocol',
  'stream-reset': 'the server gave up the stream',
  'refused-stream':
    'the server did nothing for it; clients may send it again, millrace does not. A server that ends connections after a number of requests (nginx: keepalive_requests) refuses what is under way',
  'flow-control': 'the server sent more than the window allows',
  'fd-limit': 'raise the limit of open files (ulimit -n) or lower -c',
};

function checkErrors(
  result: LoadResult,
  { files }: Circumstances,
): [id: string, message: string][] {
  return result.errors
    .filter(({ kind }) => kind !== 'timeout')
    .map(({ kind, count: number, example }) => {
      // A message about a certificate contains its own advice.
      const isCertificate = kind === 'tls' && /certificate/.test(example ?? '');
      const advice =
        kind === 'closed-early' || kind === 'reset' ? describeUnanswered(result) : null;
      const needed =
        kind === 'fd-limit' && files
          ? `this run needs ${files.needed}, and ${files.limit} are allowed`
          : null;
      // So does one about another protocol.
      const isAdvice = kind === 'protocol' && /: (?:use|leave out) -/.test(example ?? '');
      const parts = [isCertificate || isAdvice ? null : ADVICE[kind], needed, advice].filter(
        (part) => part,
      );
      const reason = isCertificate ? (adviseOnCertificate(example ?? '') ?? example) : example;
      const text = `${plural(number, 'error')} of kind ${kind}${reason ? ` (${reason})` : ''}`;
      return [`errors-${kind}`, `${text}${parts.length > 0 ? `: ${parts.join('; ')}` : ''}.`];
    });
}

const IDEMPOTENT = new Set(['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS', 'TRACE']);

// RFC 9110, 9.2.2: a client may repeat these requests automatically. Millrace does not.
function describeUnanswered({ plan, requests, connections }: LoadResult): string | null {
  if (requests.transportErrors === 0) return null;
  const methods = new Set(plan.targets.map(({ method }) => method));
  const others = [...methods].filter((method) => !IDEMPOTENT.has(method));
  const onReuse = connections.unansweredOnReuse;
  const reuse =
    onReuse > 0
      ? `${plural(onReuse, 'request')} met the end of a connection that had answered before, as a rule the server's keep-alive limit; `
      : '';
  if (others.length === 0) {
    return `${reuse}requests without a response were not repeated, though all are idempotent`;
  }
  return `${reuse}requests without a response were not repeated: ${others.join(', ')} is not idempotent, the server may have processed them`;
}

function checkStatusErrors({ plan, requests, statusCodes }: LoadResult): string | null {
  // A step has statuses of its own, and reports list what failed in it.
  if (requests.statusErrors === 0 || plan.flows) return null;
  const isOfHttp = (code: string) => plan.grpc !== undefined && Number(code) >= 100;
  const codes = Object.entries(statusCodes)
    .filter(([code]) => !isExpected(plan, Number(code)))
    .sort(([, a], [, b]) => b - a)
    .map(
      ([code, number]) =>
        `${isOfHttp(code) ? 'HTTP ' : ''}${formatStatus(code)} (${count(number)})`,
    );
  const others = Object.keys(statusCodes).some(isOfHttp)
    ? ' Answers with a status of HTTP are not of gRPC: a proxy or another server gave them.'
    : '';
  const responses = requests.ok + requests.statusErrors;
  return `${share(requests.statusErrors / responses)} of the responses had ${isDefaultExpect(plan) ? 'an error status' : 'a status that was not expected'}: ${codes.slice(0, 4).join(', ')}.${others} An error response may take less or more time than a success.`;
}

function checkConnectFailed({ connections, plan }: LoadResult): string | null {
  if (connections.failed === 0) return null;
  return `${plural(connections.failed, 'attempt')} to connect failed: the load may have used fewer than ${count(plan.connections)} connections.`;
}

function checkAddressesLeftOut(circumstances: Circumstances): string | null {
  const { refusedAddresses, unreachedTargets } = circumstances;
  const unreached = new Set(unreachedTargets.flatMap(({ addresses }) => addresses));
  const leftOut = refusedAddresses.filter((address) => !unreached.has(address));
  if (leftOut.length === 0) return null;
  return `These addresses refused connections and were left out: ${leftOut.join(', ')}. To choose the address that is measured, use it in place of the host.`;
}

function checkReopened({ connections, plan, requests }: LoadResult): string | null {
  const closed = connections.closedByServer;
  // Idle ones that were not needed any more have cost nothing.
  if (plan.model === 'open' && connections.opened <= plan.initialConnections) return null;
  if (!hasResponse(requests)) return null;
  if (plan.connection === 'close' || closed === 0) return null;
  return `The server closed ${plural(closed, 'connection')} that should have been kept: the latencies include the time to open others. Check the server's keep-alive settings.`;
}

function checkFullHandshakes({
  plan,
  connections: { tlsFull, tlsResumed },
}: LoadResult): string | null {
  if (plan.handshake !== 'resume' || tlsFull <= plan.connections) return null;
  return `${count(tlsFull)} of ${count(tlsFull + tlsResumed)} handshakes were full: the server sent fewer session tickets than connections were opened. A ticket of TLS 1.3 is used once.`;
}

/** The share of requests without a response above which the estimate of their times matters. */
const MAX_FAILURES = 0.01;

/** Warns of an assumption: a failed request is censored at its end, and the estimate treats it like all others. */
function checkFailuresRelated({ requests }: LoadResult): string | null {
  const failed = (requests.transportErrors + requests.timeouts) / Math.max(requests.sent, 1);
  if (failed <= MAX_FAILURES || requests.ok + requests.statusErrors === 0) return null;
  return `${share(failed)} of the requests have no response: the percentiles assume that failures are unrelated to latency. If slow requests fail more often, the true percentiles are higher.`;
}

function checkCensored(result: LoadResult): string | null {
  const { latencyMs, requests } = result;
  const { count: all, censored, atLeast, max } = latencyMs;
  if (all === 0 || !atLeast.p99 || !hasResponse(requests)) return null;
  const first = (['p50', 'p75', 'p90', 'p95', 'p99'] as const).find((name) => atLeast[name]);
  const parts = describeLongest(result);
  return `${share(censored / all)} of the requests did not finish, so ${first} and above are lower bounds ("at least"): no request was observed for longer than ${time(max)}${parts}. The mean counts longer times as ${time(max)} (a restricted mean). Run longer (-d), with a longer --timeout, or with less load.`;
}

/** Describes the parts of the longest latency, if requests of a schedule were sent late and timed out. */
function describeLongest({ plan, requests, latencyMs }: LoadResult): string {
  const late = (latencyMs.max ?? 0) - plan.timeoutMs;
  const isLate = plan.model === 'open' && requests.timeouts > 0 && late > MIN_LATE * plan.timeoutMs;
  return isLate
    ? `, the timeout of ${time(plan.timeoutMs)} and up to ${time(late)} that requests were sent late`
    : '';
}

/** The share of the timeout above which lateness is reported; a timer is a little late, too. */
const MIN_LATE = 0.05;

/** Stolen cores, and their share of the wanted ones, from which on they affect the figures. */
const MIN_STOLEN_CORES = 0.05;
const MIN_STOLEN_SHARE = 0.05;

function checkCpuStolen({ machine }: LoadResult): string | null {
  if (!machine || machine.stolenCores < MIN_STOLEN_CORES) return null;
  const { wantedCores, stolenCores } = machine;
  if (stolenCores < MIN_STOLEN_SHARE * wantedCores) return null;
  return `The machine's host took ${share(stolenCores / wantedCores)} of the CPU time that this machine wanted, ${stolenCores.toFixed(2)} cores (steal), and slowed its processes down. Measure on cores that are not shared, or repeat the run when the host is idle.`;
}

function checkSharedCores({ server, generator }: LoadResult): string | null {
  if (!server) return null;
  // All cores of the machine, not only those that this process may use. Starved time is not CPU time.
  const cores = cpus().length;
  const coresUsed = generator.workers.map(({ busy, starved }) =>
    Math.max(0, busy - (starved ?? 0)),
  );
  const used = coresUsed.reduce((sum, cores) => sum + cores, server.cpuMean);
  if (used < 0.9 * cores) return null;
  return `Server and generator share ${plural(cores, 'core')} and used ${share(used / cores)} of them: each slows the other down. Run one of them on another machine, or on separate cores (taskset).`;
}

function checkShortRun({ durationMs, requests }: LoadResult): string | null {
  if (!hasResponse(requests)) return null;
  const completed = requests.ok + requests.statusErrors;
  if (durationMs < 1000) {
    return `The measurement lasted ${time(durationMs)}: a throughput needs at least one second. Run longer (-d).`;
  }
  if (completed >= 100 || completed === 0) return null;
  return `Only ${plural(completed, 'response')}: p99 needs at least 100. Run longer (-d).`;
}

function checkCertificateNotVerified({ plan }: LoadResult): string | null {
  return plan.verifyCertificate === false ? 'The certificate was not verified (--insecure).' : null;
}
