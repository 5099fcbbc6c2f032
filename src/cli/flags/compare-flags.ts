import { COMPARE_DEFAULTS, COMPARE_LIMITS } from '../../compare/defaults.js';
import { parseRatioCondition } from '../../compare/ratio-condition.js';
import type { ComparisonSideName } from '../../index.js';
import { parseShare } from '../../validation/units.js';
import type { CommandFlags } from './command-flags.js';
import type { CompareInvocation } from './compare/invocation.js';
import { checkOperand, setSides } from './compare/sides.js';
import type { Flag } from './flag.js';
import { storeIn } from './kinds.js';
import { HOSTS_UNSUPPORTED } from './load/hosts-flags.js';
import { newInvocation } from './load/invocation.js';
import { LOAD_FLAGS } from './load/load-flags.js';
import { readVariable } from './load/server-flags.js';
import { shareLoadFlags } from './load/shared-flags.js';
import { checkJunit } from './output-flags.js';
import type { UnsupportedFlags } from './parse.js';

/** Flags of the load that compare chooses by itself or has no use for. */
const UNSUPPORTED: UnsupportedFlags = {
  series: 'a series is that of one load: millrace load --series FILE',
  ...HOSTS_UNSUPPORTED,
  'log-result': 'results in logs are those of shares: millrace load --log-result',
  segment: 'shares are those of one load: millrace load --segment I/N',
  'start-at': 'the start of one load can be planned: millrace load --start-at INSTANT',
  prometheus: 'compare runs many short loads; the running figures are those of millrace load',
  otlp: 'compare runs many short loads; the running figures are those of millrace load',
  'abort-on-fail': 'a condition on a ratio is judged at the end, by all runs',
  pid: 'each side has its own server: the process is found by the command or by the port',
  baseline: 'results are compared as in millrace compare OLD.json NEW.json',
  latency: 'the report compares the latencies',
};

const { duration, toggle } = storeIn(({ own }: CompareInvocation) => own);
const invocation = storeIn((invocation: CompareInvocation) => invocation);

/** A flag of the load, with another default and its help for a run. */
function withDefault(name: string, fallback: string, help: string): Flag<CompareInvocation>[] {
  return LOAD_FLAGS.filter((flag) => flag.name === name).map((flag) => ({
    ...flag,
    help,
    fallback,
  }));
}

const { width, margin, budgetMs, durationMs, warmupMs } = COMPARE_DEFAULTS;

/** The flags of a side: what it is, and what is its own in a command that both have. */
function sideFlags(side: ComparisonSideName): Flag<CompareInvocation>[] {
  const letter = side.toUpperCase();
  return [
    {
      name: side,
      value: 'COMMAND|FILES|URL',
      repeatable: true,
      help: `what ${letter} is: a command in quotes, results, or a URL`,
      details: `Files are results of loads (-o), as a list or as a pattern in quotes: 'main-*.json'. A command that contains -- is written this way.`,
      set({ given }, value) {
        given[side].push(value);
      },
    },
    {
      name: `env-${side}`,
      value: 'NAME=VALUE',
      repeatable: true,
      help: `environment variable for the command of ${letter}`,
      set({ sides }, value, flag) {
        sides[side].env = { ...sides[side].env, ...readVariable(value, flag) };
      },
    },
    {
      name: `cwd-${side}`,
      value: 'DIR',
      help: `folder that the command of ${letter} runs in`,
      set({ sides }, value) {
        sides[side].cwd = value;
      },
    },
  ];
}

const OWN: Flag<CompareInvocation>[] = [
  ...sideFlags('a'),
  ...sideFlags('b'),
  invocation.toggle('stack', 'stack', true, {
    help: "A: on Node's own HTTP stack, B: on Millrace's",
    details:
      'The report says which share of the requests was served natively. For HTTP/2 on B set MILLRACE_HTTP2=on and use --prefer-http2: Node has HTTP/1.1 only for such a server.',
  }),
  {
    name: 'width',
    value: 'PERCENT',
    fallback: width,
    help: 'stop when the interval is no wider',
    details:
      "The width is the upper end of the verdict's 95 % interval divided by the lower one, less 1.",
    set({ own }, value, flag) {
      own.width = parseShare(value, flag, COMPARE_LIMITS.width);
    },
  },
  duration('budget', 'budget', {
    fallback: `${budgetMs / 60_000}m`,
    help: 'begin no further pair of runs after this time',
    details: 'There is at least one pair. More time makes intervals narrower.',
  }),
  {
    name: 'margin',
    value: 'PERCENT',
    fallback: margin,
    help: 'differences up to this count as equal',
    set({ own }, value, flag) {
      own.margin = parseShare(value, flag, COMPARE_LIMITS.margin);
    },
  },
  toggle('allow-difference', 'allowDifference', true, {
    help: 'compare though answers, or plans of results, differ',
    details: 'The report repeats the differences.',
  }),
  {
    name: 'fail-on',
    value: 'CONDITION',
    repeatable: true,
    help: "exit 99 if the ratio is beyond: 'p99 ratio<=1.1'",
    details:
      "A ratio of B to A: 'throughput ratio>=0.97', 'p50 ratio<=1.1', 'p99 ratio<=1.1', 'cpu ratio<=1.05', 'memory ratio<=1.2'; of the requests of one name with the name before it: 'GET /users/:id: p99 ratio<=1.1'. It fails only if the whole interval is beyond the bound: one that contains the bound passes, and the report says 'not shown'. Without support it is undecided, and the exit code 4: the requests failed on one side more than on the other by over 1 %, or by half on both; the generator was the limit in over a tenth of a side's runs (requests/s, p50, p99); as many do not have the figure, or have fewer than 100 responses for p99, 20 for p50, 10 for requests/s and CPU; there is no interval.",
    set({ ratios }, value, flag) {
      parseRatioCondition(value, flag);
      ratios.push(value);
    },
  },
  ...withDefault(
    'duration',
    `${durationMs / 1000}s`,
    'how long each run measures: 10, 500ms, 1m30s',
  ),
  ...withDefault('warmup', `${warmupMs / 1000}s`, 'load before each run, not in the statistics'),
];

const EXAMPLES = `Two worktrees: millrace compare --cwd-a ../main --cwd-b . -- node server.js
Two stacks:    millrace compare --stack -- node server.js
Two results:   millrace compare old.json new.json`;

/** The flags of `millrace compare`. */
export const COMPARE: CommandFlags<CompareInvocation> = {
  groups: [{ title: 'millrace compare', flags: OWN }],
  ...shareLoadFlags(OWN, UNSUPPORTED),
  epilogue: EXAMPLES,
  create: () => ({
    ...newInvocation(),
    own: {},
    sides: { a: {}, b: {} },
    given: { a: [], b: [] },
    stack: false,
    ratios: [],
  }),
  checkOperand,
  setOperands(invocation, operands) {
    setSides(invocation, operands);
    checkJunit(invocation, invocation.ratios);
  },
};
