import type { Definition } from '../../html/definitions.js';

const INTERVAL: Definition = [
  '95 % interval',
  'from the scatter of the blocks; the block is what is repeated, never the request',
];

const CLIENT_BOUND: Definition = [
  'CLIENT-BOUND',
  'the load generator was the limit: its numbers say nothing about the server',
];

/** What the words of a page about throughput over connections mean. */
export const SWEEP_DEFINITIONS: readonly Definition[] = [
  ['level', 'all blocks of load with the same number of connections, each flat out'],
  ['throughput', 'responses with any status per second: the geometric mean of the blocks'],
  [
    'curve',
    'the simplest one that the levels support, of a delay and one server, its two bounds, and a share of the work one at a time (Amdahl; with a fall, the Universal Scalability Law)',
  ],
  ['at most', 'the plateau of the curve, or its peak; told where the levels reach it'],
  [
    'knee',
    'where both bounds meet: in flight = throughput at most × time alone. With more connections requests only wait',
  ],
  ['alone', 'mean response time with a single request in flight, by the curve'],
  ['latency', 'from the moment a request was due; a percentile is told with ten samples beyond it'],
  INTERVAL,
  CLIENT_BOUND,
];

/** What the words of a page about an objective mean. */
export const OBJECTIVE_DEFINITIONS: readonly Definition[] = [
  ['rate', 'requests that become due per second, whatever the server does'],
  [
    'held',
    'all conditions held in the block, less than 1 % of its requests failed unless a condition says how many may, and the rate was reached',
  ],
  [
    'holds up to',
    "the rate at which half of the blocks hold. The interval encloses it with 95 %, from all trials by Bayes' rule",
  ],
  ['plan with', "the interval's lower end, tried again in a longer block if there was time"],
  [
    'latency',
    'from the moment a request was due, so that what waited for a connection counts; a percentile is told with ten samples beyond it',
  ],
  ['alone', 'one request after the other on one connection: the best that the server can do'],
  INTERVAL,
  CLIENT_BOUND,
];
