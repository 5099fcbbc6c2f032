// Flags for the output of the result, and for the results that fail the run.
import { type Condition, parseCondition } from '../../../load/plan/condition.js';
import { parseCount, type Range } from '../../../validation/units.js';
import { parseOtlpUrl } from '../../otlp/url.js';
import type { Flag } from '../flag.js';
import { storeIn } from '../kinds.js';
import { CSV, JUNIT, NO_PROGRESS, OUTPUT_FLAGS, SERIES } from '../output-flags.js';
import { parseSocketAddress } from '../socket-address.js';
import type { Invocation } from './invocation.js';

/** Process ids: positive numbers of the system's `pid_t`. */
export const PID_RANGE: Range = { min: 1, max: 2 ** 31 - 1 };

const { text, toggle } = storeIn((invocation: Invocation) => invocation);

/** What the flags of conditions are stored in. */
interface Gate {
  /** Conditions that the result must fulfil. */
  failOn: Condition[];
  /** Whether a client-bound run fails. */
  strict: boolean;
}

/** Exits 4 if the generator was the limit. */
export const STRICT: Flag<Pick<Gate, 'strict'>> = {
  name: 'strict',
  common: true,
  help: 'exit 4 if the generator was the limit',
  set(into) {
    into.strict = true;
  },
};

/** Exits 99 unless a condition holds. */
export const FAIL_ON: Flag<Pick<Gate, 'failOn'>> = {
  name: 'fail-on',
  value: 'CONDITION',
  repeatable: true,
  common: true,
  help: "exit 99 unless this holds: 'p99<50ms'",
  details:
    "A time: min, mean, stdev, p50, p75, p90, p95, p99, p99.9, p99.99, max of the latency, or of another distribution with the prefix service., connect. or tls., as in 'service.p99<=20ms'. Errors or timeouts, as a number or a share of the requests: 'errors<1%', 'timeouts<1'. Throughput: 'throughput>1000'. Of the requests with one name: 'list users: p99<50ms', 'GET /users/:id: errors<1%'; the name ends at the last colon and space. Of scenarios: 'checks>99%' (the share that passed), 'iterations>1000' (completed), 'iterations.rate>50', 'iterations.failed<1%', 'iterations.notStarted<10', 'iteration.p95<2s', 'active.p95<500ms' (without pauses and hooks), of one scenario 'checkout: iteration.p95<2s'; metrics of their own: 'metrics.orders>100' (the sum), 'metrics.basket.p95<20'. A condition without a sample does not hold.",
  set({ failOn }, value, flag) {
    failOn.push(parseCondition(value, flag));
  },
};

export const RESULT_FLAGS: readonly Flag<Invocation>[] = [
  ...OUTPUT_FLAGS,
  CSV,
  SERIES,
  JUNIT,
  STRICT,
  FAIL_ON,
  text('baseline', 'baseline', {
    value: 'FILE',
    help: 'compare with an earlier result, which -o wrote',
    details:
      "The comparison stands beneath the report; with --json it goes to stderr. Two single runs do not show how much runs vary, so there is no interval: millrace compare measures one. 'main-*.json' in quotes is several results.",
  }),
  toggle('abort-on-fail', 'abortOnFail', true, {
    help: 'end the run as soon as a --fail-on can no longer hold',
    details:
      'With --fail-on. Checked ten times a second: numbers and shares of errors and timeouts, max and percentiles of latency and service time, throughput, of all scenarios the numbers, shares and rate of iterations; other conditions of requests at the end only, and of scenarios not at all. A share or a percentile can no longer hold if the remaining requests cannot change that: all of -n or of the schedule, in a run of a given time without a rate as much as twice its fastest second would bring.',
  }),
  {
    name: 'pid',
    value: 'N|none',
    fallback: "the command's, or the local owner of the port",
    help: 'process to sample CPU and memory of',
    details: 'Its descendants are sampled with it. none: no process.',
    set({ options }, value, flag) {
      options.pid = value === 'none' ? false : parseCount(value, flag, PID_RANGE);
    },
  },
  toggle('dry-run', 'dryRun', true, {
    help: 'send one iteration of each scenario, and print all of it',
    details:
      'Each request and response, what was saved and what was checked. Nothing is masked. Exit 3 if an iteration fails.',
  }),
  toggle('log-result', 'logResult', true, {
    help: 'print the result below the report, for logs',
    details:
      'Compressed, in lines of at most 76 characters between two that mark them. millrace merge finds all results in logs that are mixed, with or without a prefix before each line.',
  }),
  NO_PROGRESS,
  {
    name: 'prometheus',
    aliases: ['prometheus-addr'],
    value: 'ADDRESS:PORT',
    help: "serve the running figures in Prometheus' format",
    details:
      'At /metrics, from before the run until it ends: counters and a histogram of the latencies by request name, without the warm-up. Port 0 is any free one; its URL is printed on stderr.',
    set(invocation, value, flag) {
      invocation.prometheus = parseSocketAddress(value, flag);
    },
  },
  {
    name: 'otlp',
    value: 'URL',
    help: 'push the running figures by OTLP over HTTP',
    details:
      "Every 5 s and at the end, without the warm-up, to a collector such as http://localhost:4318; a URL without a path gets /v1/metrics. A collector that fails is one warning. OpenTelemetry's variables for headers, certificates, resource attributes and the interval apply. Needs the package @opentelemetry/exporter-metrics-otlp-proto: npm install @opentelemetry/exporter-metrics-otlp-proto.",
    set(invocation, value, flag) {
      invocation.otlp = parseOtlpUrl(value, flag);
    },
  },
  {
    name: 'latency',
    short: 'L',
    aliases: ['l'],
    help: 'accepted and without effect',
    details: 'The distribution of the latencies is always shown.',
    set() {},
  },
];
