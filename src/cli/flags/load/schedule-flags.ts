// Flags for the amount, the timing and the length of the load.
import { usageError } from '../../../errors/millrace-error.js';
import { DEFAULTS, LIMITS } from '../../../load/defaults.js';
import { parseSegment } from '../../../load/plan/segments/read-segment.js';
import { readStartAt } from '../../../load/plan/start-at.js';
import {
  hasDurationUnit,
  isCount,
  parseCount,
  parseFlagDuration,
  parseRate,
} from '../../../validation/units.js';
import type { Flag } from '../flag.js';
import { storeIn } from '../kinds.js';
import { refuseForm } from './body.js';
import type { Invocation } from './invocation.js';
import { bodyForDuration, reinterpret } from './reinterpret.js';

const { count, duration, parsed, rate, toggle } = storeIn(({ options }: Invocation) => options);

export const SCHEDULE_FLAGS: readonly Flag<Invocation>[] = [
  count('connections', 'connections', LIMITS.connections, {
    short: 'c',
    aliases: ['vus', 'clients', 'concurrency'],
    common: true,
    fallback: `${DEFAULTS.connections}; with a rate up to ${DEFAULTS.openConnections}`,
    help: 'connections',
    details:
      'Without a rate all connections are opened before the clock starts. With a rate some are opened before (all if the flag is given), the others when an arrival finds no free connection. At least one per thread, and no more than -n requests.',
  }),
  count('users', 'users', LIMITS.connections, {
    fallback: `${DEFAULTS.users}; with a rate up to ${DEFAULTS.openUsers}`,
    help: 'users of scenarios: how many repeat their iterations',
    details:
      'Each user has connections of its own, unless -c is given as well: then all users share these. With a rate it is the largest number of iterations at the same time; an iteration for which no user is free is counted and not started. -c alone is the same without a rate; with one it is the number of shared connections.',
  }),
  reinterpret(
    count('threads', 'threads', LIMITS.threads, {
      short: 't',
      aliases: ['w', 'workers'],
      common: true,
      fallback: String(DEFAULTS.threads),
      help: 'sending threads',
      details:
        'The threads share the connections and the rate. One is enough for most servers; otherwise the report says CLIENT-BOUND. A value with a unit, as in -t 10s, is taken as --timeout, and the report says so; of -t 5 it says that it is threads.',
    }),
    ({ options, notes }, value, flag) => {
      if (flag !== '-t') return null;
      if (isCount(value)) {
        notes.push(
          `-t ${value} is ${value} threads, as in wrk; as a time, which it is in hey, ab and autocannon, write -T ${value}s (of a request) or -d ${value}s (of the run)`,
        );
        return null;
      }
      if (!hasDurationUnit(value)) return null;
      options.timeout = parseFlagDuration(value, flag);
      return `-t ${value} is taken as --timeout ${value}; threads are -t N`;
    },
  ),
  reinterpret(
    parsed('duration', 'duration', parseTime, {
      short: 'd',
      aliases: ['z'],
      value: 'TIME',
      common: true,
      fallback: `${DEFAULTS.durationMs / 1000}s`,
      help: 'how long to measure: 10, 500ms, 1m30s',
      details:
        'The warm-up is not included. Without the flag a run with stages lasts as long as the stages, and a run with -n until the last request is done. Digits are seconds. A value that begins with {, [ or @, as in -d \'{"a":1}\', is taken as --body, and the report says so.',
    }),
    bodyForDuration('10s'),
  ),
  {
    ...count('requests', 'requests', LIMITS.requests, {
      short: 'n',
      aliases: ['a', 'amount', 'iterations'],
      common: true,
      help: 'end after exactly N requests: 200, 10k, 1M',
      details:
        'The warm-up does not count. With -d the run ends by whichever limit is reached first. -n without a number is taken as "no progress line", as in autocannon, and the report says so.',
    }),
    bare: {
      unless: (next) => !isCount(next) && /^-|[./:]|^localhost$/.test(next),
      set(invocation) {
        invocation.progress = false;
        invocation.notes.push('-n without a number is taken as "no progress"; a count is -n 10k');
      },
    },
  },
  rate('rate', 'rate', LIMITS.rate, {
    short: 'R',
    aliases: ['q', 'rps'],
    common: true,
    help: 'requests per second in all: 1000, 10k, 50/1s',
    details:
      'Makes the run open: requests are due at this rate whatever the server does, and latency counts from when a request was due. The rate is the total over all threads and connections. With --stage it is the start of the first stage.',
  }),
  {
    name: 'stage',
    value: 'TIME:RATE',
    repeatable: true,
    common: true,
    help: 'change the rate to RATE within TIME: 30s:100',
    details:
      'Stages follow each other, each linearly from the rate before it, the first from --rate or 0. Without -d the run ends with the last stage.',
    set({ options }, value, flag) {
      const [time, rate] = splitStage(value, flag, 'RATE');
      const duration = parseFlagDuration(time, flag);
      options.stages = [
        ...(options.stages ?? []),
        { duration, rate: parseRate(rate, flag, LIMITS.rate) },
      ];
    },
  },
  {
    name: 'connections-stage',
    aliases: ['connection-stage', 'users-stage'],
    value: 'TIME:N',
    repeatable: true,
    help: 'change the connections to N within TIME: 30s:100',
    details:
      'Without a rate. Stages follow each other, each evenly from the number before it, the first from -c or one connection per thread and server. 0s:50 is a step. A connection that is no longer wanted ends after its response. Without -d the run ends with the last stage; a warm-up has the first number. With scenarios they are stages of users.',
    set({ options }, value, flag) {
      const [time, number] = splitStage(value, flag, 'N');
      // The end of scenarios' users may be 0.
      const connections = parseCount(number, flag, { ...LIMITS.connections, min: 0 });
      const stage = { duration: parseFlagDuration(time, flag), connections };
      options.connectionStages = [...(options.connectionStages ?? []), stage];
    },
  },
  toggle('poisson', 'arrivals', 'poisson', {
    help: 'space the arrivals of a rate at random',
    details:
      'Exponential times between arrivals, as of many independent clients. Without the flag arrivals are evenly spaced.',
  }),
  count('max-pending', 'maxPending', LIMITS.maxPending, {
    fallback: String(DEFAULTS.maxPending),
    help: 'maximum number of arrivals waiting or in flight',
    details:
      'With a rate. Arrivals beyond the maximum are counted and not sent, and the report warns.',
  }),
  count(
    'seed',
    'seed',
    { min: 0, max: Number.MAX_SAFE_INTEGER },
    {
      fallback: 'random; the result contains it',
      help: 'seed of random arrivals, weights and placeholders',
      details:
        'The same seed and the same flags give the same requests; with a rate at the same times, whatever the number of threads.',
    },
  ),
  parsed('segment', 'segment', checkSegment, {
    value: 'I/N',
    help: 'be the I-th of N shares of this run, for as many machines',
    details:
      'I is from 1 to N. All shares have the same flags, and --seed: -c, -n and --users are divided, and each share sends the requests that are its own among those of the whole run, at their times. auto takes the rank of Slurm, MPI or an Indexed Job of Kubernetes. millrace merge adds the results.',
  }),
  parsed('start-at', 'startAt', (value, flag) => readStartAt(value, flag) ?? value, {
    value: 'INSTANT',
    help: 'when the load begins: 2030-01-31T12:00:00Z, +10s',
    details:
      'Connections are opened up to 2 s before. A run whose connections are not open by then begins late, and the report says how late.',
  }),
  count('pipelining', 'pipelining', LIMITS.pipelining, {
    short: 'p',
    fallback: String(DEFAULTS.pipelining),
    help: 'requests in flight per connection',
    details: 'Not with --connection close or --tls resume|full.',
  }),
  duration('think-time', 'thinkTime', {
    fallback: '0',
    help: 'wait between a response and the next request',
    details: 'Not with a rate.',
  }),
  duration('warmup', 'warmup', {
    aliases: ['warm-up-time'],
    common: true,
    fallback: '0',
    help: 'load before the measurement, not in the statistics',
    details: 'At the rate of -R, also if stages follow.',
  }),
];

function checkSegment(value: string, flag: string): string {
  if (value !== 'auto') parseSegment(value, flag);
  return value;
}

/** Splits a stage at its colon. */
function splitStage(value: string, flag: string, what: string): [time: string, target: string] {
  if (value.includes(',')) {
    const flags = value.split(',').map((stage) => `${flag} ${stage.trim()}`);
    throw usageError(`${flag} takes one stage and may be repeated: ${flags.join(' ')}`);
  }
  const [, time, target] = /^([^:]+):([^:]+)$/.exec(value) ?? [];
  if (time !== undefined && target !== undefined) return [time, target];
  throw usageError(`${flag} must be TIME:${what}, such as 30s:100 (got ${value})`);
}

function parseTime(value: string, flag: string): number {
  refuseForm(value, flag);
  return parseFlagDuration(value, flag);
}
