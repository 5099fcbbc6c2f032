import { count, rate, share } from '../../../format/units.js';
import { formatStatus, isErrorStatus } from '../../../load/grpc-statuses.js';
import {
  estimateRefusedConnections,
  MIN_FAILURE_SHARE,
} from '../../hypotheses/connections/failures.js';
import type { Detected } from '../../hypotheses/hypothesis.js';
import type { Metrics } from '../../metrics/types.js';
import type { Limit } from '../limit.js';

export const ERRORS = {
  id: 'errors',
  group: 'load',
  text: {
    title: 'Errors instead of responses',
    what: 'Requests fail or are refused. A fast refusal counts as a response and makes throughput look better than it is.',
    shows:
      'Responses with status 4xx or 5xx, resets or timeouts are more than 1 % of the requests. If most are 429, a rate limiter is the cause.',
    experiment:
      "None of its own: 'connections x2' runs for other limits, and changes nothing behind a rate limiter.",
    formula: 'goodput = responses with a status below 400 / time',
    remedy: 'Fix the errors first, or raise the rate limit, and measure again.',
    confirm:
      'fix what the errors say, or raise the rate limit: the share of errors falls to nothing, and successful responses per second rise',
    detected: 'by its signature',
  },
  detectors: [detectErrors],
  isSevere: true,
  mattersAtSustainedRate: true,
} satisfies Limit;

function detectErrors(metrics: Metrics): Detected {
  const limit = 'errors';
  const { base, errorShare, goodput, throughput, maxConcurrency, inFlight } = metrics;
  const { requests, statusCodes, errors } = base.load;
  const refused = estimateRefusedConnections(metrics);
  if (errorShare < MIN_FAILURE_SHARE && refused === 0) {
    return { limit, why: `${share(errorShare)} of the requests failed` };
  }
  const codes = Object.entries(statusCodes)
    .filter(([code]) => isErrorStatus(Number(code)))
    .sort(([, a], [, b]) => b - a);
  const kinds = [
    ...codes.map(([code, number]) => `status ${formatStatus(code)} (${count(number)})`),
    ...errors.map(({ kind, count: number }) => `${kind} (${count(number)})`),
  ];
  const isMostly = (...codes: string[]) =>
    codes.reduce((sum, code) => sum + (statusCodes[code] ?? 0), 0) > requests.statusErrors / 2;
  const isRateLimited = isMostly('429');
  return {
    limit,
    weight: refused > 0 ? 0.95 : Math.min(1, 0.4 + errorShare * 3),
    sentence: isRateLimited
      ? `a rate limiter: ${share(errorShare)} of the requests are answered with 429; ${rate(goodput)} requests per second succeed.`
      : `errors: ${share(errorShare)} of the requests fail, ${kinds.slice(0, 3).join(', ')}; only ${rate(goodput)} requests per second succeed${refused > 0 ? `, and ${count(refused)} of ${count(base.load.plan.connections)} connections are not open` : ''}.`,
    arithmetic: [
      `${rate(throughput)} responses per second, of which ${rate(goodput)} are successful (goodput)`,
      ...(refused > 0
        ? [
            `${count(inFlight)} of ${count(maxConcurrency)} requests are in flight: the others have no connection`,
          ]
        : []),
    ],
    evidence: [{ what: 'requests that failed', value: errorShare, unit: '1', source: 'load' }],
    predictions: {},
    remedy: {
      change: isRateLimited
        ? 'raise the limit, or load the server below it: fast refusals are not throughput'
        : isMostly('401', '403')
          ? "send the credentials that the server requires, such as -H 'Authorization: ...' or -H 'Cookie: ...'"
          : refused > 0
            ? `allow the server more connections than ${count(base.load.plan.connections - refused)}: server.maxConnections, or the limit of a proxy before it`
            : 'fix the errors first: an error takes more or less time than the work that it replaces',
      predictedThroughput: null,
      nextLimit: null,
    },
  };
}
