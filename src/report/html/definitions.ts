import type { LoadResult } from '../../load/result.js';
import { html, type Markup } from './markup.js';

/** The meaning of a printed word or number, in a line. */
export type Definition = readonly [term: string, meaning: string];

/** The meaning of each number of a load report. */
export const LOAD_DEFINITIONS: readonly Definition[] = [
  [
    'throughput',
    'responses with any status per second of the measurement; ± is the standard deviation over whole seconds',
  ],
  [
    'latency',
    'from the moment a request was due until the last byte of its response; in a closed run it is due when its slot is free',
  ],
  ['service time', 'from the first byte of the request sent until the last byte of its response'],
  [
    'p99',
    'the time within which 99 % of the requests complete, estimated from all finished requests and the ages of unfinished ones (Kaplan-Meier); three significant digits',
  ],
  [
    'censored',
    'requests that timed out, failed, were in flight at the end or, for latency, still waited for a connection: only their age is known, and the statistics are estimated from finished and unfinished requests',
  ],
  [
    'at least, ≥',
    'a lower bound: unfinished requests were older than all finished ones; mean and stdev count times beyond max as max (restricted mean)',
  ],
  ['~', 'imprecise: fewer than ten samples lie above'],
  [
    'ok',
    'responses with a status from 100 to 399, of gRPC with the status OK, unless others are expected',
  ],
  [
    'transport errors',
    'requests without a complete, valid response: reset, closed early, malformed',
  ],
  ['timeouts', 'requests without a complete response within the time limit'],
  [
    'not sent',
    'requests that were due but never sent; not included in sent. Those still waiting at the end are part of the latency, as censored',
  ],
  ['connect, TLS', 'duration of the TCP connect and of the TLS handshake, for each connection'],
  ['busy', 'share of the measurement in which the busiest thread of the generator was not waiting'],
  [
    'starved',
    'share of the measurement in which a thread of the generator was ready to run without getting a core',
  ],
  [
    'lateness',
    "from the moment a request was due until the generator tried to send it: the generator's own delay, included in latency",
  ],
  [
    "Little's law residual",
    '|N − X·R| / N with N requests in flight, X throughput and R mean time: the relative inconsistency of the numbers',
  ],
  [
    'server CPU',
    'cores busy, read from the operating system every 100 ms for the process and its descendants',
  ],
  ['server memory', 'resident set size of the same processes'],
];

/** The meaning of each number of iterations. */
const ITERATION_DEFINITIONS: readonly Definition[] = [
  [
    'iteration',
    'one passage of a user through the steps of a scenario, with cookies and variables of its own',
  ],
  [
    'duration of an iteration',
    'from when it was due until its last step has ended, pauses included; failed ones and those in progress at the end are censored at their age',
  ],
  ['active', 'the duration without pauses and hooks'],
  ['completed', 'iterations whose steps are all done, and none failed'],
  ['not started', 'iterations that were due while no user was free; not included in started'],
  [
    'latency of a step',
    'from when its request was due, which is the end of the step or pause before it, until the last byte of its response',
  ],
  ['share of the time', 'of the sum of the service times of all requests'],
  [
    'failed, of a step',
    'an error status, no response, a failed check, or a value that was not found',
  ],
];

/** Lists the meanings of the numbers of a load. */
export function listLoadDefinitions({
  iterations = null,
}: Pick<LoadResult, 'iterations'>): readonly Definition[] {
  return iterations === null ? LOAD_DEFINITIONS : [...ITERATION_DEFINITIONS, ...LOAD_DEFINITIONS];
}

/** Renders definitions as a list. */
export function renderDefinitions(definitions: readonly Definition[]): Markup {
  return html`<dl class="definitions">
${definitions.map(([term, meaning]) => html`<div><dt>${term}</dt><dd>${meaning}</dd></div>\n`)}</dl>`;
}
