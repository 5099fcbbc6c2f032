import { CAPACITY_DEFAULTS, MIN_BUDGET_MS } from '../../capacity/defaults.js';
import type { CapacityOptions } from '../../index.js';
import { parseCondition } from '../../load/plan/condition.js';
import type { CommandFlags } from './command-flags.js';
import type { Flag } from './flag.js';
import { storeIn } from './kinds.js';
import { HOSTS_UNSUPPORTED } from './load/hosts-flags.js';
import { type Invocation, newInvocation } from './load/invocation.js';
import { shareLoadFlags } from './load/shared-flags.js';
import type { UnsupportedFlags } from './parse.js';

/** A parsed command line of `millrace capacity`. */
export interface CapacityInvocation extends Invocation {
  own: Pick<CapacityOptions, 'budget' | 'arrivals'>;
  slo: string[];
}

const MANY = 'capacity runs many short loads; the time for all is --budget 60s';

/** Flags of the load that capacity chooses by itself or has no use for. */
const UNSUPPORTED: UnsupportedFlags = {
  series: 'a series is that of one load: millrace load --series FILE',
  ...HOSTS_UNSUPPORTED,
  'log-result': 'results in logs are those of shares: millrace load --log-result',
  segment: 'shares are those of one load: millrace load --segment I/N',
  'start-at': 'the start of one load can be planned: millrace load --start-at INSTANT',
  prometheus: 'capacity runs many short loads; the running figures are those of millrace load',
  otlp: 'capacity runs many short loads; the running figures are those of millrace load',
  duration: MANY,
  requests: MANY,
  warmup: 'capacity warms up by itself',
  rate: 'rates are what capacity looks for, with --slo',
  stage: 'rates are what capacity looks for, with --slo',
  'connections-stage': 'capacity chooses the numbers of connections; their maximum is -c',
  poisson: 'arrivals are random already; evenly spaced ones are --even',
  pipelining: 'capacity has one request in flight per connection',
  'think-time': 'capacity has no think time',
  strict: 'where the generator was the limit the report says so',
  'fail-on': 'an objective is --slo',
  'abort-on-fail': 'an objective is --slo',
  junit: 'the exit code tells whether a rate holds --slo',
  baseline: 'results of loads are compared: millrace compare OLD.json NEW.json',
  latency: 'the report of a load shows it',
};

const { duration, toggle } = storeIn(({ own }: CapacityInvocation) => own);

const OWN: Flag<CapacityInvocation>[] = [
  {
    name: 'slo',
    value: 'CONDITION',
    repeatable: true,
    help: "find the highest rate that holds: 'p99<50ms'",
    details:
      'A condition as of --fail-on, but for the throughput. Latency counts from when a request was due. Unless a condition is about errors or timeouts, less than 1 % of the requests may fail. Without the flag throughput over connections is measured.',
    set({ slo }, value, flag) {
      parseCondition(value, flag);
      slo.push(value);
    },
  },
  duration(
    'budget',
    'budget',
    {
      fallback: `${CAPACITY_DEFAULTS.budgetMs / 1000}s`,
      help: 'time for everything',
      details: 'At least 5 s. More time makes intervals narrower.',
    },
    MIN_BUDGET_MS,
  ),
  toggle('even', 'arrivals', 'constant', {
    help: 'space the arrivals of a rate evenly',
    details:
      'With --slo. Without it they are random, as of clients that do not know of each other.',
  }),
];

/** The flags of `millrace capacity`. */
export const CAPACITY: CommandFlags<CapacityInvocation> = {
  groups: [{ title: 'millrace capacity', flags: OWN }],
  ...shareLoadFlags(OWN, UNSUPPORTED),
  create: () => ({ ...newInvocation(), own: {}, slo: [] }),
};
