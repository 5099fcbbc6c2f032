import type { Definition } from '../../html/definitions.js';
import { STATUS } from '../status.js';

/** What the words of an explanation mean, in a line each. */
export const EXPLANATION_DEFINITIONS: readonly Definition[] = [
  ...Object.values(STATUS).map(({ word, meaning }): Definition => [word, meaning]),
  [
    'throughput',
    'responses with any status per second, at the setting that was asked for; latency counts from the moment a request was due',
  ],
  ['in flight', 'requests sent or due and not answered yet: connections times pipelining'],
  [
    "Little's law",
    'requests in flight = throughput × response time; it holds for each stage as well',
  ],
  ['unexplained', 'requests in flight that no signal places'],
  [
    'experiment',
    'one thing is changed, all else stays; blocks of load with and without it alternate, and a pair of them is one sample',
  ],
  ['95 % interval', 'of the ratio, from the pairs of blocks'],
  [
    'predicted',
    'the ratio that a limit would give by its formula, known before the experiment was made',
  ],
  ['ruled out by this', 'the prediction lies outside the measured interval, widened by the noise'],
  ['noise', 'the smallest difference that this run tells from none'],
  ['alone', 'with a single request in flight'],
  [
    "the loop's bound",
    "1 / CPU time of the event loops' threads per response, times the loops that work",
  ],
  [
    'knee',
    'where both bounds meet: with fewer in flight the server has time left, with more they only wait',
  ],
  [
    'seen by',
    'load: the generator; probe: the code inside the server; proc: the operating system, about processes and the machine; sockets: its table of sockets; profile: a CPU profile; http: a response',
  ],
];
