import { cpus } from 'node:os';
import { count, plural, rate, share, time } from '../../format/units.js';
import type { UnreachedTargets } from '../engine/unreached-targets.js';
import { isDefaultExpect, isExpected } from '../plan/expect.js';
import { countArrivals } from '../plan/schedule.js';
import type { LoadResult, Warning } from '../result.js';
import { adviseOnCertificate } from './certificate-advice.js';
import { adviseOnClientBound, clientBound as clientBoundWords } from './client-bound-words.js';
import type { Redirection } from './redirections.js';

/** What the result does not hold. */
export interface Circumstances {
  /** Addresses of a name with several that refused and were left out. */
  refusedAddresses: string[];
  /** How the command's server ended, if that ended the run. */
  serverEnded: string | null;
  /** Ports of the command's server that were not loaded. */
  otherPorts: number[];
  /** Targets of servers that were not reached, while others were. */
  unreachedTargets: UnreachedTargets[];
  /** The first redirection of each status. */
  redirections: Map<number, Redirection>;
}

/** Everything that makes a measurement doubtful, each with advice; what matters most comes first. */
export function findWarnings(result: LoadResult, circumstances: Circumstances): Warning[] {
  const checks: [id: string, message: string | null][] = [
    ['client-bound', clientBound(result)],
    ['server-ended', serverEnded(result, circumstances)],
    ['aborted', aborted(result)],
    ['target-not-reached', targetNotReached(circumstances)],
    ['several-ports', severalPorts(result, circumstances)],
    ['all-failed', allFailed(result)],
    ['redirected', redirected(result, circumstances)],
    ['rate-not-reached', rateNotReached(result)],
    ['not-sent', notSent(result)],
    ['waiting-for-connections', waitingForConnections(result)],
    ['timeouts', timeouts(result)],
    ...errors(result),
    ['status-errors', statusErrors(result)],
    ['connect-failed', connectFailed(result)],
    ['addresses-left-out', addressesLeftOut(circumstances)],
    ['reopened', reopened(result)],
    ['full-handshakes', fullHandshakes(result)],
    ['failures-related', failuresRelated(result)],
    ['censored', censored(result)],
    ['cpu-stolen', cpuStolen(result)],
    ['shared-cores', sharedCores(result)],
    ['short-run', shortRun(result)],
    ['certificate-not-verified', certificateNotVerified(result)],
  ];
  return checks.flatMap(([id, message]) => (message === null ? [] : [{ id, message }]));
}

function clientBound({ generator }: LoadResult): string | null {
  if (!generator.clientBound) return null;
  const { title, meaning } = clientBoundWords;
  const advice = adviseOnClientBound(generator);
  return `${title}: ${generator.reasons.join('; ')}. ${meaning} ${advice}`;
}

function serverEnded({ durationMs }: LoadResult, { serverEnded }: Circumstances): string | null {
  if (serverEnded === null) return null;
  return `The server ${serverEnded}, which ended the run after ${time(durationMs)}.`;
}

function aborted({ abortedBy, durationMs }: LoadResult): string | null {
  if (abortedBy === undefined) return null;
  return `Ended after ${time(durationMs)} by --abort-on-fail: ${abortedBy} could not hold any more.`;
}

function targetNotReached({ unreachedTargets }: Circumstances): string | null {
  if (unreachedTargets.length === 0) return null;
  const servers = unreachedTargets.map(({ targets, addresses, reason }) => {
    const shown = targets.slice(0, MAX_TARGETS_SHOWN).join(', ');
    const rest = targets.length - MAX_TARGETS_SHOWN;
    return `${shown}${rest > 0 ? ` and ${count(rest)} more` : ''} (${reason ?? addresses.join(', ')})`;
  });
  return `Targets not reached, and not measured: ${servers.join('; ')}. The figures are those of the other targets.`;
}

const MAX_TARGETS_SHOWN = 3;

function severalPorts({ plan }: LoadResult, { otherPorts }: Circumstances): string | null {
  if (otherPorts.length === 0) return null;
  return `The command listens on port ${otherPorts.join(', ')} too: what was loaded is ${plan.addresses.join(', ')}. To load another port give its URL: http://localhost:${otherPorts[0]}/.`;
}

function allFailed({ requests }: LoadResult): string | null {
  if (requests.ok > 0) return null;
  if (requests.sent === requests.inFlightAtEnd && requests.sent > 0) {
    return 'No response came before the end: run longer (-d).';
  }
  if (!hasResponse(requests)) return 'No request succeeded: no response came.';
  if (requests.sent > 0) return 'No request succeeded: the latencies are those of failures.';
  return 'No request was sent: the run was too short, or nothing was due.';
}

/** Without a response there is nothing that a longer run or another setting of the server would tell better. */
function hasResponse({ ok, statusErrors, sent, inFlightAtEnd }: LoadResult['requests']): boolean {
  return ok + statusErrors > 0 || sent === inFlightAtEnd;
}

const REDIRECTIONS = [300, 301, 302, 303, 307, 308];

/** The share of the responses from which on a run has measured the way to the pages, not the pages. */
const REDIRECTED = 0.5;

function redirected(
  { plan, requests, statusCodes }: LoadResult,
  { redirections }: Circumstances,
): string | null {
  // Who has asked for them by name knows of them.
  const unasked = REDIRECTIONS.filter((it) => isDefaultExpect(plan) || !isExpected(plan, it));
  const countOf = (status: number) => statusCodes[status] ?? 0;
  const number = unasked.reduce((sum, status) => sum + countOf(status), 0);
  const part = number / Math.max(1, requests.ok + requests.statusErrors);
  if (part <= REDIRECTED) return null;
  const [most = 0] = unasked.sort((a, b) => countOf(b) - countOf(a));
  const first = redirections.get(most);
  const where = first?.location ? ` to ${first.location}` : '';
  const obstacle = first ? ` (of the first: ${first.obstacle})` : '';
  const why =
    plan.follow > 0 ? `, which were not followed${obstacle}` : ', and their pages were not fetched';
  const advice = plan.follow > 0 ? '' : ', follow them (--follow 5)';
  return `${share(part)} of the responses were redirections (${most}${where})${why}: what was measured is the redirect. Load the page itself${advice}, or say what counts as a success (--expect 2xx).`;
}

/** The share of the asked rate below which it counts as not reached. */
const RATE_REACHED = 0.95;

function rateNotReached({ plan, requests, meanInFlight, durationMs }: LoadResult): string | null {
  if (plan.model === 'closed') return null;
  const due = Math.min(countArrivals(plan, durationMs), plan.requests ?? Number.POSITIVE_INFINITY);
  const completed = requests.ok + requests.statusErrors;
  const sentTooFew = requests.sent < minExpected(due, plan.arrivals);
  // A service that keeps up has as many under way at the end as on average; one that does not, twice as many.
  const backlog = Math.max(0, requests.inFlightAtEnd - 1.5 * meanInFlight);
  const fellBehind = requests.sent - backlog < minExpected(due, plan.arrivals);
  if (!sentTooFew && !fellBehind) return null;
  const perSecond = (requests: number) => `${rate((requests * 1000) / durationMs)}/s`;
  return `The rate was not reached: asked ${perSecond(due)}, sent ${perSecond(requests.sent)}, completed ${perSecond(completed)}. Lower it (-R), or allow more connections (-c).`;
}

// An arrival at the very end may fall on either side; Poisson arrivals deviate by their root.
function minExpected(due: number, arrivals: LoadResult['plan']['arrivals']): number {
  const chance = arrivals === 'poisson' ? 3 * Math.sqrt(due) : 0;
  return RATE_REACHED * due - chance - 1;
}

function notSent({ requests, plan }: LoadResult): string | null {
  const { overflow, queuedAtEnd, connectFailed } = requests.notSent;
  const parts = [
    overflow > 0 &&
      `${count(overflow)} were over the bound of ${count(plan.maxPending ?? 0)} pending (--max-pending)`,
    queuedAtEnd > 0 && `${count(queuedAtEnd)} were still waiting for a connection at the end`,
    connectFailed > 0 && `${count(connectFailed)} had no connection because it could not be opened`,
  ].filter((part) => part !== false);
  if (parts.length === 0) return null;
  return `${plural(overflow + queuedAtEnd + connectFailed, 'request')} due but not sent: ${parts.join('; ')}. Of these only the ones still waiting are in the latencies, at their age.`;
}

function waitingForConnections(result: LoadResult): string | null {
  const { plan, requests, latencyMs, serviceTimeMs, generator } = result;
  if (plan.model === 'closed' || generator.clientBound || !hasResponse(requests)) return null;
  const [latency, service] = [latencyMs.p99 ?? 0, serviceTimeMs.p99 ?? 0];
  if (latency < 2 * service || latency - service < 1) return null;
  return `Arrivals waited for a free connection: latency p99 is ${time(latency)}, service time p99 ${time(service)}. That wait is real for clients who come at this rate; to see the server without it, raise -c (now ${count(plan.connections)}).`;
}

function timeouts({ requests, plan }: LoadResult): string | null {
  if (requests.timeouts === 0) return null;
  return `${plural(requests.timeouts, 'request')} timed out after ${time(plan.timeoutMs)} and count as longer than that, by how much is not known. See the server, or raise --timeout.`;
}

const ADVICE: Partial<Record<LoadResult['errors'][number]['kind'], string>> = {
  'connect-refused': 'nothing listens there, or its backlog is full',
  'connect-timeout': 'the host drops packets, or its backlog is full; see --connect-timeout',
  dns: 'see the name',
  tls: 'see the certificate (--ca, --sni, or -k to accept any)',
  reset: 'the server or a proxy gave the connection up',
  'closed-early': 'the server closed before the response was complete',
  protocol: 'the response breaks HTTP/1.1',
  'fd-limit': 'raise the limit of open files (ulimit -n) or lower -c',
};

function errors(result: LoadResult): [id: string, message: string][] {
  return result.errors
    .filter(({ kind }) => kind !== 'timeout')
    .map(({ kind, count: number, example }) => {
      // A message about certificates says itself what to do.
      const isCertificate = kind === 'tls' && /certificate/.test(example ?? '');
      const advice = kind === 'closed-early' || kind === 'reset' ? unanswered(result) : null;
      const parts = [isCertificate ? null : ADVICE[kind], advice].filter((part) => part);
      const reason = isCertificate ? (adviseOnCertificate(example ?? '') ?? example) : example;
      const text = `${plural(number, 'error')} of kind ${kind}${reason ? ` (${reason})` : ''}`;
      return [`errors-${kind}`, `${text}${parts.length > 0 ? `: ${parts.join('; ')}` : ''}.`];
    });
}

const IDEMPOTENT = new Set(['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS', 'TRACE']);

// RFC 9110, 9.2.2: what a client may send again by itself. Millrace never does.
function unanswered({ plan, requests }: LoadResult): string | null {
  if (requests.transportErrors === 0) return null;
  const methods = new Set(plan.targets.map(({ method }) => method));
  const others = [...methods].filter((method) => !IDEMPOTENT.has(method));
  if (others.length === 0) {
    return 'requests left without an answer were not sent again, though all are idempotent';
  }
  return `requests left without an answer were not sent again: ${others.join(', ')} is not idempotent, the server may have acted on them`;
}

function statusErrors({ plan, requests, statusCodes }: LoadResult): string | null {
  if (requests.statusErrors === 0) return null;
  const codes = Object.entries(statusCodes)
    .filter(([code]) => !isExpected(plan, Number(code)))
    .sort(([, a], [, b]) => b - a)
    .map(([code, number]) => `${code} (${count(number)})`);
  const answered = requests.ok + requests.statusErrors;
  return `${share(requests.statusErrors / answered)} of the responses had ${isDefaultExpect(plan) ? 'an error status' : 'another status than expected'}: ${codes.slice(0, 4).join(', ')}. An error may be faster or slower than the work it replaces.`;
}

function connectFailed({ connections, plan }: LoadResult): string | null {
  if (connections.failed === 0) return null;
  return `${plural(connections.failed, 'attempt')} to connect failed: fewer than the ${count(plan.connections)} connections asked for may have carried the load.`;
}

function addressesLeftOut(circumstances: Circumstances): string | null {
  const { refusedAddresses, unreachedTargets } = circumstances;
  const unreached = new Set(unreachedTargets.flatMap(({ addresses }) => addresses));
  const leftOut = refusedAddresses.filter((address) => !unreached.has(address));
  if (leftOut.length === 0) return null;
  return `Left out, because nothing could be connected there: ${leftOut.join(', ')}. Name an address instead of the host to be sure which is measured.`;
}

function reopened({ connections, plan, requests }: LoadResult): string | null {
  const closed = connections.closedByServer;
  if (!hasResponse(requests)) return null;
  if (plan.connection === 'close' || closed === 0) return null;
  return `The server closed ${plural(closed, 'connection')} that ${closed === 1 ? 'was' : 'were'} to be kept: opening others is part of the latencies. See its keep-alive settings.`;
}

function fullHandshakes({ plan, connections: { tlsFull, tlsResumed } }: LoadResult): string | null {
  if (plan.tls !== 'resume' || tlsFull <= plan.connections) return null;
  return `${count(tlsFull)} of ${count(tlsFull + tlsResumed)} handshakes were full ones: the server gave fewer session tickets than connections were opened. A ticket of TLS 1.3 is used once.`;
}

/** The share of requests without a response from which on it matters what becomes of their times. */
const FAILURES = 0.01;

/** A failed request is known to have lasted to its end, and no longer: the estimate takes it for one like the others. */
function failuresRelated({ requests }: LoadResult): string | null {
  const failed = (requests.transportErrors + requests.timeouts) / Math.max(requests.sent, 1);
  if (failed <= FAILURES || requests.ok + requests.statusErrors === 0) return null;
  return `${share(failed)} of the requests have no response: the percentiles assume that failures are unrelated to latency. Where the slow ones fail, the truth is higher.`;
}

function censored(result: LoadResult): string | null {
  const { latencyMs, requests } = result;
  const { count: all, censored, atLeast, max } = latencyMs;
  if (all === 0 || !atLeast.p99 || !hasResponse(requests)) return null;
  const first = (['p50', 'p75', 'p90', 'p95', 'p99'] as const).find((name) => atLeast[name]);
  const made = describeLongest(result);
  return `${share(censored / all)} of the requests did not finish, so ${first} and above are lower bounds ("at least"): none was watched for more than ${time(max)}${made}. The mean counts what is longer as ${time(max)} (a restricted mean). Run longer (-d), with a longer --timeout, or with less load.`;
}

/** What the longest latency is made of, where requests of a schedule timed out that had been sent late. */
function describeLongest({ plan, requests, latencyMs }: LoadResult): string {
  const late = (latencyMs.max ?? 0) - plan.timeoutMs;
  const isLate = plan.model === 'open' && requests.timeouts > 0 && late > MIN_LATE * plan.timeoutMs;
  return isLate
    ? `, the timeout of ${time(plan.timeoutMs)} and up to ${time(late)} that requests were sent late`
    : '';
}

/** The part of the timeout from which on lateness is told: a timer fires a little late, too. */
const MIN_LATE = 0.05;

/** Cores that the machine's host takes, and their part of what is wanted, from which on the numbers tell of the host, too. */
const STOLEN_CORES = 0.05;
const STOLEN_SHARE = 0.05;

function cpuStolen({ machine }: LoadResult): string | null {
  if (!machine || machine.stolenCores < STOLEN_CORES) return null;
  const { wantedCores, stolenCores } = machine;
  if (stolenCores < STOLEN_SHARE * wantedCores) return null;
  return `The machine's host took ${share(stolenCores / wantedCores)} of the CPU time that was wanted here, ${stolenCores.toFixed(2)} cores (steal): what ran here was slower by that. Measure where the cores are not shared, or again when the host is quiet.`;
}

function sharedCores({ server, generator }: LoadResult): string | null {
  if (!server) return null;
  // Those of the machine, whatever this process is bound to; time without a core is not use of one.
  const cores = cpus().length;
  const ran = generator.workers.map(({ busy, starved }) => Math.max(0, busy - (starved ?? 0)));
  const used = ran.reduce((sum, share) => sum + share, server.cpuMean);
  if (used < 0.9 * cores) return null;
  return `Server and generator share ${plural(cores, 'core')} and used ${share(used / cores)} of them: each slows the other down. Use another machine for one of them, or separate cores (taskset).`;
}

function shortRun({ durationMs, requests }: LoadResult): string | null {
  if (!hasResponse(requests)) return null;
  const completed = requests.ok + requests.statusErrors;
  if (durationMs < 1000) {
    return `The measurement lasted ${time(durationMs)}: a throughput needs at least one second. Run longer (-d).`;
  }
  if (completed >= 100 || completed === 0) return null;
  return `Only ${plural(completed, 'response')}: p99 needs at least 100. Run longer (-d).`;
}

function certificateNotVerified({ plan }: LoadResult): string | null {
  return plan.verifyCertificate === false ? 'The certificate was not verified (--insecure).' : null;
}
