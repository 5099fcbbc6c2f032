import { html, type Markup } from './markup.js';

/** What a printed word or number means, in a line. */
export type Definition = readonly [term: string, meaning: string];

/** What each number of a load report means. */
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
    'an estimate of what 99 % of the requests take at most (Kaplan-Meier, from all that ended and the ages of those that did not); three significant digits',
  ],
  [
    'censored',
    'requests that timed out, failed, were in flight at the end, or (latency only) still waited for a connection then: of these only the age is known, and the figures are estimated from both',
  ],
  [
    'at least, ≥',
    'requests that did not finish were older than all that did: what lies above is not known; mean and stdev count what is longer than max as max (restricted mean)',
  ],
  ['~', 'fewer than ten samples lie above: chance decides'],
  ['ok', 'responses with a status from 100 to 399'],
  [
    'transport errors',
    'requests that were sent and never answered in full: reset, closed early, not understood',
  ],
  ['timeouts', 'requests without a whole response within the time limit'],
  [
    'not sent',
    'requests that were due and never left: not part of sent; those that still waited at the end are in the latency, as censored',
  ],
  [
    'connect, TLS',
    'from the start of the connect to the connection, and of the handshake to its end, for each connection',
  ],
  ['busy', 'share of the measurement in which the busiest thread of the generator was not waiting'],
  ['starved', 'share in which a thread of the generator was ready to run and was not given a core'],
  [
    'lateness',
    'from the moment a request was due until the generator tried to send it: its own fault, contained in latency',
  ],
  [
    "Little's law residual",
    '|N − X·R| / N with N requests in flight, X throughput and R mean time: how far the numbers disagree with each other',
  ],
  [
    'server CPU',
    'cores busy, read from the operating system every 100 ms for the process and its descendants',
  ],
  ['server memory', 'resident set size of the same processes'],
];

export function renderDefinitions(definitions: readonly Definition[]): Markup {
  return html`<dl class="definitions">
${definitions.map(([term, meaning]) => html`<div><dt>${term}</dt><dd>${meaning}</dd></div>\n`)}</dl>`;
}
