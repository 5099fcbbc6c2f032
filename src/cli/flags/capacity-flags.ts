// The flags of `millrace capacity`: its own, and those of the load that apply.
import type { CapacityOptions } from '../../index.js';
import { parseCondition } from '../../load/plan/condition.js';
import { parseFlagDuration } from '../../units.js';
import type { Flag } from './flag.js';
import { UNSUPPORTED_FLAGS } from './foreign-flags.js';
import { type Invocation, newInvocation } from './invocation.js';
import { LOAD_FLAGS, unsupportedFlags } from './load-flags.js';
import type { UnsupportedFlags } from './parse.js';

/** What a command line of `millrace capacity` asks for. */
export interface CapacityInvocation extends Invocation {
  own: Pick<CapacityOptions, 'budget' | 'arrivals'>;
  slo: string[];
}

/** Nothing asked for yet. */
export function newCapacityInvocation(): CapacityInvocation {
  return { ...newInvocation(), own: {}, slo: [] };
}

const MANY = 'capacity runs many short loads; the time for all is --budget 60s';

/** Flags of the load that capacity chooses by itself or has no use for, and what to do instead. */
const NOT_TAKEN: UnsupportedFlags = {
  duration: MANY,
  requests: MANY,
  warmup: 'capacity warms up by itself',
  rate: 'rates are what capacity looks for, with --slo',
  stage: 'rates are what capacity looks for, with --slo',
  poisson: 'arrivals are random already; evenly spaced ones are --even',
  pipelining: 'capacity has one request in flight per connection',
  'think-time': 'capacity has no think time',
  strict: 'where the generator was the limit the report says so',
  'fail-on': 'an objective is --slo',
  'abort-on-fail': 'an objective is --slo',
  latency: 'the report of a load shows it',
};

export const CAPACITY_UNSUPPORTED_FLAGS: UnsupportedFlags = {
  ...UNSUPPORTED_FLAGS,
  ...unsupportedFlags(NOT_TAKEN),
};

const CAPACITY = 'Capacity';

/** The flags that only capacity has, or means otherwise. */
export const CAPACITY_OWN_FLAGS: Flag<CapacityInvocation>[] = [
  {
    name: 'slo',
    value: 'CONDITION',
    repeatable: true,
    group: CAPACITY,
    common: true,
    help: "look for the highest rate that holds this: 'p99<50ms'",
    details:
      'A condition as of --fail-on, but for the throughput. Latency counts from when a request was due. Unless a condition is about errors or timeouts, less than 1 % of the requests may fail. Without the flag throughput over connections is measured.',
    set(invocation, value, given) {
      parseCondition(value, given);
      invocation.slo.push(value);
    },
  },
  {
    name: 'budget',
    value: 'TIME',
    group: CAPACITY,
    common: true,
    fallback: '60s',
    help: 'time for everything',
    details: 'At least 5 s. More time makes intervals narrower.',
    set({ own }, value, given) {
      own.budget = parseFlagDuration(value, given);
    },
  },
  {
    name: 'even',
    group: CAPACITY,
    common: true,
    help: 'space the arrivals of a rate evenly',
    details:
      'With --slo. Without it they are random, as of clients that do not know of each other.',
    set({ own }) {
      own.arrivals = 'constant';
    },
  },
];

export const CAPACITY_FLAGS: Flag<CapacityInvocation>[] = [
  ...CAPACITY_OWN_FLAGS,
  ...LOAD_FLAGS.filter(({ name }) => !(name in NOT_TAKEN)),
];
