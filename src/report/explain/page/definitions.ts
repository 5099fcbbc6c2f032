import type { Definition } from '../../html/definitions.js';
import { STATUS } from '../status.js';

/** Definitions for the page of an explanation. */
export const EXPLANATION_DEFINITIONS: readonly Definition[] = [
  ...Object.values(STATUS).map(({ word, meaning }): Definition => [word, meaning]),
  [
    'throughput',
    'responses with any status per second, with the requested load; latency counts from the moment a request was due',
  ],
  ['in flight', 'requests sent or due, but not answered yet: connections times pipelining'],
  [
    "Little's law",
    'requests in flight = throughput × response time; it applies to each stage as well',
  ],
  ['unexplained', 'requests in flight that no measurement assigns to a stage'],
  [
    'experiment',
    'one thing is changed and everything else stays the same; blocks of load with and without the change alternate, and a pair of blocks is one sample',
  ],
  ['95 % interval', 'of the ratio, from the pairs of blocks'],
  [
    'predicted',
    'the ratio that follows from the formula of a limit, computed before the experiment',
  ],
  ['ruled out by this', 'the prediction lies outside the measured interval, extended by the noise'],
  ['noise', 'the smallest difference that this run can detect'],
  [
    "the loop's bound",
    "1 / CPU time of the event loops' threads per response, times the loops that work",
  ],
  [
    'knee',
    'where both bounds meet: with fewer requests in flight the server is partly idle, more than that only adds latency',
  ],
  [
    'source',
    'load: the generator; probe: the code inside the server; proc: the operating system, about processes and the machine; sockets: its table of sockets; profile: a CPU profile; http: a response',
  ],
];
