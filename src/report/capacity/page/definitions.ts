import type { Definition } from '../../html/definitions.js';

const INTERVAL: Definition = [
  '95 % interval',
  'from the scatter of the blocks, which are the independent samples; requests are not',
];

const CLIENT_BOUND: Definition = [
  'CLIENT-BOUND',
  'the load generator was the limit: the numbers do not describe the server',
];

/** Definitions for a page about throughput over connections. */
export const SWEEP_DEFINITIONS: readonly Definition[] = [
  ['level', 'all blocks of load with the same number of connections, each as fast as possible'],
  ['throughput', 'responses with any status per second: the geometric mean of the blocks'],
  [
    'curve',
    'the simplest model that fits the levels: a delay and one server, its two bounds alone, or a serial share of the work (Amdahl; with falling throughput, the Universal Scalability Law)',
  ],
  ['at most', 'the plateau of the curve or its peak; reported if the levels reach it'],
  [
    'knee',
    'where both bounds meet: in flight = maximum throughput × response time of a single request. More than that only adds latency',
  ],
  ['single request', 'mean response time with one request in flight, by the curve'],
  [
    'latency',
    'from the moment a request was due; a percentile is reported if ten samples lie beyond it',
  ],
  INTERVAL,
  CLIENT_BOUND,
];

/** Definitions for a page about an objective. */
export const OBJECTIVE_DEFINITIONS: readonly Definition[] = [
  ['rate', 'requests that become due per second, independent of the server'],
  [
    'held',
    'all conditions held in the block, less than 1 % of its requests failed unless a condition limits errors, and the rate was reached',
  ],
  [
    'holds up to',
    "the rate at which half of the blocks hold; its 95 % interval comes from all trials by Bayes' rule",
  ],
  ['plan with', 'the lower end of the interval, confirmed by a longer block if there was time'],
  [
    'latency',
    'from the moment a request was due, including the wait for a connection; a percentile is reported if ten samples lie beyond it',
  ],
  [
    'single request',
    'one request after the other on one connection: the minimum that the server can reach',
  ],
  INTERVAL,
  CLIENT_BOUND,
];
