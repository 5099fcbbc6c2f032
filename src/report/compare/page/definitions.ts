import type { Definition } from '../../html/definitions.js';

/** Definitions for the page of a comparison. */
export const COMPARISON_DEFINITIONS: readonly Definition[] = [
  ['A, B', 'the two sides; every ratio is B / A'],
  ['figures of A and B', 'medians of the runs'],
  [
    'interval',
    'of the ratio, from the scatter of the runs. That of the verdict has its confidence by itself; those of the other rows are wider, so that all of them together have it (Holm)',
  ],
  ['better, worse', 'the whole interval is beyond the margin'],
  ['no difference', 'the whole interval is within the margin, the shaded band'],
  ['cannot tell', 'the interval reaches into and out of the margin, or there is none'],
  [
    'requests/s',
    'responses with any status per second. It decides which side is faster, unless a rate was given: then p99 does',
  ],
  [
    'p50, p99',
    'latency within which half, or 99 %, of the requests complete, from the moment a request was due',
  ],
  ['CPU per request', "CPU time of the server's processes per response"],
  ['memory', "maximum resident set size of the server's processes"],
  [
    'CLIENT-BOUND',
    'the load generator was the limit of a run: what it measured is not a property of the server',
  ],
];
